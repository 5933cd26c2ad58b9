"""Read word lists, which the slots of the patterns are filled from.

[capitals]                      a plain list, one entry a line
Paris
[functions: name, does]         records, whose fields are separated by " :: "
parse_date :: turns an ISO date into a tuple
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ....errors import InputError

__all__ = ["WordEntry", "WordList", "line_error", "read_lists", "split_fields"]

_SEPARATOR = re.compile(r"(?:^|\s+)::(?:\s+|$)")
_HEAD = re.compile(
    r"\[\s*([a-z][a-z0-9_]*)\s*(?::\s*([a-z][a-z0-9_]*(?:\s*,\s*[a-z][a-z0-9_]*)*))?\s*\]"
)


@dataclass(frozen=True, slots=True)
class WordEntry:
    """An entry: the values of its list's fields; a plain list has one value."""

    values: tuple[str, ...]

    @property
    def text(self) -> str:
        """What a slot without a field shows."""
        return self.values[0]


@dataclass(frozen=True, slots=True)
class WordList:
    """A named list; `fields` is empty if its entries are plain texts."""

    name: str
    fields: tuple[str, ...]
    entries: tuple[WordEntry, ...]


def line_error(file: str, line: int, problem: str, fix: str) -> InputError:
    """Return an error that names a line of a data file."""
    return InputError(f"{file}:{line}: {problem}", fix)


def split_fields(text: str) -> tuple[str, ...]:
    """Split a record at its ` :: `."""
    return tuple(_SEPARATOR.split(text.strip()))


def read_lists(text: str, file: str) -> Iterator[WordList | InputError]:
    """Yield an error for each line of a file that breaks a rule, then the lists in its order."""
    lists: dict[str, _ListBuilder] = {}
    current: _ListBuilder | None = None
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        problem = ""
        if head := _HEAD.fullmatch(line):
            problem = f"List {head[1]} is defined already." if head[1] in lists else ""
            current = _ListBuilder(tuple(re.findall(r"\w+", head[2] or "")))
            lists.setdefault(head[1], current)
        elif current is None:
            problem = f"{line[:60]!r} is before the first list."
        else:
            problem = current.add(line)
        if problem:
            yield line_error(file, number, problem, _FIX)
    for name, found in lists.items():
        yield WordList(name, found.fields, tuple(found.entries))


_FIX = "Write `[name]` or `[name: field, field]`, then an entry a line, its fields split by ` :: `."


@dataclass
class _ListBuilder:
    fields: tuple[str, ...]
    entries: dict[WordEntry, None] = field(default_factory=dict[WordEntry, None])

    def add(self, line: str) -> str:
        """Add a line's entry; return what is wrong with it, or ""."""
        values = split_fields(line) if self.fields else (line,)
        if len(values) != max(1, len(self.fields)):
            return f"{line[:60]!r} has {len(values)} fields, not {len(self.fields)}."
        if not all(values):
            return f"{line[:60]!r} has an empty field."
        if WordEntry(values) in self.entries:
            return f"{line[:60]!r} is in the list already."
        self.entries[WordEntry(values)] = None
        return ""
