"""Texts that a regular expression may take long over, made from its own parse tree.

A text is a beginning, a part that is repeated, and an end. The part is what a repeated element
matches, what leads to one, or a character that stands in the pattern.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from re import _constants as op  # pyright: ignore
from re import _parser as parser  # pyright: ignore
from typing import Any

__all__ = ["Pumped", "pumped_by"]

_WALKS = 10
_MOST = 100
_PLENTY = 300  # a repeat that is bounded below this only costs a constant
_CHARACTERS = " \n\ta0A_-\"'<{[(:,.=/\\#*`|~!é"
_ENDS = ("", "\0", "\n!")
_NEVER = {op.AT, op.ASSERT_NOT, op.FAILURE}


@dataclass(frozen=True)
class Pumped:
    """A text of any length: `start`, then `pump` again and again, then `end`."""

    start: str
    pump: str
    end: str

    def text(self, size: int) -> str:
        """Return the text with about `size` characters of pump."""
        return self.start + self.pump * max(1, size // len(self.pump)) + self.end

    def __str__(self) -> str:
        return f"{self.start!r} + {self.pump!r} * n + {self.end!r}"


def pumped_by(pattern: re.Pattern[Any]) -> list[Pumped]:
    """Return texts that may take a pattern long, the same ones each time."""
    source = pattern.pattern
    tree = parser.parse(source, pattern.flags & ~re.DEBUG)
    rng = random.Random(0)  # noqa: S311 - texts of a test
    found: dict[Pumped, None] = {}
    walks = [_Walk(rng, _alphabet(tree)) for _ in range(_WALKS)]
    for walk in walks:
        walk.read(tree)
    # One of each repeat in turn, so that none takes up all the room.
    for each in _in_turn([texts for walk in walks for texts in _texts_of(walk)]):
        found[each] = None
        if len(found) >= _MOST:
            break
    return [*found]


@dataclass
class _Walk:
    """One way through a pattern, with what was written on it."""

    rng: random.Random
    alphabet: str
    text: str = ""
    groups: dict[int, str] = field(default_factory=dict[int, str])
    repeats: list[tuple[str, list[str]]] = field(default_factory=list[tuple[str, list[str]]])

    def read(self, tree: Any) -> None:
        for code, argument in tree:
            if code not in _NEVER:
                self._node(code, argument)

    def _node(self, code: Any, argument: Any) -> None:
        if code in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            self._repeat(*argument)
        elif code is op.SUBPATTERN:
            begin = len(self.text)
            self.read(argument[3])
            if argument[0]:
                self.groups[argument[0]] = self.text[begin:]
        elif code is op.BRANCH:
            self.read(self.rng.choice(argument[1]))
        elif code is op.ATOMIC_GROUP:
            self.read(argument)
        elif code is op.ASSERT:
            if argument[0] > 0 or not self.text:
                self.read(argument[1])
        elif code is op.GROUPREF:
            self.text += self.groups.get(argument, "")
        elif code is op.GROUPREF_EXISTS:
            self.read(argument[1] if argument[0] in self.groups else argument[2] or ())
        else:
            self.text += self.rng.choice(_members(code, argument, self.alphabet)[:6])

    def _repeat(self, least: int, most: int, body: Any) -> None:
        start = self.text
        if most >= _PLENTY:
            pumps: list[str] = []
            if len(body) == 1 and body[0][0] in _SINGLE:
                code, argument = body[0]
                pumps += _members(code, argument, self.alphabet)[:4]
            self.text = start
            self.read(body)
            pumps.append(self.text[len(start) :])
            self.repeats.append((start, [each for each in pumps if each]))
            self.text = start
        some = max(least, self.rng.choice((0, 1)))
        for _ in range(min(some, most, _PLENTY)):
            self.read(body)


def _texts_of(walk: _Walk) -> Iterator[Iterator[Pumped]]:
    for start, pumps in walk.repeats:
        yield _of_repeat(start, pumps, [walk.rng.choice(_ENDS), walk.text[-1:]])
    yield _of_whole(walk.text, walk.rng.choice(walk.alphabet), walk.rng.choice(_ENDS))


def _of_repeat(start: str, pumps: list[str], ends: list[str]) -> Iterator[Pumped]:
    for pump in pumps:
        yield Pumped(start, pump, _ENDS[1])
    if start:
        yield from (Pumped("", start, end) for end in ends)
    for pump in pumps:
        yield from (Pumped("", start + pump, end) for end in ends)
        yield Pumped(start, pump, ends[0])


def _of_whole(text: str, character: str, end: str) -> Iterator[Pumped]:
    yield Pumped("", character, end)
    if text:
        yield Pumped("", text[:-1] or text, _ENDS[1])
        yield Pumped(text[:-1], character, _ENDS[1])
        yield Pumped("", text, "")


def _in_turn(lists: Sequence[Iterator[Pumped]]) -> Iterator[Pumped]:
    left = [*lists]
    while left:
        for each in [*left]:
            try:
                yield next(each)
            except StopIteration:
                left.remove(each)


_SINGLE = {op.LITERAL, op.NOT_LITERAL, op.ANY, op.IN}
_CATEGORIES = {
    op.CATEGORY_DIGIT: r"\d",
    op.CATEGORY_NOT_DIGIT: r"\D",
    op.CATEGORY_SPACE: r"\s",
    op.CATEGORY_NOT_SPACE: r"\S",
    op.CATEGORY_WORD: r"\w",
    op.CATEGORY_NOT_WORD: r"\W",
}


def _alphabet(tree: Any) -> str:
    """Return the characters that a pattern names, and some that it may not."""
    own = dict.fromkeys(_literals(tree))
    return "".join(dict.fromkeys([*own, *_CHARACTERS]))[:80]


def _literals(tree: Any) -> Iterator[str]:
    if isinstance(tree, (parser.SubPattern, list, tuple)):
        match tree:
            case (op.LITERAL | op.NOT_LITERAL, int(code)):
                yield chr(code)
            case (op.RANGE, (int(low), int(high))):
                yield chr(low)
                yield chr(high)
            case _:
                for part in tree:
                    yield from _literals(part)


def _members(code: Any, argument: Any, alphabet: str) -> list[str]:
    """Return characters that an element of a pattern matches; what it names itself first."""
    if code is op.LITERAL:
        return [chr(argument)]
    if code is op.NOT_LITERAL:
        return [each for each in reversed(alphabet) if ord(each) != argument]
    if code is op.ANY:
        return ["a", " ", *alphabet]
    negated = bool(argument) and argument[0][0] is op.NEGATE
    inside = [each for each in alphabet if _is_in(argument, each) is not negated]
    return (inside[::-1] if negated else inside) or [chr(0x4E00)]


def _is_in(items: Any, character: str) -> bool:
    for code, argument in items:
        if code is op.LITERAL and ord(character) == argument:
            return True
        if code is op.RANGE and argument[0] <= ord(character) <= argument[1]:
            return True
        if code is op.CATEGORY and re.match(_CATEGORIES[argument], character):
            return True
    return False
