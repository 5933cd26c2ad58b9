"""The page about a persona: its record, how it changed, and what was decided about it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, tzinfo

from ....memory.learning.posterior import Tally
from ....memory.persona.registry import Change, DecisionEvidence, KnownPersona
from ..page import Block, Bullets, Figure, Figures, Page, Paragraph, Quoted, Section, Table
from .record import Expectation, PersonaRecord, periods

__all__ = ["MOST_PERIODS", "change_words", "persona_page"]

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
