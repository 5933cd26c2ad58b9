"""Why a step ran as often as it did: its attempts, their gates and the decisions. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from ..gates import said
from ..result import Attempt, Decision, StepResult
from ..text import one_line
from .report_text import table

__all__ = ["attempts_markdown", "decision_line", "gate_line", "outcome_line"]

_MOST_ROWS = 200
_DECISIONS = ("Step", "Attempt", "Decision", "Led to", "Rule", "Why", "By", "Cost", "Failure")
_GATES = ("Step", "Attempt", "Gate", "Verdict", "Took", "Found", "By")


def attempts_markdown(steps: Sequence[StepResult]) -> list[str]:
    """Write the parts of a run's page on decisions and gates, as far as there were any."""
    parts: list[str] = []
    # What is wide comes last, since the page cuts it off at its right.
    if decisions := [row for step in steps for row in _decision_rows(step)]:
        parts.append("### Decisions\n\n" + _bounded_table(_DECISIONS, decisions))
    if gates := [row for step in steps for row in _gate_rows(step)]:
        parts.append("### Gates\n\n" + _bounded_table(_GATES, gates))
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


def outcome_line(decision: Decision) -> str:
    """Say in a line what the question took that a decision led to; empty if it led to none."""
    if not decision.outcome:
        return ""
    cost = _cost(decision.usage.tokens, 0, decision.duration_s)
    return f"a question ({cost}): {one_line(decision.outcome, 160)}"


def gate_line(attempt: Attempt) -> list[str]:
    """Say in a line each what the gates said of an attempt's artifact."""
    return [
        f"gate {gate.gate}: {gate.status}{'' if gate.required else ' (optional)'} "
        f"{one_line(said(gate.diagnostics), 300)}".rstrip()
        for gate in attempt.gates
    ]


def _bounded_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    shown = rows[:_MOST_ROWS]
    more = f"\n\n{len(rows) - len(shown)} more." if len(rows) > len(shown) else ""
    return table(header, shown) + more


def _decision_rows(step: StepResult) -> list[tuple[str, ...]]:
    followed = [*step.attempts[1:], None]
    return [
        (
            step.id,
            str(attempt.number),
            decision_line(attempt),
            _led_to(decision, then),
            decision.rule,
            decision.reason,
            _maker(attempt),
            _cost_of(attempt),
            one_line(f"{attempt.category}: {attempt.error or ''}", 200),
        )
        for attempt, then in zip(step.attempts, followed, strict=False)
        if (decision := attempt.decision) is not None
    ]


def _led_to(decision: Decision, then: Attempt | None) -> str:
    parts = [outcome_line(decision)] if decision.outcome else []
    parts.append(f"attempt {then.number} ({_cost_of(then)})" if then else "no further attempt")
    return "; ".join(parts)


def _maker(attempt: Attempt) -> str:
    samples = f", best of {attempt.samples}" if attempt.samples > 1 else ""
    replaced = f", replaced {attempt.revision}×" if attempt.revision else ""
    return f"{attempt.agent} on {attempt.tier}{samples}{replaced}"


def _cost_of(attempt: Attempt) -> str:
    return _cost(attempt.usage.tokens, attempt.tokens_saved, attempt.duration_s)


def _cost(tokens: int, saved: int, seconds: float) -> str:
    spared = f", {saved} saved" if saved else ""
    return f"{tokens} tokens{spared}, {seconds:.1f} s"


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
