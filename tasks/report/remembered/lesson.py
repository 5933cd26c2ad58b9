"""The page about a lesson: the attempt that it is made of, and what speaks for it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo

from ....memory.advice.lesson import INTRODUCTION, lesson
from ....memory.advice.ranking import RankedMemory
from ....memory.episode import Episode, EpisodeKey, LogEntry
from ....memory.run_names import short_run
from ....text import one_line, plural
from ..page import Block, Bullets, Figure, Figures, Page, Paragraph, Quoted, Section, Table

__all__ = ["LessonView", "lesson_page", "lesson_view"]

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
        f"{_name(episode.key)}, ended {_when(episode, zone)}: {_outcome(episode)}",
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
            _when(episode, zone),
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


def _when(episode: Episode, zone: tzinfo | None) -> str:
    return f"{datetime.fromtimestamp(episode.ended_at, zone):%Y-%m-%d %H:%M}"
