"""The page of a run's timeline: who worked when, what that took, and why steps ran again. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from ....result import Attempt
from ....text import one_line, plural
from ..explained import explained_blocks
from ..lines import taken_line, taken_words
from ..page import Block, Drawing, Page, Paragraph, Section, Strong, Text
from ..view import RunView, StepView
from .answer import problem, status_line
from .attempts import attempts_sections
from .memory import memory_sections
from .parts import bounded_table, figures, joined, ref, way

__all__ = ["timeline_page"]

_COLUMNS = ("Status", "Step", "Agent", "Start", "Work", "Waited", "Slack", "Tokens", "Model")
_MOST_ON_PATH = 40
_COSTS = "The table says how many tokens each step took."


def timeline_page(view: RunView) -> Page:
    """Write the timeline's page: bars, critical path, figures, attempts, gates and memory."""
    results = [step.result for step in view.steps]
    ran = [step for step in view.steps if step.result.attempts]
    lead: list[Block] = [status_line(view), way("timeline"), *problem(view)]
    if path := _path(ran):
        lead.append(Paragraph(("Critical path: ", *path, ".")))
    if taken := taken_line(results):
        lead.append(Paragraph((taken,)))
    sections: list[Section] = []
    if ran:
        sections.append(Section("Timeline", [Drawing("timeline", _in_words(ran))]))
    if found := figures(view):
        sections.append(Section("Figures", [found]))
    if ran:
        sections.append(Section("What it took", [Drawing("costs", _COSTS)]))
    if explained := explained_blocks(view.time, results):
        sections.append(Section("Where the time went", explained))
    if view.steps:
        rows = [_row(step, _origin(ran)) for step in view.steps]
        sections.append(Section("Steps", [bounded_table(_COLUMNS, rows)]))
    explored = view.planning.explored if view.planning else None
    sections += attempts_sections(results, explored)
    sections += memory_sections(view.recall, view.taught)
    return Page("timeline", f"Timeline: {one_line(view.objective, 100)}", lead, sections)


def _path(ran: Sequence[StepView]) -> tuple[Text, ...]:
    critical = [ref(step.id) for step in ran if step.result.critical]
    more = f" → {len(critical) - _MOST_ON_PATH} more" if len(critical) > _MOST_ON_PATH else ""
    return (*joined(critical[:_MOST_ON_PATH], " → "), *([more] if more else []))


def _row(step: StepView, origin: float) -> tuple[Text, ...]:
    result = step.result
    if not result.attempts:
        return (step.status, ref(step.id), result.agent, *[""] * 5, taken_words(result))
    tries = result.attempts
    slack = "" if result.slack_s is None else f"{result.slack_s:.2f} s"
    return (
        step.status,
        ref(step.id),
        result.agent,
        f"{tries[0].started_at - origin:.2f} s",
        f"{sum(attempt.duration_s for attempt in tries):.2f} s",
        f"{sum(attempt.queue_s for attempt in tries):.2f} s",
        Strong("critical") if result.critical else slack,
        f"{sum(map(_tokens, tries)):,}",
        one_line(tries[-1].model, 60),
    )


def _tokens(attempt: Attempt) -> int:
    """What an attempt took, and what its decision asked of the orchestrator."""
    return attempt.usage.tokens + (attempt.decision.usage.tokens if attempt.decision else 0)


def _origin(steps: Sequence[StepView]) -> float:
    return min((step.result.attempts[0].started_at for step in steps), default=0.0)


def _in_words(ran: Sequence[StepView]) -> str:
    tries = sum(len(step.result.attempts) for step in ran)
    last = max(attempt.ended_at for step in ran for attempt in step.result.attempts)
    return (
        f"{plural(tries, 'attempt')} at {plural(len(ran), 'step')} within "
        f"{last - _origin(ran):.1f} s; the table says when each step began."
    )
