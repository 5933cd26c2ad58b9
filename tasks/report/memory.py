"""What the memory did for a run, in words. Pure."""

from __future__ import annotations

from ...result import Planning, StepRecall, SwarmResult
from ...text import duration, plural

__all__ = ["expected_words", "memories_words", "recalled_line", "shown_line", "why_words"]

_SHOWN = 3
_LISTED = 5


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
    times = [f"{step.step} {expected_words(step)}" for step in steps if step.expected_s is not None]
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


def expected_words(step: StepRecall) -> str:
    """How long a step was expected to take; "" if nobody knew."""
    return "" if step.expected_s is None else duration(step.expected_s)


def why_words(step: StepRecall) -> str:
    """Why it was given to whom it was, and to their tier."""
    return "; ".join(filter(None, [step.why, step.tier_why and f"tier: {step.tier_why}"]))


def memories_words(step: StepRecall) -> str:
    """Name the earlier attempts that it went by."""
    memories = [
        f"{memory.run[:8]} {memory.step}.{memory.attempt} "
        f"({memory.similarity:.2f}) for {memory.why}"
        for memory in step.memories
    ]
    return "; ".join(_some(memories, _SHOWN))
