"""Why a step ran as often as it did: its attempts, their gates and the decisions. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from ...gates import format_diagnostics
from ...result import Attempt, Decision, Exploration, StepResult
from ...text import one_line, plural
from .calls import calls_markdown
from .glossary import legend
from .markdown import bullets, plain, table

__all__ = [
    "attempts_markdown",
    "change_line",
    "decision_line",
    "gate_line",
    "left_out_line",
    "outcome_line",
]

_MOST_ROWS = 200
_MOST_STORIES = 50
_ATTEMPTS = ("Step", "Attempt", "Decision", "Rule", "Led to", "Result", "Why", "By", "Cost")
_GATES = ("Step", "Attempt", "Gate", "Verdict", "Took", "Found", "Tool")


def attempts_markdown(
    steps: Sequence[StepResult], explored: Exploration | None = None
) -> list[str]:
    """Write the parts of a run's page on decisions, gates and calls, as far as there were any.

    Args:
        steps: The steps of the run.
        explored: What the orchestrator looked at before it planned.
    """
    parts: list[str] = []
    if stories := [story for step in steps if (story := _story(step))]:
        parts.append("### Why steps ran again, or did not succeed\n\n" + _bounded_list(stories))
    if incomplete := [line for step in steps if (line := _incomplete(step))]:
        parts.append("### What was not read or not written in full\n\n" + _bounded_list(incomplete))
    # What is wide comes last, since the page cuts it off at its right.
    if again := [step for step in steps if any(attempt.decision for attempt in step.attempts)]:
        rows = [row for step in again for row in _attempt_rows(step)]
        parts.append(f"### Attempts and decisions\n\n{_bounded_table(_ATTEMPTS, rows)}")
        parts.append(legend(again))
    parts += calls_markdown(steps, explored)
    if gates := [row for step in steps for row in _gate_rows(step)]:
        parts.append("### Gates\n\n" + _bounded_table(_GATES, gates))
    return parts


def change_line(change: str, planned: str) -> str:
    """Say in a line how a step became another one than planned; empty if it didn't."""
    return f"{change}; it was {planned}" if change else ""


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


def _bounded_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return table(header, rows[:_MOST_ROWS]) + _more(rows, _MOST_ROWS)


def _bounded_list(lines: Sequence[str]) -> str:
    return bullets(lines[:_MOST_STORIES]) + _more(lines, _MOST_STORIES)


def _more(all_of: Sequence[object], shown: int) -> str:
    return f"\n\n{len(all_of) - shown} more." if len(all_of) > shown else ""


def _story(step: StepResult) -> str:
    """Tell a step's way to its end; empty if it succeeded at once, or in another run."""
    if len(step.attempts) == 1 and step.status == "succeeded":
        return ""
    if step.taken_from is not None:
        return ""
    if not step.attempts:
        return f"**{step.id}** did not run. {plain(step.reason or step.status, 400)}"
    times = "once" if len(step.attempts) == 1 else plural(len(step.attempts), "time")
    way = plain("; ".join(map(_chapter, step.attempts)), 900)
    reason = f" {plain(step.reason, 400)}" if step.status != "succeeded" else ""
    return f"**{step.id}** ran {times} and {_ENDS[step.status]}: {way}.{reason}"


def _incomplete(step: StepResult) -> str:
    parts = [left_out_line(step.attempts[-1])] if step.attempts else []
    parts.append("its text is cut off" if step.truncated else "")
    found = "; ".join(filter(None, parts))
    return f"**{step.id}** {plain(found, 400)}" if found else ""


_ENDS = {
    "succeeded": "succeeded",
    "failed": "failed",
    "skipped": "is done without",
    "cancelled": "was cancelled",
    "unfinished": "was not over",
}


def _chapter(attempt: Attempt) -> str:
    drawn = f", {attempt.samples} candidates" if attempt.samples > 1 else ""
    who = f"attempt {attempt.number} ({attempt.agent} on {attempt.tier}{drawn})"
    if attempt.category is None:
        return f"{who} passed"
    then = f", so {decision_line(attempt)}" if attempt.decision else ""
    came = attempt.decision.outcome if attempt.decision else ""
    return f"{who} failed by {attempt.category}{then}{came and f' ({one_line(came, 80)})'}"


def _attempt_rows(step: StepResult) -> list[tuple[str, ...]]:
    followed = [*step.attempts[1:], None]
    return [
        (
            step.id,
            str(attempt.number),
            decision_line(attempt),
            attempt.decision.rule if attempt.decision else "",
            _led_to(attempt.decision, then) if attempt.decision else "",
            _result(attempt),
            attempt.decision.reason if attempt.decision else "",
            _maker(attempt),
            _cost_of(attempt),
        )
        for attempt, then in zip(step.attempts, followed, strict=False)
    ]


def _result(attempt: Attempt) -> str:
    if attempt.category is None:
        return f"passed, first of {attempt.samples}" if attempt.samples > 1 else "passed"
    furthest = f" (the furthest of {attempt.samples})" if attempt.samples > 1 else ""
    return one_line(f"{attempt.category}{furthest}: {attempt.error or ''}", 160)


def _led_to(decision: Decision, then: Attempt | None) -> str:
    parts = [outcome_line(decision)] if decision.outcome else []
    parts.append(f"attempt {then.number} ({_cost_of(then)})" if then else "no further attempt")
    return "; ".join(parts)


def _maker(attempt: Attempt) -> str:
    replaced = f", replaced {attempt.revision}×" if attempt.revision else ""
    return f"{attempt.agent} on {attempt.tier}{replaced}, {one_line(attempt.model, 40)}"


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
            one_line(format_diagnostics(gate.diagnostics), 120)
            or ("repaired the layout" if gate.diff else ""),
            gate.version,
        )
        for attempt in step.attempts
        for gate in attempt.gates
    ]
