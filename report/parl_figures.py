"""A run by PARL's measures as figures, a table of its turns, and sentences. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from ..metrics.critical_path import FIGURES
from ..metrics.parl import CollapseFinding, ParlFigures
from ..text import plural
from .page import Figure, Ref, Table, Text

__all__ = ["critical_words", "figures_of_parl", "finding_texts", "finding_words", "turns_table"]


_HEADER = ("Turn", "Critical steps", "Orchestrator", "Slowest of each group")
_MOST_GROUPS = 20
_MOST_WORDS = 5


def figures_of_parl(parl: ParlFigures | None) -> tuple[Figure, ...]:
    """Return the figures, each with what it means; none of a run that has none."""
    if parl is None:
        return ()
    values = {
        "critical steps by turn": str(parl.critical_steps),
        "r_parallel": f"{parl.r_parallel:.2f}",
        "r_finish": f"{parl.r_finish:.2f}",
        "r_perf": f"{parl.r_perf:.2f}",
        "reward, summed": f"{parl.summed_reward:.2f}",
        "reward, mixed": f"{parl.mixed_reward:.2f}",
    }
    return tuple(Figure(name, value, FIGURES[name]) for name, value in values.items())


def turns_table(parl: ParlFigures) -> Table:
    """Return the critical steps of each turn; `2 + 1` are those of one group and of the next."""
    rows: list[tuple[Text, ...]] = []
    for turn in parl.turns:
        shown = " + ".join(map(str, turn.groups[:_MOST_GROUPS]))
        more = len(turn.groups) - _MOST_GROUPS
        rest = f" and {plural(more, 'more group')}" if more > 0 else ""
        counts = str(turn.critical_steps), str(turn.orchestrator)
        rows.append((str(turn.number), *counts, f"{shown}{rest}"))
    return Table(_HEADER, tuple(rows))


def finding_texts(found: CollapseFinding) -> tuple[Text, ...]:
    """Return a finding as a sentence that leads to the page of its step."""
    return (Ref(found.step, found.step), found.words.removeprefix(found.step))


def finding_words(parl: ParlFigures | None) -> list[str]:
    """Return the first findings as sentences, and count the others."""
    found: Sequence[CollapseFinding] = parl.findings if parl else ()
    more = len(found) - _MOST_WORDS
    lines = [each.words for each in found[:_MOST_WORDS]]
    return [*lines, *([f"{more} more: see the timeline's page."] if more > 0 else [])]


def critical_words(path: int, parl: ParlFigures | None) -> str:
    """Write the critical steps, those by turn too where they are others."""
    by_turn = parl.critical_steps if parl else path
    return f"{path}" if by_turn == path else f"{path} ({by_turn} by turn)"
