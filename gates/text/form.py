"""The `form` gate: an answer that is as a whole what its step asks for."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ...errors import Category
from ...task_ir import Form as FormName
from ...task_ir import OutputKind
from ..gate import Stage, Subject
from ..result import Finding, fault

__all__ = ["FORMS", "Form"]

_NUMBER = re.compile(r"[-+−]?(?:\d[\d,' ]*(?:\.\d+)?|\.\d+)(?:e[-+]?\d+)?")
_YES_NO = re.compile(r"(yes|no)\b", re.IGNORECASE)
_ENTRY = re.compile(r"\s*(?:[-*•]|\d+[.)])\s+\S")
_ROW = re.compile(r"\s*\|.*\|\s*$")
_RULE = re.compile(r"\s*\|(?:\s*:?-+:?\s*\|)+\s*$")


@dataclass(frozen=True)
class Form:
    """One line, a number, yes or no, a list, a table."""

    name: str = "form"
    about: str = "an answer in the form asked for: one_line, number, yes_no, list or table"
    kinds: frozenset[OutputKind] = frozenset({"text"})
    stage: Stage = "light"
    timeout_s: float = 30.0

    def version(self) -> str:
        return "1"

    async def check(self, subject: Subject) -> Finding:
        """Read the whole text as that form."""
        if subject.output.form is None:
            return Finding(status="skipped")
        wrong = FORMS[subject.output.form](subject.artifact.strip())
        return fault(Category.FORMAT, wrong) if wrong else Finding(status="passed")


def _one_line(text: str) -> str:
    return "" if text and "\n" not in text else "answer with one line"


def _number(text: str) -> str:
    # A unit may stand around the number, a second number or a sentence may not.
    numbers = _NUMBER.findall(text)
    if len(numbers) == 1 and len(text.split()) <= 4:
        return ""
    return "answer with one number, a unit at most beside it"


def _yes_no(text: str) -> str:
    return "" if _YES_NO.match(text) else "begin the answer with yes or no"


def _list(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    entries = sum(bool(_ENTRY.match(line)) for line in lines)
    # A heading may stand above, and an entry may go on in further lines.
    if entries >= 2 and entries * 2 >= len(lines):
        return ""
    return "answer with a list, an entry a line behind `- ` or `1. `"


def _table(text: str) -> str:
    lines = text.splitlines()
    ruled = next((n for n, line in enumerate(lines) if _RULE.match(line)), None)
    if ruled is None or ruled == 0 or not _ROW.match(lines[ruled - 1]):
        return "answer with a Markdown table: a head, a line of dashes, rows"
    columns = lines[ruled].count("|")
    rows = [line for line in lines[ruled + 1 :] if _ROW.match(line)]
    if not rows:
        return "the table has no row"
    if any(row.replace(r"\|", "").count("|") != columns for row in (lines[ruled - 1], *rows)):
        return f"every row of the table needs {columns - 1} cells"
    return ""


FORMS: Mapping[FormName, Callable[[str], str]] = MappingProxyType(
    {
        "one_line": _one_line,
        "number": _number,
        "yes_no": _yes_no,
        "list": _list,
        "table": _table,
    }
)
"""By form: what is wrong with a text, empty if nothing is."""
