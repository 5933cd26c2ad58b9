"""Whether an output has the shape that a page shows. Pure.

Figures, dates and ids may be others, spaces and lines of tables may be more or fewer, and `…` stands
for whatever is left out: in a line for its rest, in a line of its own for any lines.
"""

from __future__ import annotations

import re

__all__ = ["differences", "ids_in"]

_LEFT_OUT = "…"
_BAR = re.compile(r"\|[█░▒ ]*\|")
_RULE = re.compile(r"─{2,}")
_TOKEN = re.compile(r"(?P<id>\b[0-9a-f]{12}\b)|(?P<figure>\d(?:[\d.,:]*\d)?)|(?P<cut>…)")
_PROGRESS = re.compile(r"^\d+\.\d s ")
_ID, _FIGURE, _ANY = r"([0-9a-f]{12})", r"\d(?:[\d.,:]*\d)?", ".*"


def differences(shown: str, output: str, bound: dict[str, str] | None = None) -> list[str]:
    """Return the lines of a page that an output doesn't have in their place, and those too many.

    Args:
        shown: What the page has.
        output: What the command wrote.
        bound: The ids of the page with those that they stand for; new ones are added.
    """
    ids = {} if bound is None else bound
    rest = [line for line in map(_plain, output.splitlines()) if line]
    missing: list[str] = []
    may_skip = False
    for line in filter(None, map(_plain, shown.splitlines())):
        if line == _LEFT_OUT:
            may_skip = True
            continue
        found = _find(line, rest, ids, only_first=not may_skip)
        if found is None:
            missing.append(f"not written: {line}")
            continue
        is_progress = _PROGRESS.match(line) is not None
        rest = rest[:found] + rest[found + 1 :] if is_progress else rest[found + 1 :]
        may_skip = may_skip and is_progress
    if rest and not may_skip and not missing:
        missing.append(f"not on the page: {rest[0]}")
    return missing


def _find(line: str, among: list[str], ids: dict[str, str], *, only_first: bool) -> int | None:
    # Steps that run at once begin and end in any order.
    is_progress = _PROGRESS.match(line) is not None
    for number, other in enumerate(among):
        if _matches(line, other, ids):
            return number
        if only_first and not (is_progress and _PROGRESS.match(other)):
            return None
    return None


def _matches(line: str, other: str, ids: dict[str, str]) -> bool:
    pattern, names = _pattern(line, ids)
    match = re.fullmatch(pattern, other)
    if match is None:
        return False
    ids.update(zip(names, match.groups(), strict=True))
    return True


def _pattern(line: str, ids: dict[str, str]) -> tuple[str, list[str]]:
    """Return the expression for a line, and the ids of the page that its groups find."""
    parts: list[str] = []
    new: list[str] = []
    end = 0
    for match in _TOKEN.finditer(line):
        parts.append(re.escape(line[end : match.start()]))
        end = match.end()
        if match["cut"]:
            parts.append(_ANY)
        elif match["figure"]:
            parts.append(_FIGURE)
        elif match["id"] in ids:
            parts.append(re.escape(ids[match["id"]]))
        else:
            parts.append(_ID)
            new.append(match["id"])
    return "".join([*parts, re.escape(line[end:])]), new


def _plain(line: str) -> str:
    line = _BAR.sub("||", _RULE.sub("──", line))
    return " ".join(line.split())


def ids_in(text: str) -> list[str]:
    """Return the ids of runs in a text."""
    return [match["id"] for match in _TOKEN.finditer(text) if match["id"]]
