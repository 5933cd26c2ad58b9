"""The score of a plan for its objective, and the choice among several. Counts words. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...plan.task_ir import Step, TaskIR
from .plan_coverage import (
    TASK,
    Listing,
    Reading,
    every_token,
    is_request,
    list_coverage,
    lists,
    sentences,
    tokens,
    words,
)

__all__ = [
    "AGREED",
    "Choice",
    "Graph",
    "PlanCandidate",
    "PlanScore",
    "best_index",
    "describe_selection",
    "graph",
    "same_prompts",
    "score",
    "select_plan",
    "words",
]


# Words of the plan itself, in addition to those for work.
_SAYABLE = TASK | words("after against among between best case claim given most together within")
# How an objective puts things: it loses nothing where a step leaves them out.
_PUT = words(
    """after afterwards another anything apiece asap asked before begin come else end everything
    finally finish first follow got gone happen kind last look mind must needed next nobody nothing
    other same second separate separately single somebody someone something start step still task
    thing think today together unrelated urgent wait well yet"""
)
_AGAINST = {"against", "anti", "con", "cons", "contra", "defence", "defense", "not", "opposite"}
_SEASONS = {"spring", "summer", "autumn", "fall", "winter"}
_SAME = 0.8  # of all words in two prompts, shared: one asks what the other asks
_VERB = (
    "advise|analyse|build|calculate|check|choose|collect|combine|compare|decide|describe|design"
    "|draft|draw|estimate|find|fix|implement|list|merge|outline|pick|plan|prepare|rank|recommend"
    "|rewrite|sketch|suggest|sum|summari[sz]e|tell|test|translate|turn|write"
)
_MANY = re.compile(
    r"\b(?:afterwards|before|both|choose|combine|compare|decide|each|every|first|join|merge|once|pick"
    r"|rank|second|separate(?:ly)?|then|these|versus|vs|weigh)\b|\bpros and cons\b"
    rf"|(?:[,;&]|\band)\s+(?:also\s+)?(?:{_VERB})\b",
    re.IGNORECASE,
)
_CHOICE = re.compile(r"\bor\b|\bwhich\b", re.IGNORECASE)
_ASPECTS = re.compile(
    r"\b(?:assess|audit|check|critique|evaluate|examine|inspect|proofread|review"
    r"|go (?:over|through)|look (?:at|over))\b.{0,200}\b(?:for|by|as to|in terms of|regarding)\b",
    re.IGNORECASE | re.DOTALL,
)
_ONE = re.compile(r"\bone (?:answer|list|page|report|review|text)\b", re.IGNORECASE)
_JOIN = r"combin\w+|compar\w+|conclu\w+|decide|merge|overall|rank|together|verdict|versus|vs|weigh"
_JOINS = re.compile(
    rf"\b(?:{_JOIN}|sum\b.{{0,60}}\bup|(?:from|of|them) all|(?:into|make|then) one"
    r"|a single|choose|judg\w+"
    r"|one table|ranking|side by side|total|winner)\b",
    re.IGNORECASE,
)
_LINKS = re.compile(
    rf"\b(?:{_JOIN}|sum\b.{{0,60}}\bup|afterwards|before|best|choose|finally|first|next|once|results"
    r"|from (?:it|them|that|these|those)|summary|table|then|total|which)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class PlanScore:
    """A plan's terms, each in 0..1.

    Attributes:
        covered: Share of the objective's words that some step says. A sentence that asks nothing
            and that no step takes up is background, and not counted.
        separate: Share of the things the objective lists that the plan covers alike: each in
            exactly one step that doesn't join others, or all of them in the same ones.
        repeated: Share of the steps that ask what an earlier one asks, or repeat their own words.
        stray: Share of the steps that share no word with the objective.
        invented: Share of the plan's words that neither the objective has nor work in general.
        idle: Share of the needs between steps that do the same to different listed things, where
            the later one doesn't name the earlier one's.
        lumped: One step although the objective asks for several things.
        unlinked: No step needs another although the objective compares, joins or says "then"; or
            none joins what it compares.
        reasons: What is wrong, one clause each.
    """

    covered: float
    separate: float
    repeated: float
    stray: float
    invented: float
    idle: float
    lumped: bool
    unlinked: bool
    reasons: tuple[str, ...] = ()

    @property
    def value(self) -> float:
        """The score, 0 (useless) to 1."""
        good = (0.4 + 0.6 * self.covered) * (0.3 + 0.7 * self.separate)
        good *= (1 - self.repeated) * (1 - self.stray) * (1 - self.invented)
        good *= 1 - 0.5 * self.idle
        return good * (0.5 if self.lumped else 1.0) * (0.6 if self.unlinked else 1.0)


def score(plan: TaskIR, objective: str) -> PlanScore:
    """Score a plan for an objective."""
    reading = Reading(plan)
    asked = words(objective)
    covered = _covered(objective, reading.plan_words)
    found = lists(objective)
    coverages = [list_coverage(listing, reading) for listing in found]
    sure = [each for listing, each in zip(found, coverages, strict=True) if listing.sure]
    things, apart = sum(each.things for each in sure), sum(each.apart for each in sure)
    repeats = _repeats(plan.steps, reading.before, tokens(objective))
    strays = [
        name
        for name, prompt_words in reading.prompt_words.items()
        if asked and not prompt_words & asked
    ]
    invented = {word for word in reading.plan_words - asked - _SAYABLE if not word.isdigit()}
    needs = sum(len(step.depends_on) for step in plan.steps)
    idle = sorted({edge for each in coverages for edge in each.idle})
    lumped = len(plan.steps) == 1 and _many(objective, found)
    unlinked = _unlinked(plan.steps, objective)
    reasons = [
        *(f"{name} repeats" for name in repeats),
        *(f"{name} strays" for name in strays),
        *(f"{name} needs {need} for nothing" for name, need in idle),
        *([f"{apart} of {things} listed things have a step of their own"] * (apart < things)),
        *(["one step does several things"] * lumped),
        *([unlinked] if unlinked else []),
    ]
    return PlanScore(
        covered=covered,
        separate=_share(apart, things, 1.0),
        repeated=_share(len(repeats), len(plan.steps)),
        stray=_share(len(strays), len(plan.steps)),
        invented=_share(len(invented), len(reading.plan_words)),
        idle=_share(len(idle), needs),
        lumped=lumped,
        unlinked=bool(unlinked),
        reasons=tuple(reasons),
    )


def _covered(objective: str, plan_words: frozenset[str]) -> float:
    parts = [(part, words(part)) for part in sentences(objective)]
    wanted = frozenset[str]().union(
        *(its for part, its in parts if is_request(part) or its & plan_words)
    )
    wanted = wanted - (_PUT - plan_words) or words(objective)
    return _share(len(wanted & plan_words), len(wanted), 1.0)


def _many(objective: str, found: Sequence[Listing]) -> bool:
    if any(listing.marked for listing in found) or _MANY.search(objective):
        return True
    several = _CHOICE.search(objective) or (
        _ASPECTS.search(objective) and not _ONE.search(objective)
    )
    return any(listing.sure for listing in found) and bool(several)


def _unlinked(steps: Sequence[Step], objective: str) -> str:
    most = max(len(step.depends_on) for step in steps)
    if len(steps) > 1 and not most and _LINKS.search(objective):
        return "no step needs another"
    starts = sum(not step.depends_on for step in steps)
    if starts > 1 and most == 1 and _JOINS.search(objective):
        return "no step joins the others"
    return ""


def _repeats(
    steps: Sequence[Step], before: Mapping[str, frozenset[str]], asked: frozenset[str]
) -> list[str]:
    counts: dict[str, Counter[str]] = {}
    found: list[str] = []
    for step in steps:
        mine = Counter(every_token(step.prompt))
        # A step that works on another's outcome may say all that the other does.
        others = (words for name, words in counts.items() if name not in before[step.id])
        twice = any(_same(mine, other, asked) for other in others) or mine in counts.values()
        if twice or _stutters(step.prompt):
            found.append(step.id)
        counts[step.id] = mine
    return found


def same_prompts(first: str, second: str, asked: frozenset[str]) -> bool:
    """Say whether two prompts ask for the same: they share most words, and differ in no name.

    Args:
        asked: The objective's words in lower case. Prompts that differ in one of them ask for the
            same of two things.
    """
    return _same(Counter(every_token(first)), Counter(every_token(second)), asked)


def _same(mine: Counter[str], other: Counter[str], asked: frozenset[str]) -> bool:
    names = {word.casefold() for word in mine | other if not word.islower()}
    mine, other = _low(mine), _low(other)
    own, its = mine - other, other - mine
    # Parallel steps differ in what the objective lists, a number or a name: no repeats.
    telling = asked | names | _SEASONS
    parallel = _tells(own, telling) and _tells(its, telling)
    # Nor are the two sides of a question.
    sides = not _AGAINST.isdisjoint(own) or not _AGAINST.isdisjoint(its)
    return not parallel and not sides and (mine & other).total() >= _SAME * (mine | other).total()


def _low(counts: Counter[str]) -> Counter[str]:
    low: Counter[str] = Counter()
    for word, times in counts.items():
        low[word.casefold()] += times
    return low


def _tells(counts: Counter[str], telling: frozenset[str]) -> bool:
    return any(word.isdigit() or word in telling for word in counts)


def _stutters(prompt: str) -> bool:
    prompt_words = prompt.casefold().split()
    return len(prompt_words) > 8 and len(set(prompt_words)) * 2 < len(prompt_words)


def _share(part: int, whole: int, empty: float = 0.0) -> float:
    return part / whole if whole else empty


Graph = tuple[tuple[str, ...], ...]
"""What each step of a plan needs, in the order of steps."""

AGREED = 0.5
"""What it adds to a plan's score, with an adapter, if all plans have its graph.

By measurement: `benches/planning/choice.py`.
"""


@dataclass(frozen=True)
class PlanCandidate:
    """One plan that was written.

    Attributes:
        text: What the model wrote, cut to 2,000 characters.
        plan: The plan, or None where it could not be read.
        score: The plan's score.
        repairs: What was changed in the plan after it was read, a clause each.
        error: Why it could not be read.
    """

    text: str
    plan: TaskIR | None = None
    score: PlanScore | None = None
    repairs: tuple[str, ...] = ()
    error: str = ""


@dataclass(frozen=True)
class Choice:
    """The plan that is taken.

    Attributes:
        repairs: What was changed in the plan after the model wrote it, a clause each.
        alike: How many of those written have its graph, itself included.
    """

    plan: TaskIR
    score: PlanScore
    repairs: tuple[str, ...]
    alike: int


def select_plan(candidates: Sequence[PlanCandidate], agreed: float = 0.0) -> Choice | None:
    """Return the plan with the most of score + `agreed` · share of plans that have its graph.

    A model that writes the same graph again and again, less greedily each time, is mostly right
    about it: self-consistency (Wang et al., 2023, arXiv:2203.11171).

    Returns:
        The choice; None where no plan can be read.
    """
    found = [
        (candidate.plan, candidate.score, candidate.repairs)
        for candidate in candidates
        if candidate.plan is not None and candidate.score is not None
    ]
    if not found:
        return None
    graphs = [graph(plan) for plan, _, _ in found]
    scores = [score.value for _, score, _ in found]
    place = best_index(scores, graphs, agreed / len(candidates))
    return Choice(*found[place], graphs.count(graphs[place]))


def best_index(scores: Sequence[float], graphs: Sequence[Graph], vote: float) -> int:
    """Return the place of the most of score + `vote` for each plan of the same graph.

    Of plans that have as much, the one with the fewest steps is taken, then the one written first.
    """
    alike = Counter(graphs)

    def worth(place: int) -> tuple[float, int]:
        return scores[place] + vote * alike[graphs[place]], -len(graphs[place])

    return max(range(len(graphs)), key=worth)


def describe_selection(candidates: Sequence[PlanCandidate], alike: int) -> str:
    """Say in a line what a plan was chosen from; `alike` is the choice's."""
    if len(candidates) == 1:
        return "first plan"
    scores = (f"{each.score.value:.2f}" if each.score else "unreadable" for each in candidates)
    return f"best of {', '.join(scores)}; {alike} of {len(candidates)} have its graph"


def graph(plan: TaskIR) -> Graph:
    """Return what each step needs, in the order of steps, without a word of what they say."""
    return tuple(step.depends_on for step in plan.steps)
