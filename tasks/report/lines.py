"""An attempt, its gates and what followed, a line each. Pure."""

from __future__ import annotations

from ...gates import format_diagnostics
from ...result import Attempt, Cost, Decision, StepResult
from ...text import one_line, plural

__all__ = [
    "change_line",
    "changed_line",
    "cost_of",
    "cost_words",
    "decision_line",
    "gate_line",
    "left_out_line",
    "outcome_line",
    "token_words",
]


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
