"""The first page of a run: its answer, with what it took to get there. Pure."""

from __future__ import annotations

from ....text import one_line, plural
from ..page import Block, Page, Paragraph, Section
from ..taken import taken_line
from ..view import RunView
from .bounded import quoted
from .links import joined, ref, way
from .summary import problem, status_line

__all__ = ["answer_page"]

_ANSWER_CHARS = 40_000
_OBJECTIVE_CHARS = 2_000
_LISTED = 40


def answer_page(view: RunView) -> Page:
    """Write the page with a run's answer, or with how far the run is."""
    lead: list[Block] = [status_line(view), way("answer")]
    sections: list[Section] = []
    if view.problem:
        sections.append(Section("What went wrong", problem(view)))
    if view.answer.strip():
        answer = view.answer.strip()
        kind = _kind(view)
        sections.append(Section("Answer", [quoted(answer, _ANSWER_CHARS, kind)]))
    else:
        sections.append(Section("Answer", [Paragraph((_none_yet(view),))]))
    sections.append(Section("Objective", [quoted(view.objective, _OBJECTIVE_CHARS)]))
    if steps := _steps(view):
        sections.append(Section("Steps", steps))
    return Page("answer", f"Answer: {one_line(view.objective, 100)}", lead, sections)


def _kind(view: RunView) -> str:
    """What an answer is written in: a final step's output is of the step's kind."""
    for step in reversed(view.steps):
        if step.output is not None and step.output.strip() == view.answer.strip():
            return _LANGUAGES.get(step.kind, "markdown")
    return "json" if view.answer.lstrip().startswith(("{", "[{")) else "markdown"


_LANGUAGES = {"json": "json", "python": "python", "shell": "sh", "files": "markdown"}


def _none_yet(view: RunView) -> str:
    if view.status == "running":
        return "There is none yet: the run goes on."
    if view.status == "unfinished":
        return "There is none: the run was left before its end."
    return "There is none."


def _steps(view: RunView) -> list[Block]:
    if not view.steps:
        return []
    links = [ref(step.id) for step in view.steps[:_LISTED]]
    more = len(view.steps) - len(links)
    rest = f" and {plural(more, 'more step')}" if more else ""
    blocks: list[Block] = [Paragraph(("Their pages: ", *joined(links, ", "), f"{rest}."))]
    if taken := taken_line([step.result for step in view.steps]):
        blocks.append(Paragraph((taken,)))
    return blocks
