"""What the memory did for a run, as a person reads it in the Prefect UI: Markdown. Pure."""

from __future__ import annotations

from ...result import Planning, StepRecall, SwarmResult
from ...text import duration, plural
from .markdown import bullets, plain, table

__all__ = ["memory_markdown", "recalled_line", "shown_line"]

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
            (step.step, step.persona, step.tier, _expected(step), step.by, _why(step))
            for step in recall.steps
        ]
        parts.append(table(columns, rows))
        # Not a column: Prefect's pages don't break the lines of a table.
        if used := [step for step in recall.steps if step.memories]:
            lines = [plain(f"{step.step}: {_memories(step)}", 400) for step in used]
            parts += ["It went by these attempts:", bullets(lines)]
    if result.taught:
        parts += ["It taught:", bullets([plain(sentence, 200) for sentence in result.taught])]
    return parts


def shown_line(planning: Planning) -> str:
    """Say in one line which memories the planner was shown; "" if none were."""
    parts: list[str] = []
    if planning.shown_runs:
        parts.append(f"the plans of {', '.join(run[:8] for run in planning.shown_runs)}")
    if planning.shown_personas:
        parts.append(plural(len(planning.shown_personas), "persona"))
    return f"The planner was shown {' and '.join(parts)}." if parts else ""


def recalled_line(result: SwarmResult) -> str:
    """Say in one line what was recalled, and what came of it; "" if nothing was."""
    if result.recall is None:
        return ""
    steps = result.recall.steps
    used = {(memory.run, memory.step, memory.attempt) for step in steps for memory in step.memories}
    if not used:
        return ""
    chosen = [f"{step.step} → {step.persona} ({step.why})" for step in steps if step.by != "rules"]
    times = [f"{step.step} {_expected(step)}" for step in steps if step.expected_s is not None]
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


def _expected(step: StepRecall) -> str:
    return "" if step.expected_s is None else duration(step.expected_s)


def _why(step: StepRecall) -> str:
    return "; ".join(filter(None, [step.why, step.tier_why and f"tier: {step.tier_why}"]))


def _memories(step: StepRecall) -> str:
    memories = [
        f"{memory.run[:8]} {memory.step}.{memory.attempt} "
        f"({memory.similarity:.2f}) for {memory.why}"
        for memory in step.memories
    ]
    return "; ".join(_some(memories, _SHOWN))
