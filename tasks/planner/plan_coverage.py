"""Coverage of an objective's lists by a plan's steps. Counts words. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from ...plan.task_ir import Step, TaskIR

__all__ = [
    "TASK",
    "ListCoverage",
    "Listing",
    "Reading",
    "all_needs",
    "content",
    "every_token",
    "is_request",
    "list_coverage",
    "lists",
    "sentences",
    "tokens",
    "words",
]


_TOKEN = re.compile(r"\w+(?:[._'-]\w+)*")
_SMALL = frozenset(
    """a about all also am an and any are as at be been both but by can cheers could d did do does
    don done each every for from get give go had has have hello here hi how i if in into is it its
    just know let like ll m make may me more my need no not now of off on once one or our out over
    per please pls re s say should so some t than thank thanks that the their them then there these
    they this those thx to too u up us use ve want wanted was way we were what when where which who
    whose why will with would you your""".split()  # noqa: SIM905 (a list of one word a line)
)
_WORK = """add adapt advise analyse analyze answer argue argument assess award build calculate
    carry change check choose chosen collect combine compare compile conclude consider cook correct
    count cover covering create decide decision define describe design determine develop difference
    discuss divide draft draw edit error estimate evaluate examine explain explore export extract
    fact fill find finding fix found function gather identify illustrate implement improve inspect
    introduce invent investigate join joined judge judgement keep list look made measure merge
    merged name note opinion outline overall part pick plan port prepare present print produce
    propose put question rank rate rating read recommend refactor report research result review
    rewrite rework say saying score search select send sentence show sketch solve sort state
    statement study suggest sum summarise summarize table tabulate take tell test text think total
    translate true try turn verify version view weigh whether work write written""".split()  # noqa: SIM905
_REQUEST = re.compile(
    r"\?|\b(?:at most|can|could|has|have to|looking|may|must|need|no|not|only|please|pls|required"
    r"|should|want|wanted|without|would)\b",
    re.IGNORECASE,
)


def every_token(text: str) -> list[str]:
    """Return a text's words as they stand, in order; the first, whose capital says nothing, low."""
    found = _TOKEN.findall(text)
    return [word if n else word.casefold() for n, word in enumerate(found)]


def tokens(text: str) -> frozenset[str]:
    """Return a text's words as they stand, in lower case."""
    return frozenset(_TOKEN.findall(text.casefold()))


def content(text: str) -> list[str]:
    """Return a text's words in order, without the small ones, cut to a common beginning.

    `Comparing` and `compared` are the same word; a name such as `parse_date.py` stays whole.
    """
    found = _TOKEN.findall(text.casefold().replace("’", "'"))
    bare = (word.removesuffix("'s") for word in found)
    return [_cut(word) for word in bare if word.partition("'")[0] not in _SMALL]


def words(text: str) -> frozenset[str]:
    """Return what a text is about."""
    return frozenset(content(text))


def is_request(sentence: str) -> bool:
    """Say whether a sentence asks for something or says how it has to be."""
    return _REQUEST.search(sentence) is not None or not TASK.isdisjoint(content(sentence))


def _cut(word: str) -> str:
    if not word.isalpha():
        return word
    return (word[:-1] if word.endswith("s") and len(word) > 3 else word)[:6]


TASK = frozenset(map(_cut, _WORK))
"""Words for work and what comes of it: a plan says them though its objective doesn't."""


_LINES = re.compile(r"(?:^|(?<=\n))[ \t]*+[-*•]\s++|(?:^|(?<=\s))\(?\d{1,2}[.)]\s++")
_SENTENCE = re.compile(r"\n+|(?<=[.?!])\s+")
_PART = re.compile(r"[:()–—]|\s-\s|->|→")
# Blanks begin where there was none before: each run of them is looked at once.
_BLANKS = r"(?<!\s)\s++"
_BETWEEN = re.compile(
    rf"(,\s*+(?:and|or|&)\s++|{_BLANKS}(?:and|or|&|vs\.?|versus)\s++|,\s++|(?:{_BLANKS})?/\s*+)",
    re.IGNORECASE,
)


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


def all_needs(steps: Iterable[Step]) -> dict[str, frozenset[str]]:
    """Return what each step needs, directly or not.

    Args:
        steps: In their order: a step's needs come before it.
    """
    found: dict[str, frozenset[str]] = {}
    for step in steps:
        found[step.id] = frozenset(step.depends_on).union(
            *(found[need] for need in step.depends_on)
        )
    return found


class Reading:
    """What a plan's steps say, and which steps come before each, directly or not."""

    def __init__(self, plan: TaskIR) -> None:
        self.steps = plan.steps
        self.prompt_words = {step.id: words(step.prompt) for step in plan.steps}
        self.plan_words = frozenset[str]().union(*self.prompt_words.values())
        self.before = all_needs(plan.steps)


@dataclass(frozen=True)
class ListCoverage:
    """How a plan covers a list.

    Attributes:
        things: The things that not all steps speak of; 0 where all of them are in one step.
        apart: Those that have steps of their own, as many as the others.
        idle: Needs, as (step, needed), between steps that do the same to different things, where
            the one doesn't name the other's thing.
    """

    things: int = 0
    apart: int = 0
    idle: tuple[tuple[str, str], ...] = ()


def list_coverage(listing: Listing, reading: Reading) -> ListCoverage:
    """Return how a plan covers a list."""
    says = {
        name: {
            n
            for n, thing in enumerate(listing.items)
            if 2 * len(thing & prompt_words) >= len(thing)
        }
        for name, prompt_words in reading.prompt_words.items()
    }
    # A thing belongs to the steps that say it first: what builds on them may say it again.
    owners = [
        frozenset(name for name in saying if not reading.before[name] & saying)
        for n in range(len(listing.items))
        for saying in [frozenset(name for name, things in says.items() if n in things)]
    ]
    every = frozenset[str]().union(*owners)
    # A thing in all the steps is the subject of the plan, not one thing among others.
    things = {n for n, owner in enumerate(owners) if owner != every}
    if len(every) < 2 or len(things) < 2:
        return ListCoverage()
    alone = [n for n in things if _alone(n, owners, says, things, reading.before)]
    counts = Counter(len(owners[n]) for n in alone)
    usual = counts.most_common(1)[0][0] if counts else 0
    apart = [n for n in alone if len(owners[n]) == usual]
    idle = tuple(_idle(apart, owners, says, reading.steps)) if len(apart) > 1 else ()
    return ListCoverage(len(things), len(apart), idle)


def _alone(
    thing: int,
    owners: Sequence[frozenset[str]],
    says: Mapping[str, set[int]],
    things: AbstractSet[int],
    before: Mapping[str, frozenset[str]],
) -> bool:
    """Say whether a thing's steps are about it alone, or work on one earlier thing's outcome."""
    for owner in owners[thing]:
        others = (says[owner] & things) - {thing}
        if len(others) > 1 or not all(owners[other] & before[owner] for other in others):
            return False
    return bool(owners[thing])


def _idle(
    apart: Sequence[int],
    owners: Sequence[frozenset[str]],
    says: Mapping[str, set[int]],
    steps: Sequence[Step],
) -> Iterable[tuple[str, str]]:
    """Find needs between steps that do the same to a thing each and have no word in common."""
    owned = {name: {n for n in apart if name in owners[n]} for name in says}
    verbs = {step.id: step.prompt.split()[0].casefold() for step in steps}
    for step in steps:
        for need in step.depends_on:
            is_parallel = owned[step.id] and owned[need] and verbs[step.id] == verbs[need]
            if is_parallel and not says[step.id] & owned[need]:
                yield step.id, need
