"""Free text as rules of a grammar: any text, until a call begins in it. Pure.

A grammar that waits in llama.cpp for such a beginning (a lazy one) reads all of the text again at
each token, and ends the process if the token that has the beginning's end goes on otherwise. So the
text is under the grammar from its first letter: a rule for each state of an automaton that looks
for the beginnings. Checking a token costs about 24 µs, however long the text is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ..schemas.rules import char_class

__all__ = ["BLANKS", "Beginning", "Where", "free_text"]

BLANKS = " \n\t"
"""As a part of a beginning: any blanks, or none."""

Where = Literal["anywhere", "line", "start"]
_Place = Literal["inside", "line", "start"]


@dataclass(frozen=True, slots=True)
class Beginning:
    """What begins a call.

    Attributes:
        where: `start` is the text's, behind blanks; `line` that of any line, behind blanks.
        parts: Letters and `BLANKS`, one after another.
        rule: What the text has to go on with then; "" if it must not begin.
    """

    where: Where
    parts: tuple[str, ...]
    rule: str


class _State(NamedTuple):
    """Which beginnings are how far, and where in the text this is."""

    seen: frozenset[tuple[int, int]]
    place: _Place


def free_text(beginnings: Sequence[Beginning], begun: str = "") -> tuple[str, list[str]]:
    """Return the name of the rule for free text, and all rules it needs.

    Args:
        beginnings: Where two end at once, the first counts.
        begun: The text's beginning, which the grammar doesn't see.
    """
    return _Automaton(beginnings).rules(begun)


class _Automaton:
    def __init__(self, beginnings: Sequence[Beginning]) -> None:
        self._beginnings = beginnings
        parts = (part for beginning in beginnings for part in beginning.parts)
        self._letters = sorted({letter for part in parts for letter in part} | set(BLANKS))
        # Places that make no difference would be states of their own.
        self._places = {beginning.where for beginning in beginnings}
        self._names: dict[_State, str] = {}

    def rules(self, begun: str) -> tuple[str, list[str]]:
        state = self._place_only("start")
        for letter in begun:
            after = self._after(state, letter)
            state = after if isinstance(after, _State) else self._place_only("inside")
        first, lines = self._name(state), list[str]()
        # The states that a rule leads to get their names while it is made, and come behind it.
        for reached in self._reached():
            lines.append(f"{self._names[reached]} ::= {' | '.join(self._choices(reached))}")
        return first, lines

    def _reached(self) -> Iterator[_State]:
        done = 0
        while done < len(self._names):
            yield list(self._names)[done]
            done += 1

    def _name(self, state: _State) -> str:
        return self._names.setdefault(state, f"text{len(self._names)}")

    def _choices(self, state: _State) -> Iterator[str]:
        """Nothing more, or a letter and what may follow it."""
        yield ""
        others = self._after(state, "")
        leads: dict[str, list[str]] = {}
        for letter in self._letters:
            after = self._after(state, letter)
            if after != others:
                leads.setdefault(self._rule(after), []).append(letter)
        for rule, letters in leads.items():
            if rule:
                yield f"{char_class(letters)} {rule}"
        known = [letter for letters in leads.values() for letter in letters]
        yield f"{char_class(known, others=True)} {self._rule(others)}"

    def _rule(self, after: _State | Beginning) -> str:
        return after.rule if isinstance(after, Beginning) else self._name(after)

    def _after(self, state: _State, letter: str) -> _State | Beginning:
        """Where a letter leads: to another state, or a beginning ends with it.

        "" is any letter that no beginning has.
        """
        seen: set[tuple[int, int]] = set()
        for number, at in sorted(state.seen | set(self._new(state.place))):
            parts = self._beginnings[number].parts
            if parts[at] == BLANKS:
                if letter and letter in BLANKS:
                    seen.add((number, at))
                    continue
                at += 1
            if letter == parts[at]:
                if at + 1 == len(parts):
                    return self._beginnings[number]
                seen.add((number, at + 1))
        return _State(frozenset(seen), self._place_only(_next_place(state.place, letter)).place)

    def _new(self, place: _Place) -> Iterator[tuple[int, int]]:
        """Beginnings that may begin here."""
        for number, beginning in enumerate(self._beginnings):
            begins_line = beginning.where == "line" and place != "inside"
            if beginning.where in ("anywhere", place) or begins_line:
                yield number, 0

    def _place_only(self, place: _Place) -> _State:
        if place == "start" and "start" not in self._places:
            place = "line"
        if place == "line" and "line" not in self._places:
            place = "inside"
        return _State(frozenset(), place)


def _next_place(place: _Place, letter: str) -> _Place:
    if place == "start" and letter and letter in BLANKS:
        return "start"
    if letter == "\n" or (place == "line" and letter in (" ", "\t")):
        return "line"
    return "inside"
