"""Regular expressions that others write, and a search whose time has a bound. Pure.

Python's own search goes back and tries again, so that a few characters of an expression may take it
years. Here an expression becomes an automaton with a bounded number of states, and a text is read
once, from left to right: a search takes at most states times characters. What can't be searched for
like that (look-around, back-references) is refused.
"""

from __future__ import annotations

import re
import warnings
from functools import lru_cache
from typing import NamedTuple

__all__ = ["LONGEST_PATTERN", "LONGEST_SEARCHED", "is_found", "pattern_problem"]

LONGEST_PATTERN = 200
"""Characters of an expression."""
LONGEST_SEARCHED = 10_000
"""Characters of a text that are searched, from its beginning."""
_MOST_STATES = 1_000
_DEEPEST = 20
_MOST_KEPT = 200_000
"""Numbers of states that an automaton keeps, so that nothing is worked out twice."""

_FLAGS = re.compile(r"\(\?([aims]+)\)")
_GROUP = re.compile(r"\((?:\?:|\?P<\w+>|(?!\?))")
_QUANTIFIER = re.compile(r"([*+?])|\{(?=[0-9,])([0-9]*+)(?:(,)([0-9]*+))?\}")
_ESCAPED = re.compile(r"\\(?:x..|u.{4}|U.{8}|N\{[^}]*\}|0[0-7]{0,2}|.)", re.DOTALL)
_ANCHORS = ("^", "$", "\\A", "\\Z", "\\b", "\\B")
_REFUSED = (
    ("(?=", "look-around"),
    ("(?!", "look-around"),
    ("(?<=", "look-around"),
    ("(?<!", "look-around"),
    ("(?P=", "a back-reference"),
    ("(?(", "a back-reference"),
    ("(?>", "an atomic group"),
    ("(?#", "a comment"),
)


class _Refused(ValueError):  # noqa: N818 - it never leaves this module
    """Why an expression isn't searched for, for behind "it has"."""


class _Char(NamedTuple):
    """One character: the number of its test."""

    test: int


class _Anchor(NamedTuple):
    """A place between characters: the number of its kind."""

    kind: int


class _Repeat(NamedTuple):
    """A part, so many times; `most` is None where nothing bounds it."""

    part: _Node
    fewest: int
    most: int | None


class _Choice(NamedTuple):
    """Sequences, one of which is found."""

    branches: tuple[tuple[_Node, ...], ...]


_Node = _Char | _Anchor | _Repeat | _Choice


class _Reader:
    """Reads an expression that Python understands; what it refuses raises `_Refused`."""

    def __init__(self, pattern: str) -> None:
        found = _FLAGS.match(pattern)
        self.flags = re.compile(found[0]).flags if found else re.UNICODE
        self._pattern = pattern
        self._at = found.end() if found else 0
        self._tests: dict[str, int] = {}

    def read(self) -> tuple[_Choice, list[re.Pattern[str]]]:
        """Return the expression, and what tests each kind of character in it."""
        choice = self._choice(0)
        flags = self.flags & (re.IGNORECASE | re.DOTALL | re.ASCII)
        return choice, [re.compile(source, flags) for source in self._tests]

    def _choice(self, depth: int) -> _Choice:
        if depth > _DEEPEST:
            raise _Refused(f"groups over {_DEEPEST} levels deep")
        branches: list[tuple[_Node, ...]] = []
        nodes: list[_Node] = []
        while self._at < len(self._pattern) and self._pattern[self._at] != ")":
            if self._pattern[self._at] == "|":
                self._at += 1
                branches.append(tuple(nodes))
                nodes = []
            else:
                nodes.append(self._repeated(self._node(depth)))
        return _Choice((*branches, tuple(nodes)))

    def _node(self, depth: int) -> _Node:
        at, pattern = self._at, self._pattern
        if pattern[at] != "(":
            return self._single()
        for beginning, name in _REFUSED:
            if pattern.startswith(beginning, at):
                raise _Refused(name)
        found = _GROUP.match(pattern, at)
        if found is None:
            raise _Refused(f"the group {pattern[at : at + 4]}…")
        self._at = found.end()
        node = self._choice(depth + 1)
        self._at += 1
        return node

    def _single(self) -> _Node:
        source = self._source()
        self._at += len(source)
        if source in _ANCHORS:
            return _Anchor(_ANCHORS.index(source))
        if source[0] == "\\" and source[1] in "123456789":
            raise _Refused("a back-reference")
        # What quantifies elsewhere, such as a brace, stands for itself here.
        is_literal = len(source) == 1 and source != "."
        exact = re.escape(source) if is_literal else source
        return _Char(self._tests.setdefault(exact, len(self._tests)))

    def _source(self) -> str:
        """Return what stands for one character, or for an anchor."""
        at, pattern = self._at, self._pattern
        if found := _ESCAPED.match(pattern, at):
            return found[0]
        if pattern[at] != "[":
            return pattern[at]
        end = at + 2 if pattern[at + 1] == "^" else at + 1
        end += pattern[end] == "]"
        while pattern[end] != "]":
            end += 2 if pattern[end] == "\\" else 1
        return pattern[at : end + 1]

    def _repeated(self, node: _Node) -> _Node:
        found = _QUANTIFIER.match(self._pattern, self._at)
        if found is None:
            return node
        self._at = found.end()
        # What a search finds first doesn't matter, only whether: lazy ones are as others.
        follows = self._pattern[self._at : self._at + 1]
        if follows == "+":
            raise _Refused("a possessive quantifier")
        self._at += follows == "?"
        fewest, most = _bounds(found)
        if most is None and _is_unbounded(node):
            raise _Refused("an unbounded repetition within another one")
        return _Repeat(node, fewest, most)


def _bounds(found: re.Match[str]) -> tuple[int, int | None]:
    match found[1]:
        case "*":
            return 0, None
        case "+":
            return 1, None
        case "?":
            return 0, 1
        case _:
            fewest = int(found[2] or 0)
            if not found[3]:
                return fewest, fewest
            return fewest, int(found[4]) if found[4] else None


def _is_unbounded(node: _Node) -> bool:
    match node:
        case _Repeat(part, _, most):
            return most is None or _is_unbounded(part)
        case _Choice(branches):
            return any(_is_unbounded(part) for branch in branches for part in branch)
        case _:
            return False


def _size(node: _Node) -> int:
    """Return how many states a part becomes, without making them."""
    match node:
        case _Repeat(part, fewest, most):
            return (_size(part) + 1) * max(fewest + (most is None), most or 0) + 1
        case _Choice(branches):
            return sum(1 + sum(map(_size, branch)) for branch in branches)
        case _:
            return 1


class _State(NamedTuple):
    """A state: what it waits for, and the states behind it.

    Attributes:
        wanted: The number of a test or of an anchor; -1 where it waits for nothing.
        is_char: Whether that is a character's test.
        behind: The states that follow.
    """

    wanted: int
    is_char: bool
    behind: tuple[int, ...]


_FOUND = frozenset({-1})
_END = -1


class _Automaton:
    """An expression as states, all of which that a text may have led to are followed at once."""

    def __init__(self, pattern: str) -> None:
        reader = _Reader(pattern)
        choice, self._tests = reader.read()
        if _size(choice) > _MOST_STATES:
            raise _Refused(f"repetitions that come to over {_MOST_STATES:,} characters")
        self._word = re.compile(r"\w", reader.flags & re.ASCII)
        self._is_multiline = bool(reader.flags & re.MULTILINE)
        self._states: list[_State] = []
        self._first = self._add(choice, _END)
        self._has_anchors = any(s.wanted >= 0 and not s.is_char for s in self._states)
        self._kinds: dict[str, int] = {"": 0}
        self._kept: dict[tuple[frozenset[int], int, int], frozenset[int]] = {}
        self._kept_size = 0

    def _add(self, node: _Node, behind: int) -> int:
        """Add the states of a part; return its first one."""
        match node:
            case _Char(test):
                return self._state(test, True, behind)
            case _Anchor(kind):
                return self._state(kind, False, behind)
            case _Choice(branches):
                firsts = [self._sequence(branch, behind) for branch in branches]
                return firsts[0] if len(firsts) == 1 else self._state(-1, False, *firsts)
            case _Repeat(part, fewest, most):
                first = behind
                if most is None:
                    first = self._state(-1, False)
                    body = self._add(part, first)
                    self._states[first] = _State(-1, False, (body, behind))
                for _ in range((most or fewest) - fewest):
                    first = self._state(-1, False, self._add(part, first), behind)
                for _ in range(fewest):
                    first = self._add(part, first)
                return first

    def _sequence(self, nodes: tuple[_Node, ...], behind: int) -> int:
        for node in reversed(nodes):
            behind = self._add(node, behind)
        return behind

    def _state(self, wanted: int, is_char: bool, *behind: int) -> int:
        self._states.append(_State(wanted, is_char, behind))
        return len(self._states) - 1

    def is_in(self, text: str) -> bool:
        """Say whether a part of a text fits."""
        current = frozenset({self._first})
        for at in range(len(text) + 1):
            char = text[at : at + 1]
            kind = self._kinds.get(char)
            if kind is None:
                kind = self._kind(char)
            key = current, self._anchors_at(text, at) if self._has_anchors else 0, kind
            following = self._kept.get(key)
            if following is None:
                following = self._keep(key, self._following(*key))
            if following is _FOUND:
                return True
            current = following
        return False

    def _kind(self, char: str) -> int:
        """Return which tests a character passes, as bits."""
        if len(self._kinds) > _MOST_KEPT:
            self._kinds = {"": 0}
        bits = sum(1 << n for n, test in enumerate(self._tests) if test.fullmatch(char))
        self._kinds[char] = bits
        return bits

    def _keep(
        self, key: tuple[frozenset[int], int, int], following: frozenset[int]
    ) -> frozenset[int]:
        if self._kept_size > _MOST_KEPT:
            self._kept, self._kept_size = {}, 0
        self._kept_size += len(key[0]) + len(following)
        self._kept[key] = following
        return following

    def _anchors_at(self, text: str, at: int) -> int:
        """Return which anchors hold at a place, as bits in the order of `_ANCHORS`."""
        before, char = text[at - 1 : at] if at else "", text[at : at + 1]
        is_last = at == len(text) or (at == len(text) - 1 and char == "\n")
        is_edge = bool(self._word.match(before)) != bool(self._word.match(char))
        holding = (
            at == 0 or (self._is_multiline and before == "\n"),
            is_last or (self._is_multiline and char == "\n"),
            at == 0,
            at == len(text),
            is_edge,
            not is_edge,
        )
        return sum(holds << n for n, holds in enumerate(holding))

    def _following(self, current: frozenset[int], anchors: int, kind: int) -> frozenset[int]:
        """Return the states behind a character, each of `current` followed as far as it goes."""
        following = {self._first}
        pending, seen = [*current], set(current)
        while pending:
            number = pending.pop()
            if number == _END:
                return _FOUND
            wanted, is_char, behind = self._states[number]
            if is_char:
                if kind >> wanted & 1:
                    following.update(behind)
            elif wanted < 0 or anchors >> wanted & 1:
                pending += [each for each in behind if each not in seen]
                seen.update(behind)
        return frozenset(following)


@lru_cache(maxsize=16)
def _automaton(pattern: str) -> _Automaton:
    """Make an automaton.

    Raises:
        ValueError: It isn't a regular expression, or not one that is searched for; says why.
    """
    if len(pattern) > LONGEST_PATTERN:
        raise ValueError(f"the regular expression has over {LONGEST_PATTERN} characters")
    try:
        with warnings.catch_warnings():
            # What later versions of Python read otherwise, such as a set within a set.
            warnings.simplefilter("error")
            re.compile(pattern)
        return _Automaton(pattern)
    except (re.error, OverflowError, RecursionError, Warning) as error:
        raise ValueError(f"it is not a regular expression: {error}") from None
    except _Refused as error:
        raise ValueError(f"the regular expression has {error}, which is not searched for") from None


def pattern_problem(pattern: str) -> str:
    """Say why an expression isn't searched for; "" if it is."""
    try:
        _automaton(pattern)
    except ValueError as error:
        return str(error)
    return ""


def is_found(pattern: str, text: str) -> bool:
    """Say whether an expression is found in the first 10,000 characters of a text.

    Args:
        pattern: An expression that `pattern_problem` finds nothing wrong with.
        text: Any text.

    Raises:
        ValueError: There is something wrong with the expression.
    """
    return _automaton(pattern).is_in(text[:LONGEST_SEARCHED])
