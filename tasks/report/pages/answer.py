"""The first page of a run: its answer, with what it took to get there. Pure."""

from __future__ import annotations

from collections import Counter

from ....text import dollars, duration, one_line, plural
from ..lines import taken_line, token_words
from ..page import Block, Page, Paragraph, Ref, Section, Strong, Text
from ..view import RunView
from .parts import joined, quoted, ref, way

__all__ = ["answer_page", "counts", "money", "problem", "status_line"]


_ORDER = (
    "succeeded",
    "failed",
    "skipped",
    "cancelled",
    "running",
    "ready",
    "asked",
    "waiting",
)
_PROBLEM_CHARS = 1_000


def status_line(view: RunView) -> Block:
    """Say how the run ended or how far it is, what it cost and how long it took."""
    cost = view.cost
    texts: list[Text] = [Strong(view.status), f"{counts(view)}"]
    if view.metrics is not None:
        texts.append(f"steps took {duration(view.metrics.makespan_s)}")
    if view.ended_at is not None and view.began_at:
        texts.append(f"{duration(max(0.0, view.ended_at - view.began_at))} in all")
    texts.append(f"{plural(cost.calls, 'call')}, {token_words(cost)}{money(view)}")
    return Paragraph(joined(texts, " · "))


def counts(view: RunView) -> str:
    """Count the steps by their status: `4 steps: 3 succeeded, 1 failed`."""
    if not view.steps:
        return "no plan yet"
    found = Counter(step.status for step in view.steps)
    shown = ", ".join(f"{found[status]:,} {status}" for status in _ORDER if found[status])
    return f"{plural(len(view.steps), 'step')}: {shown}"


def money(view: RunView) -> str:
    """Write what the run cost, behind what it took; "" where that isn't known."""
    usd = view.cost.money_usd
    return f", {dollars(usd)}" if usd is not None else ""


def problem(view: RunView) -> list[Block]:
    """Say what went wrong, and which steps to look at; nothing if nothing did."""
    blocks: list[Block] = []
    if view.problem:
        blocks.append(Paragraph((one_line(view.problem, _PROBLEM_CHARS),)))
    failed: list[Ref] = [ref(step.id) for step in view.steps if step.status == "failed"][:12]
    if failed:
        blocks.append(Paragraph(("Look at: ", *joined(failed, ", "), ".")))
    return blocks


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
