"""An attempt, its calls, its gates and what followed, a line each. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from ...gates import format_diagnostics
from ...result import Attempt, Cost, Decision, StepResult, ToolCall
from ...text import one_line, plural

__all__ = [
    "call_lines",
    "change_line",
    "changed_line",
    "cost_of",
    "cost_words",
    "decision_line",
    "gate_line",
    "left_out_line",
    "outcome_line",
    "taken_line",
    "taken_words",
    "token_words",
]


def call_lines(calls: Sequence[ToolCall]) -> list[str]:
    """Write a line for each call of an attempt, or of the orchestrator before it planned."""
    return [
        f"call {call.ordinal}: {call.tool}({one_line(call.arguments, 160)}) {call.outcome} "
        f"in {call.seconds:.1f} s: {one_line(call.result, 200)}"
        for call in calls
    ]


_SHOWN = 12


def taken_words(step: StepResult) -> str:
    """Say whose a step is that was taken over; "" of any other."""
    return step.taken_from.words if step.taken_from else ""


def taken_line(steps: Sequence[StepResult]) -> str:
    """Say in one line which steps were taken over, and from which runs; "" if none were."""
    by_run: dict[str, list[str]] = {}
    for step in steps:
        if step.taken_from is not None:
            by_run.setdefault(step.taken_from.run, []).append(step.id)
    parts = [f"{_some(names)} from run {run}" for run, names in by_run.items()]
    return f"Taken over: {'; '.join(parts)}." if parts else ""


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"


def change_line(change: str, planned: str) -> str:
    """Say in a line how a step became another one than planned; empty if it didn't."""
    return f"{change}; it was {planned}" if change else ""


def changed_line(step: StepResult) -> str:
    """Say what is asked now, and what that took the place of; empty if nothing changed."""
    return f"{step.change}: {step.prompt} (it was {step.planned})" if step.change else ""


def decision_line(attempt: Attempt) -> str:
    """Say in a line what an attempt's failure led to; empty if it led to nothing."""
    decision = attempt.decision
    if decision is None:
        return ""
    samples = f" {decision.samples}" if decision.samples > 1 else ""
    tier = f" on {decision.tier}" if decision.tier else ""
    after = f" after {decision.delay_s:g} s" if decision.delay_s else ""
    return f"{decision.action}{samples}{tier}{after}"


def outcome_line(decision: Decision) -> str:
    """Say in a line what the question took that a decision led to; empty if it led to none."""
    if not decision.outcome:
        return ""
    cost = cost_words(decision.usage.tokens, 0, decision.duration_s)
    return f"a question ({cost}): {one_line(decision.outcome, 160)}"


def left_out_line(attempt: Attempt) -> str:
    """Say in a line what an attempt had no room to read; empty if it read everything."""
    parts = [
        f"{part.name}: "
        + (
            f"a summary in place of {part.of:,} tokens"
            if part.summarised
            else f"{part.tokens:,} of {part.of:,} tokens left out"
        )
        for part in attempt.left_out
    ]
    return "; ".join(parts)


def gate_line(attempt: Attempt) -> list[str]:
    """Write a line for each gate's result on an attempt's artifact."""
    return [
        f"gate {gate.gate}: {gate.status}{'' if gate.required else ' (optional)'} "
        f"{one_line(format_diagnostics(gate.diagnostics), 300)}".rstrip()
        for gate in attempt.gates
    ]


def cost_of(attempt: Attempt) -> str:
    """Say what an attempt took."""
    return cost_words(attempt.usage.tokens, attempt.tokens_saved, attempt.duration_s)


def cost_words(tokens: int, saved: int, seconds: float) -> str:
    """Write tokens, those that were not spent, and seconds of work."""
    spared = f", {saved} saved" if saved else ""
    return f"{tokens} tokens{spared}, {seconds:.1f} s"


def token_words(cost: Cost) -> str:
    """Say how many tokens a run took, and whether they are estimated."""
    mark = " (some estimated)" if cost.estimated_calls else ""
    if cost.estimated_calls and cost.estimated_calls >= cost.calls:
        mark = " (estimated)"
    return f"{plural(cost.tokens, 'token')}{mark}"
