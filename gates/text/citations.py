"""The `citations` gate: what a text cites is among what it was given to read."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass

from ...errors import Category
from ...task_ir import OutputKind
from ..gate import Stage, Subject
from ..result import Diagnostic, Finding, fault

__all__ = ["Citations"]

_CITED = re.compile(r"\[([^\[\]\n]{1,80})\](?!\()")
"""`[S1]`, `[S1, S3]`, `[notes.txt]`; a Markdown link is none."""
_NONE = re.compile(r"\^.*|[A-Za-z]?|\s+|\.{3}|…|sic", re.IGNORECASE)
"""What else stands in square brackets: a footnote, an index, a box to tick, an omission."""
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.*?)(?<!`)\1(?!`)")
_LABEL = re.compile(r" {0,3}\[([^\[\]\n]{1,80})\]:\s")
"""Where a link's label gets its address: the label isn't a citation then."""


@dataclass(frozen=True)
class Citations:
    """At least one citation, and none of anything that isn't there."""

    name: str = "citations"
    about: str = "a text that cites, and only steps and inputs that it has read"
    kinds: frozenset[OutputKind] = frozenset({"text"})
    stage: Stage = "light"
    timeout_s: float = 30.0

    def version(self) -> str:
        return "2"

    async def check(self, subject: Subject) -> Finding:
        """Look up every name in square brackets among the names of what the step has read."""
        names = {output.name.casefold() for output in subject.upstream}
        if not names:
            return Finding(status="skipped")
        found: list[Diagnostic] = []
        cited = 0
        lines = _without_code(subject.artifact.splitlines())
        links = {label[1].strip().casefold() for label in map(_LABEL.match, lines) if label}
        for number, line in enumerate(lines, 1):
            for match in _CITED.finditer(line):
                if _is_text_of_link(line, match.end(), links):
                    continue
                for name in map(str.strip, match[1].split(",")):
                    known = name.casefold() in names
                    if not known and (name.casefold() in links or _NONE.fullmatch(name)):
                        continue
                    cited += 1
                    if not known:
                        message = f"[{name}] is none of what there was to read"
                        found.append(
                            Diagnostic(message=message, line=number, column=match.start() + 1)
                        )
        if found:
            return fault(Category.LOGIC, *found[:5])
        if not cited:
            names = ", ".join(f"[{output.name}]" for output in subject.upstream[:5])
            return fault(Category.FORMAT, f"cite what you read, as {names}")
        return Finding(status="passed")


def _is_text_of_link(line: str, end: int, links: Container[str]) -> bool:
    """Whether a link's label follows, as in `[text][label]`."""
    label = _CITED.match(line, end)
    return label is not None and label[1].strip().casefold() in links


def _without_code(lines: Sequence[str]) -> list[str]:
    """Return the lines with blanks in place of blocks of code and of code within a line."""
    found: list[str] = []
    fence = ""
    for line in lines:
        mark = _FENCE.match(line)
        if fence:
            found.append("")
            bare = line.strip()
            fence = "" if bare == fence[0] * len(bare) and len(bare) >= len(fence) else fence
        elif mark:
            found.append("")
            fence = mark[1]
        else:
            found.append(_SPAN.sub(lambda span: " " * len(span[0]), line))
    return found
