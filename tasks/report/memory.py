"""What the memory did for a run, as a person reads it in the Prefect UI: Markdown. Pure."""

from __future__ import annotations

from ...result import StepRecall, SwarmResult
from ...text import duration
from .markdown import bullets, plain, table

__all__ = ["memory_markdown", "recalled_line"]

_SHOWN = 3
_LISTED = 5


def memory_markdown(result: SwarmResult) -> list[str]:
    """Write who was chosen for each step and why, by which memories, and what the run taught."""
    recall = result.recall
    if recall is None:
        return []
    parts = ["### Memory", f"{recall.episodes} attempts were remembered when the run began."]
    if recall.note:
        parts.append(plain(recall.note, 300))
    if recall.episodes and recall.steps:
        columns = ("Step", "Persona", "Tier", "Expected", "Chosen by", "Why")
        rows = [
            (one.step, one.persona, one.tier, _expected(one), one.by, _why(one))
            for one in recall.steps
        ]
        parts.append(table(columns, rows))
        # Not a column: Prefect's pages don't break the lines of a table.
        if used := [one for one in recall.steps if one.memories]:
            lines = [plain(f"{one.step}: {_memories(one)}", 400) for one in used]
            parts += ["It went by these attempts:", bullets(lines)]
    if result.taught:
        parts += ["It taught:", bullets([plain(one, 200) for one in result.taught])]
    return parts


def recalled_line(result: SwarmResult) -> str:
    """Say in one line what was recalled, and what came of it; "" if nothing was."""
    if result.recall is None:
        return ""
    steps = result.recall.steps
    used = {(some.run, some.step, some.attempt) for one in steps for some in one.memories}
    if not used:
        return ""
    chosen = [f"{one.step} → {one.persona} ({one.why})" for one in steps if one.by != "rules"]
    times = [f"{one.step} {_expected(one)}" for one in steps if one.expected_s is not None]
    parts = [
        f"{len(used)} memories of {result.recall.episodes} attempts",
        *(_some(chosen, _LISTED) or ["the plan decided who does what"]),
    ]
    if len(times) > 1:
        parts.append(f"ordered by expected times: {', '.join(_some(times, _LISTED))}")
    return "; ".join(parts)


def _some(parts: list[str], limit: int) -> list[str]:
    more = len(parts) - limit
    return [*parts[:limit], *([f"{more} more"] if more > 0 else [])]


def _expected(one: StepRecall) -> str:
    return "" if one.expected_s is None else duration(one.expected_s)


def _why(one: StepRecall) -> str:
    return "; ".join(filter(None, [one.why, one.tier_why and f"tier: {one.tier_why}"]))


def _memories(one: StepRecall) -> str:
    said = [
        f"{some.run[:8]} {some.step}.{some.attempt} ({some.similarity:.2f}) for {some.why}"
        for some in one.memories
    ]
    return "; ".join(_some(said, _SHOWN))
