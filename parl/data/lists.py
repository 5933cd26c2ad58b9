"""Word lists: what the slots of the patterns are filled with.

[capitals]                      a plain list, one entry a line
Paris
[functions: name, does]         records, whose fields stand between " :: "
parse_date :: turns an ISO date into a tuple
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ...errors import InputError

__all__ = ["SEPARATOR", "Entry", "WordList", "at_line", "read_lists"]

SEPARATOR = "::"
_HEAD = re.compile(
    r"\[\s*([a-z][a-z0-9_]*)\s*(?::\s*([a-z][a-z0-9_]*(?:\s*,\s*[a-z][a-z0-9_]*)*))?\s*\]"
)


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry: the values of its list's fields; a plain list has one."""

    values: tuple[str, ...]

    @property
    def text(self) -> str:
        """What a slot without a field shows."""
        return self.values[0]


@dataclass(frozen=True, slots=True)
class WordList:
    """A named list; `fields` is empty where entries are plain texts."""

    name: str
    fields: tuple[str, ...]
    entries: tuple[Entry, ...]


def at_line(file: str, line: int, problem: str, fix: str) -> InputError:
    """Return the error of a data file's line."""
    return InputError(f"{file}:{line}: {problem}", fix)


def read_lists(text: str, file: str) -> Iterable[WordList | InputError]:
    """Yield the lists of a file in its order, and an error for each line that breaks a rule."""
    heads: list[tuple[str, tuple[str, ...]]] = []
    entries: dict[str, list[Entry]] = {}
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        found = _line(line, heads[-1][1] if heads else None)
        if isinstance(found, str):
            yield at_line(file, number, found, _FIX)
        elif isinstance(found, Entry):
            known = entries[heads[-1][0]]
            if found in known:
                yield at_line(file, number, f"{found.text!r} is in the list twice.", "Drop one.")
            known.append(found)
        elif found[0] in entries:
            yield at_line(file, number, f"list {found[0]} is there twice.", "Rename one of them.")
            heads.append((f"{found[0]} {number}", found[1]))
            entries[heads[-1][0]] = []
        else:
            heads.append(found)
            entries[found[0]] = []
    for name, fields in heads:
        if " " not in name:
            yield WordList(name, fields, tuple(entries[name]))


_FIX = "Write `[name]` or `[name: field, field]`, then an entry a line, its fields split by ` :: `."


def _line(line: str, fields: tuple[str, ...] | None) -> str | Entry | tuple[str, tuple[str, ...]]:
    """Return a list's name and fields, an entry, or what is wrong."""
    if match := _HEAD.fullmatch(line):
        return match[1], tuple(re.findall(r"[a-z][a-z0-9_]*", match[2] or ""))
    if fields is None:
        return f"{line[:60]!r} stands before any list."
    values = tuple(part.strip() for part in line.split(SEPARATOR)) if fields else (line,)
    if len(values) != max(1, len(fields)):
        return f"{line[:60]!r} has {len(values)} fields, not {len(fields)}."
    return Entry(values) if all(values) else f"{line[:60]!r} has an empty field."
