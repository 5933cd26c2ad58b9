"""Free text as rules of a grammar: any text, until a call begins in it. Pure.

A grammar that waits in llama.cpp for such a beginning (a lazy one) reads all of the text again at
each token, and ends the process if the token that has the beginning's end goes on otherwise. So the
text is under the grammar from its first letter: a rule for each state of an automaton that looks
for the beginnings. Checking a token costs about 24 µs, however long the text is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from ..schemas.merging import TooLargeError
from ..schemas.rules import char_class

__all__ = ["BLANKS", "Beginning", "Where", "free_text"]

BLANKS = " \n\t"
"""As a part of a beginning: any blanks, or none."""

Where = Literal["anywhere", "line", "start"]
_MOST_STATES = 10_000
"""About one for each letter of the tools' names: 1,000 tools with names of 10 letters."""
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
    """How far beginnings have come, and where in the text this is."""

    seen: frozenset[int]
    place: _Place


@dataclass(slots=True)
class _Node:
    """A place in beginnings; those that begin alike share it.

    Attributes:
        letters: The places that letters lead to.
        blanks: The place that any blanks, or none, lead to.
        ends: The first beginning that is complete here.
    """

    letters: dict[str, int] = field(default_factory=dict[str, int])
    blanks: int | None = None
    ends: int | None = None


def free_text(beginnings: Sequence[Beginning], begun: str = "") -> tuple[str, list[str]]:
    """Return the name of the rule for free text, and all rules it needs.

    Args:
        beginnings: Where two end at once, the first counts.
        begun: The text's beginning, which the grammar doesn't see.

    Raises:
        TooLargeError: The beginnings have too many letters.
    """
    return _Automaton(beginnings).rules(begun)


class _Automaton:
    def __init__(self, beginnings: Sequence[Beginning]) -> None:
        self._beginnings = beginnings
        self._nodes: list[_Node] = []
        self._behind_blanks: set[int] = set()
        # Where beginnings begin that may stand there: a tree each, so that a text is compared with
        # what many of them have in common once.
        self._roots: dict[Where, int] = {}
        for number, beginning in enumerate(beginnings):
            self._add(number, beginning)
        self._names: dict[_State, str] = {}
        self._pending: list[_State] = []

    def _add(self, number: int, beginning: Beginning) -> None:
        # Places that make no difference would be states of their own.
        if beginning.where not in self._roots:
            self._roots[beginning.where] = self._new_node()
        at = self._roots[beginning.where]
        for part in beginning.parts:
            node = self._nodes[at]
            following = node.blanks if part == BLANKS else node.letters.get(part)
            if following is None:
                following = self._new_node()
                if part == BLANKS:
                    node.blanks = following
                    self._behind_blanks.add(following)
                else:
                    node.letters[part] = following
            at = following
        if self._nodes[at].ends is None:
            self._nodes[at].ends = number

    def _new_node(self) -> int:
        self._nodes.append(_Node())
        return len(self._nodes) - 1

    def rules(self, begun: str) -> tuple[str, list[str]]:
        state = self._place_only("start")
        for letter in begun:
            after = self._after(state, letter)
            state = after if isinstance(after, _State) else self._place_only("inside")
        first, lines = self._name(state), list[str]()
        # The states that a rule leads to get their names while it is made, and come behind it.
        for reached in self._pending:
            if len(self._pending) > _MOST_STATES:
                raise TooLargeError(
                    "The names of the tools are too long together for a local model.",
                    f"Use fewer tools, or shorter names: about {_MOST_STATES:,} letters in all.",
                )
            lines.append(f"{self._names[reached]} ::= {' | '.join(self._choices(reached))}")
        return first, lines

    def _name(self, state: _State) -> str:
        if (known := self._names.get(state)) is None:
            known = self._names[state] = f"text{len(self._names)}"
            self._pending.append(state)
        return known

    def _choices(self, state: _State) -> Iterator[str]:
        """Nothing more, or a letter and what may follow it."""
        yield ""
        others = self._after(state, "")
        leads: dict[str, list[str]] = {}
        for letter in sorted({*BLANKS, *self._letters(state)}):
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

    def _letters(self, state: _State) -> Iterator[str]:
        """The letters that a beginning may go on with; all others lead to one state."""
        for at in self._open(state):
            yield from self._nodes[at].letters

    def _after(self, state: _State, letter: str) -> _State | Beginning:
        """Where a letter leads: to another state, or a beginning ends with it.

        "" is any letter that no beginning has.
        """
        seen: set[int] = set()
        for at in self._open(state):
            if (following := self._nodes[at].letters.get(letter)) is not None:
                seen.add(self._skipped(following))
            if at in self._behind_blanks and letter and letter in BLANKS:
                seen.add(at)
        if ended := [end for at in seen if (end := self._nodes[at].ends) is not None]:
            return self._beginnings[min(ended)]
        return _State(frozenset(seen), self._place_only(_next_place(state.place, letter)).place)

    def _skipped(self, at: int) -> int:
        """The place behind blanks where nothing else may follow: that is no state of its own."""
        node = self._nodes[at]
        return at if node.blanks is None or node.letters else node.blanks

    def _open(self, state: _State) -> Iterator[int]:
        """The places that beginnings are at, those that blanks may be skipped to among them."""
        for at in {*state.seen, *self._new(state.place)}:
            yield at
            if (behind := self._nodes[at].blanks) is not None:
                yield behind

    def _new(self, place: _Place) -> Iterator[int]:
        """Where beginnings begin that may begin here."""
        for where, root in self._roots.items():
            begins_line = where == "line" and place != "inside"
            if where in ("anywhere", place) or begins_line:
                yield root

    def _place_only(self, place: _Place) -> _State:
        if place == "start" and "start" not in self._roots:
            place = "line"
        if place == "line" and "line" not in self._roots:
            place = "inside"
        return _State(frozenset(), place)


def _next_place(place: _Place, letter: str) -> _Place:
    if place == "start" and letter and letter in BLANKS:
        return "start"
    if letter == "\n" or (place == "line" and letter in (" ", "\t")):
        return "line"
    return "inside"
