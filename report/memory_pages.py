"""The pages about what is remembered: a lesson, and a persona with its record. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from itertools import groupby, pairwise

from ..memory.episode import Episode, EpisodeKey, LogEntry
from ..memory.erasure import short_run
from ..memory.learning.beliefs import Beliefs, Tally
from ..memory.learning.choice import RankedMemory
from ..memory.learning.evidence import Posterior
from ..memory.learning.lesson import INTRODUCTION, lesson
from ..memory.personas.registry import Change, DecisionEvidence, KnownPersona
from ..text import one_line, plural
from .page import Block, Bullets, Figure, Figures, Page, Paragraph, Quoted, Section, Table

__all__ = [
    "MOST_PERIODS",
    "Expectation",
    "LessonView",
    "Period",
    "PersonaRecord",
    "Tried",
    "change_words",
    "lesson_page",
    "lesson_view",
    "periods",
    "persona_page",
    "record_of",
]


_MOST_ROWS = 50


@dataclass(frozen=True, slots=True)
class LessonView:
    """A lesson and its evidence.

    Attributes:
        entry: The attempt that it is made of.
        q: What it is worth where it was shown: the reward that is expected, -1 to 1.
        shown: The attempts that it was shown to or chose for, oldest first.
        alike: Other attempts that were asked the same, oldest first.
    """

    entry: LogEntry
    q: float
    shown: tuple[Episode, ...]
    alike: tuple[Episode, ...]

    @property
    def text(self) -> str:
        """What a model reads that is asked the same."""
        return lesson(RankedMemory(self.entry, 1.0, self.q, 0.0)).text


def lesson_view(entry: LogEntry, entries: Sequence[LogEntry], q: float) -> LessonView:
    """Find a lesson's evidence.

    Args:
        entry: The attempt that it is made of.
        entries: The whole log of its namespace, in its order.
        q: What it is worth.
    """
    own = entry.episode
    return LessonView(
        entry,
        q,
        tuple(other for _, other in entries if own.key in other.used),
        tuple(other for _, other in entries if other.prompt == own.prompt and other.key != own.key),
    )


def lesson_page(view: LessonView, zone: tzinfo | None = None) -> Page:
    """Write the page about a lesson.

    Args:
        view: The lesson and its evidence.
        zone: Whose times are shown; the machine's if None.
    """
    episode = view.entry.episode
    lead: list[Block] = [
        Paragraph(("What a model reads of it whose step asks the same:",)),
        Quoted(f"{INTRODUCTION}\n- {view.text}"),
        Figures(_figures(view)),
    ]
    sections = [Section("Made of this attempt", _source(episode, zone))]
    if view.shown:
        sections.append(Section("Shown to, or chosen by", [_table(view.shown, zone)]))
    if view.alike:
        sections.append(
            Section("Other attempts that were asked the same", [_table(view.alike, zone)])
        )
    name = _name(episode.key)
    return Page(f"lesson-{name.replace('/', '-')}", f"The lesson of {name}", lead, sections)


def _figures(view: LessonView) -> tuple[Figure, ...]:
    good = sum(episode.succeeded for episode in view.shown)
    alike = sum(episode.succeeded for episode in view.alike)
    used = f"{good:,} of {plural(len(view.shown), 'attempt')}" if view.shown else "never used"
    same = f"{alike:,} of {plural(len(view.alike), 'attempt')}" if view.alike else "none"
    worth = "reward that is expected of an attempt that it is shown to"
    return (
        Figure("Worth", f"{view.q:+.2f}", worth if view.shown else "what every lesson begins with"),
        Figure("Succeeded with it", used, "attempts that it was shown to, or that it chose for"),
        Figure("Succeeded at the same", same, "other attempts with the same prompt"),
    )


def _source(episode: Episode, zone: tzinfo | None) -> list[Block]:
    gates = ", ".join(f"{gate.gate} {gate.category or gate.status}" for gate in episode.gates)
    lines = [
        f"{_name(episode.key)}, ended {_when(episode.ended_at, zone)}: {_outcome(episode)}",
        f"By {episode.persona} on tier {episode.tier}, {one_line(episode.model, 60)}",
        f"Asked: {one_line(episode.prompt, 400)}",
        f"Gates: {gates}" if gates else "",
        f"Error: {one_line(episode.error, 400)}" if episode.error else "",
        f"Reward: {episode.reward:+.2f}",
    ]
    bullets = Bullets(tuple((line,) for line in lines if line))
    return [bullets, *([Quoted(episode.excerpt)] if episode.excerpt else [])]


def _table(episodes: Sequence[Episode], zone: tzinfo | None) -> Table:
    rows = tuple(
        (
            _name(episode.key),
            _outcome(episode),
            _when(episode.ended_at, zone),
            f"{episode.reward:+.2f}",
            episode.persona,
            episode.tier,
            one_line(episode.prompt, 200),
        )
        for episode in episodes[-_MOST_ROWS:]
    )
    header = ("Attempt", "Outcome", "Ended", "Reward", "Persona", "Tier", "Asked")
    return Table(header, rows, more=len(episodes) - len(rows))


def _name(key: EpisodeKey) -> str:
    return str(key._replace(run=short_run(key.run)))


def _outcome(episode: Episode) -> str:
    return "succeeded" if episode.succeeded else str(episode.category or "failed")


_DEVIATIONS = 1.645
"""Nine of ten rates lie within so many standard deviations."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """A success rate that is expected, 0 to 1, and the bounds of the likeliest nine tenths."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, tally: Tally) -> Expectation:
        """Return what some outcomes let expect, from an even prior; normal approximation."""
        rate = Posterior(tally.rate, tally.won + tally.lost + 2)
        spread = _DEVIATIONS * math.sqrt(rate.variance)
        return cls(rate.mean, max(0.0, rate.mean - spread), min(1.0, rate.mean + spread))


@dataclass(frozen=True, slots=True)
class Tried:
    """An attempt of the persona, and what was expected of it right after."""

    episode: Episode
    expected: Expectation


@dataclass(frozen=True, slots=True)
class Period:
    """Some attempts in a row.

    Attributes:
        until: When the last of them ended, in seconds since the Unix epoch.
        expected: What was expected after it.
    """

    until: float
    attempts: int
    succeeded: int
    expected: Expectation


@dataclass(frozen=True, slots=True)
class PersonaRecord:
    """All of a persona's attempts, oldest first, and the beliefs that all of the log has led to."""

    tried: tuple[Tried, ...]
    beliefs: Beliefs

    @property
    def succeeded(self) -> int:
        """How many of the attempts succeeded."""
        return sum(each.episode.succeeded for each in self.tried)

    def by(self, name: Callable[[Episode], str]) -> list[tuple[str, int, int]]:
        """Count attempts, and those that succeeded, by something they have; the most first."""
        ordered = sorted((each.episode for each in self.tried), key=name)
        found = [
            (key, len(group), sum(episode.succeeded for episode in group))
            for key, group in ((key, [*some]) for key, some in groupby(ordered, key=name))
        ]
        return sorted(found, key=lambda counted: (-counted[1], counted[0]))


def record_of(entries: Iterable[LogEntry], namespace: str, persona: str) -> PersonaRecord:
    """Go through a log and note what was expected of a persona after each of its attempts.

    Args:
        entries: The log's, in its order; those of other namespaces are passed over.
        namespace: Whose memory it is.
        persona: The persona's name.
    """
    beliefs, tried = Beliefs(namespace=namespace), list[Tried]()
    for entry in entries:
        beliefs.learn(entry)
        episode = entry.episode
        if (episode.namespace, episode.persona) == (namespace, persona):
            tried.append(Tried(episode, Expectation.of(beliefs.persona(persona))))
    return PersonaRecord(tuple(tried), beliefs)


def periods(tried: Sequence[Tried], most: int) -> list[Period]:
    """Put attempts together to at most so many periods of as many attempts each, but the first."""
    size = max(1, -(-len(tried) // most))
    first = len(tried) % size or size
    cuts = [0, *range(first, len(tried) + 1, size)] if tried else []
    return [_period(tried[start:end]) for start, end in pairwise(cuts)]


def _period(some: Sequence[Tried]) -> Period:
    last = some[-1]
    good = sum(each.episode.succeeded for each in some)
    return Period(last.episode.ended_at, len(some), good, last.expected)


MOST_PERIODS = 12


def persona_page(known: KnownPersona, record: PersonaRecord, zone: tzinfo | None = None) -> Page:
    """Write the page about a persona.

    Args:
        known: The persona and what was decided about it.
        record: Its attempts.
        zone: Whose times are shown; the machine's if None.
    """
    persona = known.persona
    sections = [
        Section("Record over time", _over_time(record, zone)),
        Section("How its attempts ended", _outcomes(record)),
        Section("By tier", [_rates("Tier", record.by(lambda episode: episode.tier))]),
        Section("By type of task", [_types(record, persona.name)]),
    ]
    about = [
        Section("Decisions", [_decisions(known.changes, zone)]),
        Section("Instructions", [Quoted(persona.instructions)]),
    ]
    return Page(
        f"persona-{persona.name}",
        f"{persona.title} ({persona.name}): {known.status}, {known.origin}",
        _lead(known, record),
        [*(sections if record.tried else ()), *(about if known.changes else about[1:])],
    )


def _lead(known: KnownPersona, record: PersonaRecord) -> list[Block]:
    persona = known.persona
    facts = [
        f"For {', '.join(persona.task_types)}",
        f"Also called {', '.join(persona.aliases)}" if persona.aliases else "",
        f"Version {persona.version}",
        "A person has decided about it: no review changes it" if known.is_held else "",
    ]
    about = Bullets(tuple((fact,) for fact in facts if fact))
    if not record.tried:
        return [about, Paragraph(("No attempt of it is remembered yet.",))]
    count = len(record.tried)
    now = record.tried[-1].expected
    figures = (
        Figure("Attempts", f"{count:,}", "that are remembered"),
        Figure("Succeeded", f"{record.succeeded / count:.0%}", f"{record.succeeded:,} of them"),
        Figure("Expected", f"{now.mean:.0%}", "success of its next attempt; older ones count less"),
        Figure("Surely", _between(now), "nine of ten times the true rate lies there"),
    )
    return [about, Figures(figures)]


def _over_time(record: PersonaRecord, zone: tzinfo | None) -> list[Block]:
    rows = tuple(
        (
            _when(period.until, zone),
            f"{period.attempts:,}",
            f"{period.succeeded:,}",
            f"{period.succeeded / period.attempts:.0%}",
            f"{period.expected.mean:.0%}",
            _between(period.expected),
        )
        for period in periods(record.tried, MOST_PERIODS)
    )
    header = ("Until", "Attempts", "Succeeded", "Rate", "Expected then", "Surely")
    return [Table(header, rows)]


def _outcomes(record: PersonaRecord) -> list[Block]:
    counts = record.by(
        lambda episode: "succeeded" if episode.succeeded else str(episode.category or "failed")
    )
    total = len(record.tried)
    rows = tuple((name, f"{count:,}", f"{count / total:.0%}") for name, count, _ in counts)
    return [Table(("Outcome", "Attempts", "Share"), rows)]


def _rates(title: str, counts: Sequence[tuple[str, int, int]]) -> Table:
    rows = tuple(
        (name, f"{count:,}", f"{good:,}", f"{good / count:.0%}") for name, count, good in counts
    )
    return Table((title, "Attempts", "Succeeded", "Rate"), rows)


def _types(record: PersonaRecord, name: str) -> Table:
    rows: list[tuple[str, ...]] = []
    for kind, count, good in record.by(lambda episode: episode.task_type):
        estimate = record.beliefs.personas.get(kind, {}).get(name)
        expected = estimate and Expectation.of(Tally(estimate.won, estimate.lost))
        rows.append(
            (
                kind,
                f"{count:,}",
                f"{good:,}",
                f"{good / count:.0%}",
                f"{expected.mean:.0%}" if expected else "",
                _between(expected) if expected else "",
                f"{estimate.q:+.2f}" if estimate else "",
            )
        )
    header = ("Type of task", "Attempts", "Succeeded", "Rate", "Expected", "Surely", "Reward")
    return Table(header, tuple(rows))


def _decisions(changes: Sequence[Change], zone: tzinfo | None) -> Bullets:
    return Bullets(tuple((change_words(change, zone),) for change in changes))


def change_words(change: Change, zone: tzinfo | None = None) -> str:
    """Say in a line what was decided about a persona, by whom and why, with the evidence."""
    way = f"{change.before} → {change.after}" if change.before else change.after
    line = f"{_when(change.at, zone)} {change.action} by {change.by}: {way}"
    reason = f". {change.reason}" if change.reason else ""
    return line + reason + (f" ({_evidence(change.evidence)})" if change.evidence else "")


def _evidence(found: DecisionEvidence) -> str:
    return (
        f"{found.successes} of {found.successes + found.failures} attempts, {found.rate:.0%}, "
        f"surely {found.low:.0%} to {found.high:.0%}; others {found.baseline:.0%}"
    )


def _between(expected: Expectation) -> str:
    return f"{expected.low:.0%} to {expected.high:.0%}"


def _when(at: float, zone: tzinfo | None) -> str:
    return f"{datetime.fromtimestamp(at, zone):%Y-%m-%d %H:%M}"
