"""What the memory did for a run, as a person reads it in the Prefect UI: Markdown. Pure."""

from __future__ import annotations

from ..result import StepRecall, SwarmResult
from .report_text import plain, table

__all__ = ["memory_markdown", "recalled_line"]

_SHOWN = 3


def memory_markdown(result: SwarmResult) -> list[str]:
    """Write who was chosen for each step and why, by which memories, and what the run taught."""
    recall = result.recall
    if recall is None:
        return []
    parts = ["## Memory", f"{recall.episodes} attempts were remembered when the run began."]
    if recall.note:
        parts.append(plain(recall.note, 300))
    if recall.episodes and recall.steps:
        columns = ("Step", "Persona", "Tier", "Chosen by", "Why", "Memories used")
        rows = [
            (one.step, one.persona, one.tier, one.by, _why(one), _memories(one))
            for one in recall.steps
        ]
        parts.append(table(columns, rows))
    if result.taught:
        parts.append(
            "\n".join(["It taught:", "", *(f"- {plain(one, 200)}" for one in result.taught)])
        )
    return parts


def recalled_line(result: SwarmResult) -> str:
    """Say in one line what was recalled; "" if nothing was."""
    if result.recall is None:
        return ""
    used = sum(len(one.memories) for one in result.recall.steps)
    chosen = [
        f"{one.step} → {one.persona} ({one.why})"
        for one in result.recall.steps
        if one.by != "rules"
    ]
    if not used:
        return ""
    said = f"{used} memories of {result.recall.episodes} attempts"
    return f"{said}: {'; '.join(chosen)}" if chosen else f"{said}; the plan decided"


def _why(one: StepRecall) -> str:
    return "; ".join(filter(None, [one.why, one.tier_why and f"tier: {one.tier_why}"]))


def _memories(one: StepRecall) -> str:
    shown = [
        f"{memory.run[:8]} {memory.step}.{memory.attempt} ({memory.similarity:.2f}): {memory.why}"
        for memory in one.memories[:_SHOWN]
    ]
    more = len(one.memories) - len(shown)
    return "; ".join([*shown, *([f"{more} more"] if more > 0 else [])])
