"""What a run came to in a line: its status, what it took, and when. Pure."""

from __future__ import annotations

from collections import Counter

from ....text import dollars, duration, one_line, plural
from ..lines import token_words
from ..page import Block, Paragraph, Ref, Strong, Text
from ..view import RunView
from .links import joined, ref

__all__ = ["counts", "money", "problem", "status_line"]

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
