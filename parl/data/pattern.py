"""Patterns, templates and word lists as data, and reading them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ...errors import InputError

__all__ = [
    "Alternatives",
    "Node",
    "Pattern",
    "StepPattern",
    "Template",
    "TemplateError",
    "TemplateSlot",
    "Variable",
    "WordEntry",
    "WordList",
    "line_error",
    "parse_template",
    "read_lists",
    "split_fields",
]


class TemplateError(ValueError):
    """A template or its line breaks a rule; the message says which."""


@dataclass(frozen=True, slots=True)
class TemplateSlot:
    """A slot for a variable's value.

    Attributes:
        field: The record's field, or "" for the entry itself.
        number: Whether it is the entry's number, from 1, instead of the entry.
        body: The template for each entry, or None for the entry itself.
    """

    name: str
    field: str = ""
    number: bool = False
    body: Template | None = None
    filters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Alternatives:
    """Alternatives; one of them is chosen at random."""

    options: tuple[Template, ...]


Node = str | TemplateSlot | Alternatives
Template = tuple[Node, ...]


def parse_template(text: str) -> Template:
    """Parse a template.

    Raises:
        TemplateError: A bracket isn't closed, or contains neither a slot nor alternatives.
    """
    return _Parser(text).read_until("")


_NAME = re.compile(r"[a-z][a-z0-9_]*")
_SLOT = re.compile(r"(?P<name>[a-z][a-z0-9_]*)(?:\.(?P<field>[a-z0-9_]+)|(?P<number>#))?")


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def read_until(self, stops: str) -> Template:
        """Read up to one of the characters in `stops`, or to the end if it is empty."""
        nodes: list[Node] = []
        plain = ""
        while self._at < len(self._text) and self._text[self._at] not in stops:
            character = self._text[self._at]
            self._at += 1
            if character in "<{":
                nodes += [plain] * bool(plain)
                nodes.append(self._read_alternatives() if character == "<" else self._read_slot())
                plain = ""
            else:
                plain += self._read_escape() if character == "\\" else character
        return (*nodes, *[plain] * bool(plain))

    def _read_escape(self) -> str:
        character = self._text[self._at : self._at + 1]
        self._at += 1
        return "\n" if character == "n" else character

    def _read_alternatives(self) -> Alternatives:
        start = self._at
        options = [self.read_until("|>")]
        while self._take("|"):
            options.append(self.read_until("|>"))
        excerpt = f"`<{self._text[start : start + 30]}`"
        if not self._take(">"):
            raise TemplateError(rf"{excerpt} isn't closed (`\<` is the plain character)")
        if len(options) == 1:
            raise TemplateError(
                rf"{excerpt} has only one alternative (`\<` is the plain character)"
            )
        return Alternatives(tuple(options))

    def _read_slot(self) -> TemplateSlot:
        start = self._at
        match = _SLOT.match(self._text, self._at)
        excerpt = f"`{{{self._text[start : start + 30]}`"
        if match is None:
            raise TemplateError(rf"{excerpt} is not a slot (`\{{` is the plain character)")
        self._at = match.end()
        body = self.read_until("|}") if self._take(": ") else None
        filters: list[str] = []
        while self._take("|"):
            name = _NAME.match(self._text, self._at)
            if name is None:
                raise TemplateError(f"{excerpt} has no filter's name after `|`")
            filters.append(name[0])
            self._at = name.end()
        if not self._take("}"):
            raise TemplateError(f"{excerpt} isn't closed")
        return TemplateSlot(
            match["name"], match["field"] or "", bool(match["number"]), body, tuple(filters)
        )

    def _take(self, expected: str) -> bool:
        found = self._text.startswith(expected, self._at)
        self._at += len(expected) if found else 0
        return found


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


@dataclass(frozen=True, slots=True)
class Variable:
    """The possible values of a slot.

    Attributes:
        low, high: The least and the most entries; both 0 for a single entry.
        lists: Its entries are drawn from one of these lists.
        inline: Whether the entries are written in the pattern itself.
        paired_with: The variable whose every entry has an entry of this one, or "".
    """

    name: str
    low: int
    high: int
    lists: tuple[WordList, ...]
    inline: bool = False
    paired_with: str = ""

    @property
    def is_plural(self) -> bool:
        """Whether it may have several entries."""
        return bool(self.high or self.paired_with)

    @property
    def root(self) -> str:
        """The variable whose index selects the entry that is shown."""
        return self.paired_with or self.name


@dataclass(frozen=True, slots=True)
class StepPattern:
    """A step, or one step for each entry of `loop_variables`.

    Attributes:
        loop_variables: The variables it is repeated for, outermost first.
        is_chain: Whether each step needs the step of the last variable's previous entry.
        later_prompt: The prompt of a chain's steps after the first; `prompt` if not given.
        needs: Labels of the steps it needs.
    """

    label: str
    loop_variables: tuple[str, ...]
    is_chain: bool
    agent: Template
    prompt: Template
    later_prompt: Template
    needs: tuple[str, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Pattern:
    """A block of a pattern file; `text` is its lines without comments, `line` its first."""

    kind: str
    file: str
    line: int
    text: str
    variables: Mapping[str, Variable]
    asks: tuple[Template, ...]
    steps: tuple[StepPattern, ...]

    @property
    def location(self) -> str:
        """The block's location, `file:line`."""
        return f"{self.file}:{self.line}"

    @property
    def is_narrow(self) -> bool:
        """Whether its plans are always a single step or a pure chain."""
        before: tuple[str, ...] = ()
        for step in self.steps:
            loops = step.loop_variables
            if step.needs != before or (loops and not (step.is_chain and len(loops) == 1)):
                return False
            before = (step.label,)
        return True
