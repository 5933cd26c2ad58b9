"""Read a pattern's variables, and check its slots. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ..generating.filters import CHANGES, JOINS, LINE_JOINS, PICKS
from .lists import WordEntry, WordList, split_fields
from .pattern import Variable
from .template import Alternatives, Template, TemplateError, TemplateSlot

__all__ = ["COUNT", "check_slots", "read_variable"]


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
