"""Why the steps of a run ran as often as they did: attempts, gates and decisions. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from ....gates import GateResult, format_diagnostics
from ....result import Attempt, Decision, Exploration, StepResult
from ....text import duration, one_line, plural
from ..glossary import legend
from ..lines import cost_of, decision_line, left_out_line, outcome_line
from ..page import Block, Bullets, Paragraph, Section, Strong, Table, Text
from ..view import AttemptView
from .parts import (
    bounded_list,
    bounded_table,
    call_blocks,
    calls_sections,
    changed_lines,
    quoted,
    ref,
)

__all__ = ["attempt_section", "attempts_sections"]


_GATES = ("Verdict", "Gate", "Took", "Found", "Tool")
_DIFF_CHARS = 6_000
_ANSWER_CHARS = 4_000
_FOUND_CHARS = 2_000
_CELL = 60  # what a row shows of a finding; all of it stands below then


def attempt_section(
    attempt: Attempt, own: AttemptView | None, before: AttemptView | None, *, counts: bool
) -> Section:
    """Write an attempt: who made it, how it ended, what followed, its gates, calls and texts.

    Args:
        attempt: As it is recorded.
        own: What it was sent and answered, if that is stored.
        before: The same of the attempt before.
        counts: Whether its text is the step's output, which the page has anyway.
    """
    blocks: list[Block] = [Bullets(tuple((line,) for line in attempt_lines(attempt)))]
    blocks += _gates(attempt.gates)
    blocks += call_blocks(attempt.calls)
    changed = changed_lines(before.answered, own.answered) if own and before else ""
    if changed and before and before.answered:
        blocks.append(Paragraph((f"What it wrote, against attempt {before.number}:",)))
        blocks.append(quoted(changed, _DIFF_CHARS, "diff"))
    elif own and own.answered and not counts:
        blocks += [Paragraph(("What it wrote:",)), quoted(own.answered, _ANSWER_CHARS)]
    agent = f" · {attempt.agent}" if attempt.agent else ""
    return Section(f"Attempt {attempt.number}{agent}", blocks)


def attempt_lines(attempt: Attempt) -> list[str]:
    """Say who made an attempt, what it took, how it ended, and what followed."""
    usage = attempt.usage
    lines = [
        f"{attempt.model} on tier {attempt.tier}: {duration(attempt.duration_s)}, after "
        f"{duration(attempt.queue_s)} of waiting; {usage.input_tokens:,} tokens read, "
        f"{usage.output_tokens:,} written",
    ]
    if attempt.samples > 1:
        lines.append(f"best of {attempt.samples} samples")
    if left_out := left_out_line(attempt):
        lines.append(f"not read in full: {left_out}")
    if attempt.tokens_saved:
        lines.append(f"stopped early: {attempt.tokens_saved:,} tokens saved")
    if attempt.extraction and attempt.gates:
        lines.append(f"artifact: {attempt.extraction}")
    if attempt.category is not None:
        lines.append(f"failed: {attempt.category}: {one_line(attempt.error or '', 300)}")
    if (decision := attempt.decision) is not None:
        lines.append(f"decision: {decision_line(attempt)} by {decision.rule}: {decision.reason}")
        if came := outcome_line(decision):
            lines.append(f"it took {came}")
    return lines


def _gates(gates: tuple[GateResult, ...]) -> list[Block]:
    if not gates:
        return []
    rows: list[tuple[Text, ...]] = [
        (
            gate.status + ("" if gate.required else " (optional)"),
            gate.gate,
            f"{gate.duration_s:.2f} s" + (", known" if gate.cached else ""),
            one_line(format_diagnostics(gate.diagnostics), _CELL),
            gate.version,
        )
        for gate in gates
    ]
    blocks: list[Block] = [Table(_GATES, tuple(rows))]
    for gate in gates:
        if gate.diagnostics and len(format_diagnostics(gate.diagnostics)) > _CELL:
            found = "\n".join(map(str, gate.diagnostics))
            blocks.append(Paragraph((Strong(f"{gate.gate} found:"),)))
            blocks.append(quoted(found, _FOUND_CHARS))
        if gate.diff:
            blocks.append(Paragraph((Strong(f"{gate.gate} repaired:"),)))
            blocks.append(quoted(gate.diff, _DIFF_CHARS, "diff"))
    return blocks


_ATTEMPTS = ("Result", "Step", "Attempt", "Decision", "Cost", "Why")
_GATE_COLUMNS = ("Verdict", "Step", "Attempt", "Gate", "Took", "Tool", "Found")
_ENDS = {
    "succeeded": "succeeded",
    "failed": "failed",
    "skipped": "is done without",
    "cancelled": "was cancelled",
    "unfinished": "was not over",
}


def attempts_sections(
    steps: Sequence[StepResult], explored: Exploration | None = None
) -> list[Section]:
    """Write the parts of a run's page on decisions, gates and calls, as far as there were any.

    Args:
        steps: The steps of the run.
        explored: What the orchestrator looked at before it planned.
    """
    sections: list[Section] = []
    if stories := [story for step in steps if (story := _story(step))]:
        blocks: list[Block] = [bounded_list(stories)]
        sections.append(Section("Why steps ran again, or did not succeed", blocks))
    if incomplete := [line for step in steps if (line := _incomplete(step))]:
        blocks = [bounded_list(incomplete)]
        sections.append(Section("What was not read or not written in full", blocks))
    if again := [step for step in steps if any(attempt.decision for attempt in step.attempts)]:
        rows = [row for step in again for row in _attempt_rows(step)]
        led = [line for step in again for line in _led_lines(step)]
        blocks = [bounded_table(_ATTEMPTS, rows), bounded_list(led), Paragraph((legend(again),))]
        sections.append(Section("Attempts and decisions", blocks))
    sections += calls_sections(steps, explored)
    if gates := [row for step in steps for row in _gate_rows(step)]:
        sections.append(Section("Gates", [bounded_table(_GATE_COLUMNS, gates)]))
    return sections


def _story(step: StepResult) -> tuple[Text, ...]:
    """Tell a step's way to its end; empty if it succeeded at once, or in another run."""
    if len(step.attempts) == 1 and step.status == "succeeded":
        return ()
    if step.taken_from is not None:
        return ()
    name = Strong(step.id)
    if not step.attempts:
        if step.status == "unfinished":
            return ()
        return (name, f" did not run. {one_line(step.reason or step.status, 400)}")
    times = "once" if len(step.attempts) == 1 else plural(len(step.attempts), "time")
    way = one_line("; ".join(map(_chapter, step.attempts)), 900)
    reason = f" {one_line(step.reason, 400)}" if step.status != "succeeded" else ""
    return (name, f" ran {times} and {_ENDS[step.status]}: {way}.{reason}")


def _incomplete(step: StepResult) -> tuple[Text, ...]:
    parts = [left_out_line(step.attempts[-1])] if step.attempts else []
    parts.append("its text is cut off" if step.truncated else "")
    found = "; ".join(filter(None, parts))
    return (Strong(step.id), f" {one_line(found, 400)}") if found else ()


def _chapter(attempt: Attempt) -> str:
    drawn = f", {attempt.samples} candidates" if attempt.samples > 1 else ""
    who = f"attempt {attempt.number} ({attempt.agent} on {attempt.tier}{drawn})"
    if attempt.category is None:
        return f"{who} passed"
    then = f", so {decision_line(attempt)}" if attempt.decision else ""
    came = attempt.decision.outcome if attempt.decision else ""
    return f"{who} failed by {attempt.category}{then}{came and f' ({one_line(came, 80)})'}"


def _attempt_rows(step: StepResult) -> list[tuple[Text, ...]]:
    return [
        (
            _result(attempt),
            ref(step.id),
            str(attempt.number),
            decision_line(attempt),
            cost_of(attempt),
            one_line(attempt.error or "", 160),
        )
        for attempt in step.attempts
    ]


def _led_lines(step: StepResult) -> list[tuple[Text, ...]]:
    """Say by which rule each decision of a step was taken, why, and what it led to."""
    followed = [*step.attempts[1:], None]
    return [
        (
            Strong(f"{step.id}.{attempt.number}"),
            f" {_maker(attempt)}: {attempt.decision.rule}, since "
            f"{one_line(attempt.decision.reason, 300)}; led to {_led_to(attempt.decision, then)}",
        )
        for attempt, then in zip(step.attempts, followed, strict=False)
        if attempt.decision is not None
    ]


def _result(attempt: Attempt) -> str:
    if attempt.category is None:
        return f"passed, first of {attempt.samples}" if attempt.samples > 1 else "passed"
    furthest = f" (the furthest of {attempt.samples})" if attempt.samples > 1 else ""
    return f"{attempt.category}{furthest}"


def _led_to(decision: Decision, then: Attempt | None) -> str:
    parts = [outcome_line(decision)] if decision.outcome else []
    parts.append(f"attempt {then.number} ({cost_of(then)})" if then else "no further attempt")
    return "; ".join(parts)


def _maker(attempt: Attempt) -> str:
    replaced = f", replaced {attempt.revision}×" if attempt.revision else ""
    return f"{attempt.agent} on {attempt.tier}{replaced}, {one_line(attempt.model, 40)}"


def _gate_rows(step: StepResult) -> list[tuple[Text, ...]]:
    return [
        (
            gate.status + ("" if gate.required else " (optional)"),
            ref(step.id),
            str(attempt.number),
            gate.gate,
            f"{gate.duration_s:.2f} s" + (", known" if gate.cached else ""),
            gate.version,
            one_line(format_diagnostics(gate.diagnostics), 120)
            or ("repaired the layout" if gate.diff else ""),
        )
        for attempt in step.attempts
        for gate in attempt.gates
    ]
