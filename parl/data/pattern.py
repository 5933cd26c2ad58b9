"""Patterns: blocks that say how an objective of a kind is asked and which plan it has.

    kind compare_choose
    with x = 2..5 pets/small_dogs
    with use = home_uses
    with v = Compare | Weigh up
    ask {v} {x} as {use}
    step a[x] = {x|title} Expert: Describe {x} as {use}
    step j = Judge: {v} {x} as {use} < a
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from ...errors import InputError
from .lists import SEPARATOR, Entry, WordList, at_line
from .rules import check_slots
from .template import Template, TemplateError, parse_template

__all__ = ["Pattern", "StepPattern", "Variable", "read_patterns"]

COUNT = "count"
"""The range `with k = 3..8 count` takes its entries from: the numbers from 1."""


@dataclass(frozen=True, slots=True)
class Variable:
    """What a slot may hold.

    Attributes:
        low, high: How many entries it has; both 0 for one entry that isn't a list.
        lists: The lists, one of which its entries are drawn from.
        inline: Whether the pattern itself writes the entries.
        like: The variable that it has an entry for each entry of, or "".
    """

    name: str
    low: int
    high: int
    lists: tuple[WordList, ...]
    inline: bool = False
    like: str = ""

    @property
    def plural(self) -> bool:
        """Whether it has several entries."""
        return bool(self.high or self.like)


@dataclass(frozen=True, slots=True)
class StepPattern:
    """A step, or one step for each entry of `over`.

    Attributes:
        over: The variables it runs over, outermost first.
        chained: Whether each entry of the last variable needs the step of the one before.
        later: The prompt of a chain's steps after the first; the same prompt where not given.
        needs: Labels of the steps it needs.
    """

    label: str
    over: tuple[str, ...]
    chained: bool
    agent: Template
    prompt: Template
    later: Template
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
    asks: tuple[tuple[int, Template], ...]
    steps: tuple[StepPattern, ...]

    @property
    def where(self) -> str:
        """The block's place, `file:line`."""
        return f"{self.file}:{self.line}"

    @property
    def narrow(self) -> bool:
        """Whether it is one step or a pure chain, whatever is drawn."""
        before: tuple[str, ...] = ()
        for step in self.steps:
            if step.needs != before or (step.over and not (step.chained and len(step.over) == 1)):
                return False
            before = (step.label,)
        return True


@dataclass
class _Block:
    file: str
    line: int
    kind: str = ""
    lines: list[str] = field(default_factory=list[str])
    variables: dict[str, Variable] = field(default_factory=dict[str, Variable])
    asks: list[tuple[int, Template]] = field(default_factory=list[tuple[int, Template]])
    steps: list[StepPattern] = field(default_factory=list[StepPattern])


class _LineError(ValueError):
    pass


_VARIABLE = re.compile(r"([a-z][a-z0-9_]*)\s*=\s*(.+)")
_AMOUNT = re.compile(r"(?P<low>\d+)(?:\s*\.\.\s*(?P<high>\d+))?\s+(?P<rest>\S.*)")
_STEP = re.compile(
    r"(?P<label>[a-z][a-z0-9_]*)(?:\[(?P<over>[a-z][a-z0-9_]*(?:\s*,\s*[a-z][a-z0-9_]*)*)"
    r"(?P<chained>\+)?\])?\s*=\s*(?P<agent>.+?):\s+(?P<prompt>.+?)"
    r"(?:\s+<\s+(?P<needs>[a-z][a-z0-9_]*(?:\s*,\s*[a-z][a-z0-9_]*)*))?"
)
_LISTS = re.compile(r"[a-z][a-z0-9_]*(?:\s*/\s*[a-z][a-z0-9_]*)*")
_WORDS = {
    "kind": "Write `kind name`, the name in snake_case.",
    "with": "Write `with x = list`, `with x = 2..5 list/list`, `with x = this | that`, "
    "`with k = 3..8 count` or `with y = each x list`.",
    "ask": "Write `ask` and the objective; escape a plain `<`, `{` or `|` with a backslash.",
    "step": "Write `step label[x] = Agent: Prompt < label, label`.",
}


def read_patterns(
    text: str, file: str, lists: Mapping[str, WordList]
) -> Iterator[Pattern | InputError]:
    """Yield the blocks of a file, or for a block its first error."""
    for start, lines in _blocks(text):
        try:
            yield _pattern(file, start, lines, lists)
        except InputError as error:
            yield error


def _blocks(text: str) -> Iterator[tuple[int, list[tuple[int, str]]]]:
    block: list[tuple[int, str]] = []
    for number, raw in enumerate([*text.splitlines(), ""], 1):
        line = raw.strip()
        if line and not line.startswith("#"):
            block.append((number, line))
        elif not line and block:
            yield block[0][0], block
            block = []


def _pattern(
    file: str, start: int, lines: Iterable[tuple[int, str]], lists: Mapping[str, WordList]
) -> Pattern:
    block = _Block(file, start)
    for number, line in lines:
        word, _, rest = line.partition(" ")
        if word not in _WORDS:
            fix = "Begin a line with kind, with, ask or step; a blank line ends a block."
            raise at_line(file, number, f"{line[:60]!r} is no line of a pattern.", fix)
        try:
            _READERS[word](block, number, rest.strip(), lists)
        except (_LineError, TemplateError) as error:
            raise at_line(file, number, f"{error}.", _WORDS[word]) from None
        block.lines.append(line)
    missing = [word for word in ("kind", "asks", "steps") if not getattr(block, word)]
    if missing:
        raise at_line(file, start, f"the block has no {missing[0].rstrip('s')}.", _WORDS[missing[0].rstrip("s")])
    return Pattern(
        block.kind, file, start, "\n".join(block.lines), block.variables,
        tuple(block.asks), tuple(block.steps),
    )  # fmt: skip


def _kind(block: _Block, number: int, rest: str, lists: Mapping[str, WordList]) -> None:
    if block.kind or not re.fullmatch(r"[a-z][a-z0-9_]*", rest):
        raise _LineError(f"{rest[:40]!r} is no kind, or not the block's only one")
    block.kind = rest


def _with(block: _Block, number: int, rest: str, lists: Mapping[str, WordList]) -> None:
    match = _VARIABLE.fullmatch(rest)
    if match is None:
        raise _LineError(f"{rest[:40]!r} gives no variable a value")
    name, spec = match[1], match[2]
    if name in block.variables:
        raise _LineError(f"{name} is given twice")
    block.variables[name] = replace(_variable(spec, block.variables, lists), name=name)


def _variable(
    spec: str, known: Mapping[str, Variable], lists: Mapping[str, WordList]
) -> Variable:
    each = re.fullmatch(r"each\s+([a-z][a-z0-9_]*)\s+(\S.*)", spec)
    if each:
        first = known.get(each[1])
        if first is None or not first.plural:
            raise _LineError(f"{each[1]} is no variable of several entries given before")
        inline, sources = _sources(each[2], lists)
        return Variable("", first.low, first.high, sources, inline, first.like or first.name)
    amount = _AMOUNT.fullmatch(spec)
    # `5 minutes | 10 minutes` are alternatives, not five of something.
    if amount is None or (amount["high"] is None and "|" in spec):
        inline, sources = _sources(spec, lists)
        return Variable("", 0, 0, sources, inline)
    low, high = int(amount["low"]), int(amount["high"] or amount["low"])
    if not 1 <= low <= high:
        raise _LineError(f"{low}..{high} is no range")
    if amount["rest"] == COUNT:
        numbers = tuple(Entry((str(number),)) for number in range(1, high + 1))
        return Variable("", low, high, (WordList(COUNT, (), numbers),))
    inline, sources = _sources(amount["rest"], lists)
    short = [found.name for found in sources if len(found.entries) < high]
    if short:
        raise _LineError(f"list {short[0]} has fewer than {high} entries")
    return Variable("", low, high, sources, inline)


def _sources(spec: str, lists: Mapping[str, WordList]) -> tuple[bool, tuple[WordList, ...]]:
    if "|" in spec or not _LISTS.fullmatch(spec):
        texts = [part.strip() for part in spec.split("|")]
        entries = [Entry(tuple(map(str.strip, text.split(SEPARATOR)))) for text in texts]
        width = len(entries[0].values)
        if any(len(entry.values) != width or "" in entry.values for entry in entries):
            raise _LineError("an alternative is empty, or has another number of fields")
        fields = tuple(map(str, range(1, width + 1))) if width > 1 else ()
        return True, (WordList("", fields, tuple(entries)),)
    names = re.split(r"\s*/\s*", spec)
    for name in names:
        if name not in lists or not lists[name].entries:
            raise _LineError(f"there is no list {name}, or it is empty")
    return False, tuple(lists[name] for name in names)


def _ask(block: _Block, number: int, rest: str, lists: Mapping[str, WordList]) -> None:
    template = parse_template(rest)
    check_slots(template, block.variables, over=None)
    block.asks.append((number, template))


def _step(block: _Block, number: int, rest: str, lists: Mapping[str, WordList]) -> None:
    match = _STEP.fullmatch(rest)
    if match is None:
        raise _LineError(f"{rest[:40]!r} is no step")
    over = tuple(re.findall(r"\w+", match["over"] or ""))
    for name in over:
        if name not in block.variables or not block.variables[name].plural:
            raise _LineError(f"{name} is no variable of several entries")
    labels = {step.label for step in block.steps}
    needs = tuple(re.findall(r"\w+", match["needs"] or ""))
    if unknown := [need for need in needs if need not in labels]:
        raise _LineError(f"it needs {unknown[0]}, which is no step before it")
    if match["label"] in labels:
        raise _LineError(f"step {match['label']} is there twice")
    prompt, _, later = match["prompt"].partition(" // ")
    if later and not match["chained"]:
        raise _LineError("only a chain, `[x+]`, has a prompt for its later steps")
    templates = [parse_template(part) for part in (match["agent"], prompt, later or prompt)]
    roots = tuple(block.variables[name].like or name for name in over)
    for index, template in enumerate(templates):
        check_slots(template, block.variables, over=roots, first=index < 2)
    block.steps.append(
        StepPattern(match["label"], roots, bool(match["chained"]), *templates, needs, number)
    )


_READERS = {"kind": _kind, "with": _with, "ask": _ask, "step": _step}
