"""Why a step ran as often as it did: its attempts, their gates and the decisions. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from ..gates import said
from ..result import Attempt, StepResult
from ..text import one_line
from .report_text import table

__all__ = ["attempts_markdown", "decision_line", "gate_line"]

_MOST_GATE_ROWS = 200


def attempts_markdown(steps: Sequence[StepResult]) -> list[str]:
    """Write the parts of a run's page on decisions and gates, as far as there were any."""
    parts: list[str] = []
    if decisions := [row for step in steps for row in _decision_rows(step)]:
        # What is wide comes last, since the page cuts it off at its right.
        header = ("Step", "Attempt", "Decision", "Rule", "Why", "By", "Cost", "Failure")
        parts.append("### Decisions\n\n" + table(header, decisions))
    if gates := [row for step in steps for row in _gate_rows(step)]:
        header = ("Step", "Attempt", "Gate", "Verdict", "Took", "Found", "By")
        shown = gates[:_MOST_GATE_ROWS]
        more = f"\n\n{len(gates) - len(shown)} more." if len(gates) > len(shown) else ""
        parts.append("### Gates\n\n" + table(header, shown) + more)
    return parts


def decision_line(attempt: Attempt) -> str:
    """Say in a line what an attempt's failure led to; empty if it led to nothing."""
    decision = attempt.decision
    if decision is None:
        return ""
    samples = f" {decision.samples}" if decision.samples > 1 else ""
    tier = f" on {decision.tier}" if decision.tier else ""
    after = f" after {decision.delay_s:g} s" if decision.delay_s else ""
    return f"{decision.action}{samples}{tier}{after}"


def gate_line(attempt: Attempt) -> list[str]:
    """Say in a line each what the gates said of an attempt's artifact."""
    return [
        f"gate {gate.gate}: {gate.status}{'' if gate.required else ' (optional)'} "
        f"{one_line(said(gate.diagnostics), 300)}".rstrip()
        for gate in attempt.gates
    ]


def _decision_rows(step: StepResult) -> list[tuple[str, ...]]:
    return [
        (
            step.id,
            str(attempt.number),
            decision_line(attempt),
            decision.rule,
            decision.reason,
            _maker(attempt),
            _cost(attempt),
            one_line(f"{attempt.category}: {attempt.error or ''}", 200),
        )
        for attempt in step.attempts
        if (decision := attempt.decision) is not None
    ]


def _maker(attempt: Attempt) -> str:
    samples = f", best of {attempt.samples}" if attempt.samples > 1 else ""
    replaced = f", replaced {attempt.revision}×" if attempt.revision else ""
    return f"{attempt.agent} on {attempt.tier}{samples}{replaced}"


def _cost(attempt: Attempt) -> str:
    saved = f", {attempt.tokens_saved} saved" if attempt.tokens_saved else ""
    return f"{attempt.usage.tokens} tokens{saved}, {attempt.duration_s:.1f} s"


def _gate_rows(step: StepResult) -> list[tuple[str, ...]]:
    return [
        (
            step.id,
            str(attempt.number),
            gate.gate,
            gate.status + ("" if gate.required else " (optional)"),
            f"{gate.duration_s:.2f} s" + (", known" if gate.cached else ""),
            one_line(said(gate.diagnostics), 120) or ("repaired the layout" if gate.diff else ""),
            gate.version,
        )
        for attempt in step.attempts
        for gate in attempt.gates
    ]
