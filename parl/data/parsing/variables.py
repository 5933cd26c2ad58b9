"""Read the `with` lines of a pattern, which define its variables.

with use = home_uses            one entry of a list
with x = 2..5 pets/small_dogs   two to five entries of one of the lists
with v = Compare | Weigh up     one of these; `A :: a | B :: b` has the fields 1 and 2
with t = for {use} | for fun    another variable's value, if that is a single entry
with k = 3..8 count             the numbers from 1 to three, … or eight
with l = each x tones           an entry for each entry of x
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from .lists import WordEntry, WordList, split_fields
from .pattern import Variable
from .template import TemplateError

__all__ = ["COUNT", "read_variable"]

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
