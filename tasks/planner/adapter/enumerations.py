"""What an objective lists: bullets, clauses between semicolons, enumerations. Read as text. Pure.

`lists` finds every list, to see how a plan covers what is in it. `listed_items` guesses at the one
that the objective is about, for how much room an untrained planner gets.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .vocabulary import TASK, content, words

__all__ = ["Listing", "listed_items", "lists", "sentences"]

_BULLET = re.compile(r"(?:^|(?<=\s))(?:[-*•]|\(?\d{1,2}[.)])\s++")
_LINES = re.compile(r"(?:^|(?<=\n))[ \t]*+[-*•]\s++|(?:^|(?<=\s))\(?\d{1,2}[.)]\s++")
_SENTENCE = re.compile(r"\n+|(?<=[.?!])\s+")
_PART = re.compile(r"[:()–—]|\s-\s|->|→")
# Blanks begin where there was none before: each run of them is looked at once.
_BLANKS = r"(?<!\s)\s++"
_BETWEEN = re.compile(
    rf"(,\s*+(?:and|or|&)\s++|{_BLANKS}(?:and|or|&|vs\.?|versus)\s++|,\s++|(?:{_BLANKS})?/\s*+)",
    re.IGNORECASE,
)
_CHAIN = re.compile(
    rf";|(?:,\s++|{_BLANKS})(?:and\s++)?(?:then|afterwards|finally)\b,?", re.IGNORECASE
)
_COMMA = re.compile(
    rf",\s*+(?:and\s++|or\s++)?|{_BLANKS}(?:and|or|versus|vs\.?)\s++", re.IGNORECASE
)
_TAIL = re.compile(rf"{_BLANKS}(?:for|as|in|to|by|from|with|on|at|of)\s.*+", re.IGNORECASE)


@dataclass(frozen=True)
class Listing:
    """A list in an objective.

    Attributes:
        items: Of each thing, the words that no other of them has; at least two things.
        marked: Whether bullets, numbers or semicolons set them apart.
    """

    items: tuple[frozenset[str], ...]
    marked: bool

    @property
    def sure(self) -> bool:
        """Whether it is surely a list: two words around an `and` often are none."""
        return self.marked or len(self.items) > 2


def lists(objective: str) -> list[Listing]:
    """Return every list of an objective; one may stand inside another's thing."""
    before, *bulleted = _LINES.split(objective)
    found: list[Listing] = []
    texts = [objective]
    if len(bulleted) > 1:
        things = [text.partition("\n")[0] for text in bulleted]
        found += _listing(map(words, things), marked=True)
        texts = [before, *bulleted]
    for sentence in (sentence for text in texts for sentence in sentences(text)):
        clauses = sentence.split(";")
        if len(clauses) > 2:
            first = clauses[0].rpartition(":")[2]
            found += _listing(map(words, [first, *clauses[1:]]), marked=True)
        for clause in clauses:
            for part in _PART.split(clause):
                found += _enumerations(part)
    return found


def sentences(text: str) -> list[str]:
    """Return a text's sentences and lines."""
    return [sentence.strip() for sentence in _SENTENCE.split(text) if sentence.strip()]


def _enumerations(text: str) -> Iterable[Listing]:
    """Find `A, B and C`. `and` ends a list; what follows may begin another."""
    pieces = _BETWEEN.split(text)
    things, separators = [content(piece) for piece in pieces[::2]], pieces[1::2]
    first = 0
    slashes = max((at for at, each in enumerate(separators) if "/" in each), default=-1)
    for last, separator in enumerate(separators, 1):
        slash = separator.strip() == "/"
        going_on = separator.strip() == "," or (slash and slashes >= last)
        if going_on and last < len(separators):
            continue
        if last - first > 1 or not going_on:
            yield from _enumeration(things[first : last + 1])
        first = last


def _enumeration(things: Sequence[list[str]]) -> Iterable[Listing]:
    # Of the outer things one word each: what else stands there may not belong to them.
    outer = [things[0][-1:], *things[1:-1], things[-1][:1]]
    # What begins with a word for work is another thing to do, not one more thing to do it to.
    nouns = [thing for thing in outer if thing and thing[0] not in TASK]
    return _listing(map(frozenset, nouns), marked=False)


def _listing(things: Iterable[frozenset[str]], *, marked: bool) -> Iterable[Listing]:
    items = list(things)
    counts = Counter(word for item in items for word in item)
    own = [frozenset(word for word in item if counts[word] == 1) for item in items]
    named = tuple(item for item in own if item)
    if len(named) > 1:
        yield Listing(named, marked)


def listed_items(objective: str) -> tuple[str, ...]:
    """Return the things an objective lists: bulleted, in turn, in commas, or in sentences.

    Empty if it lists fewer than two. "Compare tea, coffee and water" lists three.
    """
    parts = _kept(re.split(r"\n+|[.?!]\s+", objective))
    bulleted = _kept(_BULLET.split(objective)[1:])
    commas = max((_commas(sentence) for sentence in parts), key=len, default=())
    ways = (bulleted, _kept(_CHAIN.split(objective)), commas, parts)
    return next((way for way in ways if len(way) > 1), ())


def _commas(sentence: str) -> tuple[str, ...]:
    parts = list(_kept(_COMMA.split(sentence.rpartition(":")[2])))
    if len(parts) > 1:
        parts[-1] = _TAIL.sub("", parts[-1])
        # "Compare solar panels, wind turbines": what stands before the first thing is longer.
        longest = max(len(part.split()) for part in parts[1:])
        parts[0] = " ".join(parts[0].split()[-longest:])
    return _kept(parts)


def _kept(parts: Sequence[str]) -> tuple[str, ...]:
    return tuple(part.strip() for part in parts if words(part))
