"""The page of a run's plan: its graph, and how far each step is. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from ....text import duration, one_line
from ..lines import changed_line
from ..memory import shown_line
from ..page import Block, Drawing, Page, Paragraph, Section, Text
from ..view import RunView, StepView
from .answer import status_line
from .parts import MOST_ROWS, bounded_table, ref, way

__all__ = ["plan_page"]

_COLUMNS = ("Status", "Step", "Agent", "Tries", "Work", "Needs", "Prompt, or why")


def plan_page(view: RunView) -> Page:
    """Write the plan's page: the graph, and each step's status with the reason for it."""
    lead: list[Block] = [status_line(view), way("plan")]
    if view.planning is not None:
        if where := _origin(view):
            lead.append(Paragraph((where,)))
        if shown := shown_line(view.planning):
            lead.append(Paragraph((shown,)))
    sections: list[Section] = []
    if view.steps:
        sections.append(Section("Graph", [Drawing("graph", _in_words(view.steps))]))
        rows = [_row(step) for step in view.steps]
        # All of a plan up to the bound of step pages would be a page too long to be drawn.
        ordered = rows if len(rows) <= MOST_ROWS else _worth_a_look_first(view.steps, rows)
        sections.append(Section("Steps", [bounded_table(_COLUMNS, ordered)]))
    return Page("plan", f"Plan: {one_line(view.objective, 100)}", lead, sections)


def _row(step: StepView) -> tuple[Text, ...]:
    result = step.result
    work = sum(attempt.duration_s for attempt in result.attempts)
    return (
        step.status,
        ref(step.id),
        one_line(result.agent, 40),
        str(len(result.attempts)) if result.attempts else "",
        duration(work) if result.attempts else "",
        needs(step.upstream),
        one_line(_says(step), 300),
    )


def _says(step: StepView) -> str:
    """Why it isn't done, or was done elsewhere; or else what is asked."""
    changed = changed_line(step.result)
    if step.status == "succeeded" and step.result.taken_from is None:
        return changed or step.result.prompt
    return "; ".join(filter(None, [changed, step.why])) or step.result.prompt


def needs(upstream: Sequence[str]) -> str:
    """Name the steps that a step needs, or count them."""
    return ", ".join(upstream) if len(upstream) <= 8 else f"{len(upstream)} steps"


def _worth_a_look_first(
    steps: Sequence[StepView], rows: Sequence[tuple[Text, ...]]
) -> list[tuple[Text, ...]]:
    places = {"failed": 0, "asked": 1, "running": 1, "cancelled": 2, "skipped": 2}
    order = sorted(range(len(rows)), key=lambda place: places.get(steps[place].status, 3))
    return [rows[place] for place in order]


def _in_words(steps: Sequence[StepView]) -> str:
    edges = sum(len(step.upstream) for step in steps)
    return (
        f"The graph has {len(steps):,} steps and {edges:,} edges; the table says what each needs."
    )


def _origin(view: RunView) -> str:
    planning = view.planning
    if planning is None:
        return ""
    if planning.source == "user":
        return "The plan was given."
    if planning.source == "fork":
        of = f"The plan is that of run {planning.forked_from}"
        return f"{of}, {planning.choice}." if planning.choice else f"{of}."
    score = "" if planning.score is None else f", with a score of {planning.score:.2f}"
    return f"The plan was written by {planning.model}{score}."
