"""A run's turns as a table, and PARL's measures as figures and sentences. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from ..metrics.critical_path import FIGURES
from ..metrics.parl import CollapseFinding, ParlFigures, TurnSteps
from ..store.event_wording import TURN_CAUSES
from ..text import duration, one_line, plural
from .members import ranges, top_level
from .page import Block, Figure, Paragraph, Ref, RunView, Text, TurnView, bounded_table

__all__ = ["critical_words", "figures_of_parl", "finding_texts", "finding_words", "turn_blocks"]


_HEADER = ("Turn", "Start", "Took", "Tokens", "Critical steps", "Why", "What it decided")
_ROOM = 300  # characters of a cell
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


def turn_blocks(view: RunView) -> list[Block]:
    """Return what each turn of a run was, decided and took; nothing before anything is known."""
    counted = {turn.number: turn for turn in (view.parl.turns if view.parl else ())}
    later = {turn.number: turn for turn in view.turns}
    if not counted and not later:
        return []
    rows = [
        _row(view, number, later.get(number), counted.get(number))
        for number in sorted({1, *counted, *later})
    ]
    table = bounded_table(_HEADER, rows)
    words = FIGURES["critical steps by turn"]
    meaning = f"{words[:1].upper()}{words[1:]}."
    return [table, *([Paragraph((meaning,))] if counted else [])]


def _row(
    view: RunView, number: int, turn: TurnView | None, counted: TurnSteps | None
) -> tuple[str, ...]:
    critical = _critical(counted) if counted else ""
    if turn is not None:
        start = duration(turn.began_at - view.began_at) if turn.began_at and view.began_at else ""
        cost = start, duration(turn.work_s), f"{turn.tokens:,}"
        cause = TURN_CAUSES.get(turn.cause, one_line(turn.cause, 40))
        return (str(number), *cost, critical, cause, one_line(_decided(turn), _ROOM))
    if number > 1:
        return (str(number), "", "", "", critical, TURN_CAUSES["over"], "the answer")
    own = [step.id for step in top_level(view.steps) if view.turn_of(step.id) == 1]
    tokens = f"{view.planning.usage.tokens:,}" if view.planning else ""
    assigned = one_line(f"assigned {ranges(own)}", _ROOM) if own else ""
    return (str(number), "", "", tokens, critical, "the plan", assigned)


def _critical(turn: TurnSteps) -> str:
    """Write a turn's critical steps, and what they are made of: `8 = 1 + 3 + 4`."""
    shown = " + ".join(map(str, (turn.orchestrator, *turn.groups[:_MOST_GROUPS])))
    more = len(turn.groups) - _MOST_GROUPS
    rest = f" and {plural(more, 'more group')}" if more > 0 else ""
    return f"{turn.critical_steps} = {shown}{rest}" if turn.groups else str(turn.critical_steps)


def _decided(turn: TurnView) -> str:
    if turn.refused:
        return f"rejected by a person: {turn.refused}"
    parts = [
        f"assigned {ranges(turn.steps)}" if turn.steps else "",
        f"gave up {ranges(turn.given_up)}" if turn.given_up else "",
        f"next after {ranges(turn.look_after)}" if turn.look_after else "",
        "the answer" if turn.finished else "",
        "waits for a person to approve it" if turn.waits else "",
    ]
    return "; ".join(filter(None, parts)) or "nothing more"


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
