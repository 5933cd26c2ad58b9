"""Reading the blocks of a pattern: steps and variables."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ...errors import InputError
from .pattern import (
    Alternatives,
    Pattern,
    StepPattern,
    Template,
    TemplateError,
    TemplateSlot,
    Variable,
    WordEntry,
    WordList,
    line_error,
    parse_template,
    split_fields,
)
from .wording import CHANGES, JOINS, LINE_JOINS, PICKS

__all__ = ["COUNT", "check_slots", "read_patterns", "read_step", "read_variable"]


_NOT_FOR_BODIES = {*CHANGES, "n", "prev"} - {"cap"}


def check_slots(
    template: Template,
    variables: Mapping[str, Variable],
    loop_variables: tuple[str, ...] | None = None,
    *,
    later: bool = False,
) -> None:
    """Check every slot of an ask or of a step.

    Args:
        loop_variables: The variables that the step is repeated for; None for an ask.
        later: Whether the template is the prompt of a chain's later steps.

    Raises:
        TemplateError: A slot's variable, field or filter doesn't exist or doesn't fit.
    """
    for slot, inner in _iterate_slots(template, loop_variables or (), variables):
        variable = variables.get(slot.name)
        if variable is None:
            raise TemplateError(f"{{{slot.name}}} has no `with` line before it")
        if slot.field and any(slot.field not in found.fields for found in variable.lists):
            raise TemplateError(f"{{{slot.name}.{slot.field}}} is not a field of all its lists")
        is_single = not variable.is_plural or variable.root in inner
        if slot.number and not (is_single and variable.is_plural):
            raise TemplateError(f"{{{slot.name}#}} belongs in a step over {slot.name}")
        if slot.body is not None and is_single:
            raise TemplateError(f"{{{slot.name}: …}} needs several entries")
        if slot.body is not None and (misplaced := _NOT_FOR_BODIES.intersection(slot.filters)):
            raise TemplateError(f"{{{slot.name}: …|{min(misplaced)}}}: it belongs inside the text")
        for name in slot.filters:
            if problem := _filter_problem(name, variable, is_single, loop_variables is None, later):
                raise TemplateError(f"{{{slot.name}|{name}}}: {problem}")


def _iterate_slots(
    template: Template, loop_variables: tuple[str, ...], variables: Mapping[str, Variable]
) -> Iterator[tuple[TemplateSlot, tuple[str, ...]]]:
    """Yield each slot and the variables that are a single entry there."""
    for node in template:
        if isinstance(node, TemplateSlot):
            yield node, loop_variables
            variable = variables.get(node.name)
            if node.body is not None and variable is not None:
                yield from _iterate_slots(node.body, (*loop_variables, variable.root), variables)
        elif isinstance(node, Alternatives):
            for option in node.options:
                yield from _iterate_slots(option, loop_variables, variables)


def _filter_problem(
    name: str, variable: Variable, is_single: bool, in_ask: bool, later: bool
) -> str:
    if name == "prev":
        return (
            ""
            if later and is_single and variable.is_plural
            else "it belongs in a prompt after `//`"
        )
    if name in JOINS and is_single:
        return "it is a single entry here, which needs no joining"
    if name in LINE_JOINS and not in_ask:
        return "a step may not break lines"
    if name in (*PICKS, "n") and not variable.is_plural:
        return "it is a single entry, not several"
    return "" if name in (*JOINS, *CHANGES, *PICKS, "n") else "there is no such filter"


COUNT = "count"
"""The list of the numbers from 1, which are not drawn but taken in order."""

_VARIABLE = re.compile(r"([a-z][a-z0-9_]*)\s*=\s*(.+)")
_EACH = re.compile(r"each\s+([a-z][a-z0-9_]*)\s+(\S.*)")
_AMOUNT = re.compile(r"(?P<low>\d+)(?:\s*\.\.\s*(?P<high>\d+))?\s+(?P<rest>\S.*)")
_LISTS = re.compile(r"[a-z][a-z0-9_]*(?:\s*/\s*[a-z][a-z0-9_]*)*")


def read_variable(
    line: str, known: Mapping[str, Variable], lists: Mapping[str, WordList]
) -> Variable:
    """Read a line without its `with`; `known` are the block's earlier variables.

    Raises:
        TemplateError: It names an unknown list, or breaks a rule.
    """
    match = _VARIABLE.fullmatch(line)
    if match is None:
        raise TemplateError(f"{line[:40]!r} is not a variable and its words")
    name, words = match.groups()
    if name in known:
        raise TemplateError(f"{name} is defined twice")
    if each := _EACH.fullmatch(words):
        first = known.get(each[1])
        if first is None or not first.is_plural:
            raise TemplateError(f"{each[1]} is not an earlier variable with several entries")
        return Variable(
            name, first.low, first.high, *_read_sources(each[2], lists), paired_with=first.root
        )
    amount = _AMOUNT.fullmatch(words)
    # `5 minutes | 10 minutes` are alternatives, not five of something.
    if amount is None or (amount["high"] is None and "|" in words):
        return Variable(name, 0, 0, *_read_sources(words, lists))
    low, high = int(amount["low"]), int(amount["high"] or amount["low"])
    if not 1 <= low <= high:
        raise TemplateError(f"{low}..{high} is not a range")
    if amount["rest"] == COUNT:
        numbers = tuple(WordEntry((str(number),)) for number in range(1, high + 1))
        return Variable(name, low, high, (WordList(COUNT, (), numbers),))
    word_lists, inline = _read_sources(amount["rest"], lists)
    if short := [found.name for found in word_lists if len(found.entries) < high]:
        raise TemplateError(f"list {short[0]} has fewer than {high} entries")
    return Variable(name, low, high, word_lists, inline)


def _read_sources(words: str, lists: Mapping[str, WordList]) -> tuple[tuple[WordList, ...], bool]:
    """Return the lists to draw entries from, and whether the line itself is the list."""
    if "|" in words or not _LISTS.fullmatch(words):
        return (_read_inline_list(words),), True
    names = re.split(r"\s*/\s*", words)
    for name in names:
        if name not in lists or not lists[name].entries:
            raise TemplateError(f"there is no list {name}, or it is empty")
    return tuple(lists[name] for name in names), False


def _read_inline_list(words: str) -> WordList:
    entries = [WordEntry(split_fields(text)) for text in words.split("|")]
    width = len(entries[0].values)
    if any(len(entry.values) != width or "" in entry.values for entry in entries):
        raise TemplateError("an alternative is empty, or has another number of fields")
    fields = tuple(str(number) for number in range(1, width + 1)) if width > 1 else ()
    return WordList("", fields, tuple(entries))


_LATER = " // "
_STEP = re.compile(
    r"(?P<label>[a-z][a-z0-9_]*)(?:\[(?P<loop>[a-z][a-z0-9_]*(?:\s*,\s*[a-z][a-z0-9_]*)*)"
    r"(?P<chain>\+)?\])?\s*=\s*(?P<agent>.+?):\s+(?P<prompt>.+?)"
    r"(?:\s+<\s+(?P<needs>[a-z][a-z0-9_]*(?:\s*,\s*[a-z][a-z0-9_]*)*))?"
)


def read_step(
    line: str, number: int, variables: Mapping[str, Variable], labels: Collection[str]
) -> StepPattern:
    """Read a line without its `step`; `labels` are those of the earlier steps.

    Raises:
        TemplateError: It names an unknown step or variable, or breaks a rule.
    """
    match = _STEP.fullmatch(line)
    if match is None:
        raise TemplateError(f"{line[:40]!r} is not a step")
    if match["label"] in labels:
        raise TemplateError(f"step {match['label']} is defined twice")
    loop_variables = tuple(
        _root_of(name, variables) for name in re.findall(r"\w+", match["loop"] or "")
    )
    needs = tuple(re.findall(r"\w+", match["needs"] or ""))
    if unknown := [need for need in needs if need not in labels]:
        raise TemplateError(f"it needs {unknown[0]}, which is not a step before it")
    prompt_text, _, later_text = match["prompt"].partition(_LATER)
    if later_text and not match["chain"]:
        raise TemplateError("only a chain, `[x+]`, has a prompt for its later steps")
    agent, prompt = parse_template(match["agent"]), parse_template(prompt_text)
    for template in (agent, prompt):
        check_slots(template, variables, loop_variables)
    later_prompt = parse_template(later_text) if later_text else prompt
    if later_text:
        check_slots(later_prompt, variables, loop_variables, later=True)
    is_chain = bool(match["chain"])
    return StepPattern(
        match["label"], loop_variables, is_chain, agent, prompt, later_prompt, needs, number
    )


def _root_of(name: str, variables: Mapping[str, Variable]) -> str:
    if name not in variables or not variables[name].is_plural:
        raise TemplateError(f"{name} is not a variable with several entries")
    return variables[name].root


_FIXES = {
    "kind": "Write `kind name` once a block, the name in snake_case.",
    "with": "Write `with x = list`, `with x = 2..5 list/list`, `with x = this | that`, "
    "`with k = 3..8 count` or `with y = each x list`.",
    "ask": "Write `ask` and the objective; escape a plain `<`, `{` or `|` with a backslash.",
    "step": "Write `step label[x] = Agent: Prompt < label, label`.",
}
_Lines = Sequence[tuple[int, str]]


def read_patterns(
    text: str, file: str, lists: Mapping[str, WordList]
) -> Iterator[Pattern | InputError]:
    """Yield the patterns of a file; for a block that breaks a rule, yield its first error."""
    for lines in _split_blocks(text):
        try:
            yield _read_pattern(file, lines, lists)
        except InputError as error:
            yield error


def _split_blocks(text: str) -> Iterator[_Lines]:
    block: list[tuple[int, str]] = []
    for number, raw in enumerate([*text.splitlines(), ""], 1):
        line = raw.strip()
        if line and not line.startswith("#"):
            block.append((number, line))
        elif not line and block:
            yield block
            block = []


@dataclass
class _Block:
    lists: Mapping[str, WordList]
    kind: str = ""
    variables: dict[str, Variable] = field(default_factory=dict[str, Variable])
    asks: list[Template] = field(default_factory=list[Template])
    steps: dict[str, StepPattern] = field(default_factory=dict[str, StepPattern])

    def add(self, word: str, line: str, number: int) -> None:
        if word == "kind":
            if self.kind or not re.fullmatch(r"[a-z][a-z0-9_]*", line):
                raise TemplateError(f"{line[:40]!r} is not a kind, or not the block's only one")
            self.kind = line
        elif word == "with":
            variable = read_variable(line, self.variables, self.lists)
            self.variables[variable.name] = variable
        elif word == "ask":
            template = parse_template(line)
            check_slots(template, self.variables)
            self.asks.append(template)
        else:
            step = read_step(line, number, self.variables, self.steps)
            self.steps[step.label] = step

    def missing_keyword(self) -> str:
        parts = {"kind": self.kind, "ask": self.asks, "step": self.steps}
        return next((word for word, found in parts.items() if not found), "")


def _read_pattern(file: str, lines: _Lines, lists: Mapping[str, WordList]) -> Pattern:
    block = _Block(lists)
    for number, line in lines:
        word, _, rest = line.partition(" ")
        if word not in _FIXES:
            fix = "Begin a line with kind, with, ask or step; a blank line ends a block."
            raise line_error(file, number, f"{line[:60]!r} is not a line of a pattern.", fix)
        try:
            block.add(word, rest.strip(), number)
        except TemplateError as error:
            raise line_error(file, number, f"{error}.", _FIXES[word]) from None
    start = lines[0][0]
    if word := block.missing_keyword():
        raise line_error(file, start, f"The block has no {word} line.", _FIXES[word])
    text = "\n".join(line for _, line in lines)
    steps = tuple(block.steps.values())
    return Pattern(block.kind, file, start, text, block.variables, tuple(block.asks), steps)
