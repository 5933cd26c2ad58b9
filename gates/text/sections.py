"""The `sections` gate: a text with the headings that its step asks for, in their order."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...errors import Category
from ...task_ir import OutputKind
from ..gate import Stage, Subject
from ..result import Diagnostic, Finding, fault

__all__ = ["Sections"]

_MARK = re.compile(r"\s*+(?:#{1,6}\s++|\d++[.)]\s++)?[*_]*+")
_TITLE = re.compile(r"[^*_#:\n]++")


@dataclass(frozen=True)
class Sections:
    """A heading is a line of its own, or the words before a line's colon; case doesn't count."""

    name: str = "sections"
    about: str = "a text with the sections asked for, none of them empty, in their order"
    kinds: frozenset[OutputKind] = frozenset({"text"})
    stage: Stage = "light"
    timeout_s: float = 30.0

    def version(self) -> str:
        return "2"

    async def check(self, subject: Subject) -> Finding:
        """Look for each heading behind the one before it."""
        lines = subject.artifact.splitlines()
        titles = [_title(line) for line in lines]
        wanted = [section.casefold() for section in subject.output.sections]
        found: list[Diagnostic] = []
        place = 0
        for section, name in zip(wanted, subject.output.sections, strict=True):
            if section not in titles:
                found.append(Diagnostic(message=f"the section {name!r} is missing"))
            elif section not in titles[place:]:
                line = titles.index(section) + 1
                found.append(Diagnostic(message=f"the section {name!r} comes too early", line=line))
            else:
                place = titles.index(section, place) + 1
                if not _has_text(lines, titles, place, wanted):
                    found.append(Diagnostic(message=f"the section {name!r} is empty", line=place))
        return fault(Category.FORMAT, *found) if found else Finding(status="passed")


def _title(line: str) -> str:
    """Return a heading's words: marks may stand around them, and behind them a colon or the end."""
    mark = _MARK.match(line)
    title = _TITLE.match(line, mark.end() if mark else 0)
    if title is None:
        return ""
    rest = line[title.end() :].lstrip("*_ \t")
    return title[0].strip().casefold() if not rest or rest.startswith(":") else ""


def _has_text(lines: list[str], titles: list[str], start: int, wanted: list[str]) -> bool:
    """Whether anything stands behind a heading, on its own line or before the next heading."""
    if lines[start - 1].partition(":")[2].strip(" *_"):
        return True
    for line, title in zip(lines[start:], titles[start:], strict=True):
        if title in wanted:
            return False
        if line.strip():
            return True
    return False
