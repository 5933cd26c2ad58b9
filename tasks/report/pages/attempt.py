"""One attempt at a step, as the step's page shows it. Pure."""

from __future__ import annotations

from ....gates import GateResult, format_diagnostics
from ....result import Attempt
from ....text import duration, one_line
from ..lines import decision_line, left_out_line, outcome_line
from ..page import Block, Bullets, Paragraph, Section, Strong, Table, Text
from ..view import AttemptView
from .bounded import quoted
from .calls import call_blocks
from .diffs import changed_lines

__all__ = ["attempt_section"]

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
