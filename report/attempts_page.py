"""The sections about attempts: gates and decisions, and why a step ran again. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from ..gates import GateResult, format_diagnostics
from ..store.attempt import Attempt, Decision, ToolCall
from ..store.result import Exploration
from ..store.step import StepState
from ..text import duration, one_line, plural
from .lines import compaction_line, cost_of, decision_line, omission_line, outcome_line, run_figures
from .page import (
    AttemptView,
    Block,
    Bullets,
    Figures,
    Paragraph,
    Quoted,
    Ref,
    RunView,
    Section,
    Strong,
    Text,
    bounded_list,
    bounded_table,
    legend,
)

__all__ = [
    "SEE_ALSO",
    "attempt_section",
    "attempts_sections",
    "call_blocks",
    "calls_sections",
    "changed_lines",
    "figures",
    "joined",
    "quoted",
    "ref",
    "way",
]


def quoted(text: str, limit: int, language: str = "", *, whole: int | None = None) -> Quoted:
    """Quote the first characters of a text.

    Args:
        text: What is quoted.
        limit: The most characters.
        language: As in `Quoted`.
        whole: Characters of the whole, where the text is its beginning alone.
    """
    shown = text[:limit]
    return Quoted(shown, language, max(0, (whole or len(text)) - len(shown)))


SEE_ALSO = "See also: "
"""How the words begin that lead to the run's other pages."""
_MAIN = ("answer", "plan", "timeline")


def way(here: str) -> Block:
    """Write where the other pages of the run are."""
    texts = [Ref(name, name.capitalize()) for name in _MAIN if name != here]
    return Paragraph((SEE_ALSO, *joined(texts, ", "), "."))


def ref(step: str, words: str = "") -> Ref:
    """Name a step by its page."""
    return Ref(step, words or step)


def joined(texts: Iterable[Text], between: str) -> tuple[Text, ...]:
    """Put words between texts."""
    parts: list[Text] = []
    for text in texts:
        parts += [between, text] if parts else [text]
    return tuple(parts)


def figures(view: RunView) -> Figures | None:
    """Return the figures of a run; None before any step ran."""
    return run_figures(view.metrics, view.cost, view.parl) if view.metrics else None


_MOST_CHARS = 60_000
_MOST_LINES = 2_000


def changed_lines(before: str, after: str) -> str:
    """Return a unified diff of two texts, without file names; "" if they are the same.

    Of texts that are very long, the beginnings alone are compared.
    """
    old, new = (text[:_MOST_CHARS].splitlines()[:_MOST_LINES] for text in (before, after))
    found = difflib.unified_diff(old, new, lineterm="", n=2)
    return "\n".join(list(found)[2:])


_COLUMNS = ("Outcome", "Step", "Attempt", "Call", "Took", "Characters", "Arguments", "Result")
_MOST_CALLS = 40
_TEXT_CHARS = 1_200


def calls_sections(
    steps: Sequence[StepState], explored: Exploration | None = None
) -> list[Section]:
    """Write the part of a run's page on calls of tools; empty if there were none.

    Args:
        steps: The steps of the run.
        explored: What the orchestrator looked at before it planned.
    """
    rows = [_row("plan", "", call) for call in (explored.calls if explored else ())]
    rows += [
        _row(ref(step.id), str(attempt.number), call)
        for step in steps
        for attempt in step.attempts
        for call in attempt.calls
    ]
    return [Section("Calls of tools", [bounded_table(_COLUMNS, rows)], folded=True)] if rows else []


def call_blocks(calls: Sequence[ToolCall]) -> list[Block]:
    """Write an attempt's calls with their arguments and results, which are cut and masked."""
    blocks: list[Block] = []
    for call in calls[:_MOST_CALLS]:
        took = f" {call.outcome} in {call.seconds:.1f} s, {call.characters:,} characters"
        blocks.append(Paragraph((Strong(f"Call {call.ordinal}: {call.tool}"), took)))
        blocks.append(quoted(call.arguments, _TEXT_CHARS, "json"))
        if call.result:
            blocks.append(quoted(call.result, _TEXT_CHARS, whole=call.characters))
    more = len(calls) - _MOST_CALLS
    return [*blocks, Paragraph((f"{more} more calls.",))] if more > 0 else blocks


def _row(step: Text, attempt: str, call: ToolCall) -> tuple[Text, ...]:
    return (
        call.outcome,
        step,
        attempt,
        call.tool,
        f"{call.seconds:.1f} s",
        f"{call.characters:,}",
        one_line(call.arguments, 100),
        one_line(call.result, 160),
    )


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
        f"{usage.output_tokens:,} written"
        if attempt.model
        else f"a call without a model: {duration(attempt.duration_s)}",
    ]
    if attempt.samples > 1:
        lines.append(f"best of {attempt.samples} samples")
    if left_out := omission_line(attempt):
        lines.append(f"not read in full: {left_out}")
    if compacted := compaction_line(attempt):
        lines.append(f"conversation made shorter {compacted}")
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
    blocks: list[Block] = [bounded_table(_GATES, rows)]
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
    steps: Sequence[StepState], explored: Exploration | None = None
) -> list[Section]:
    """Write the parts of a run's page on decisions, gates and calls, as far as there were any.

    Args:
        steps: The steps of the run.
        explored: What the orchestrator looked at before it planned.
    """
    sections: list[Section] = []
    groups = {step.parent for step in steps}
    stories = [story for step in steps if (story := _story(step, has_members=step.id in groups))]
    if stories:
        blocks: list[Block] = [bounded_list(stories)]
        sections.append(Section("Why steps ran again, or did not succeed", blocks))
    if incomplete := [line for step in steps if (line := _incomplete(step))]:
        blocks = [bounded_list(incomplete)]
        sections.append(Section("What was not read or not written in full", blocks))
    if again := [step for step in steps if any(attempt.decision for attempt in step.attempts)]:
        rows = [row for step in again for row in _attempt_rows(step)]
        led = [line for step in again for line in _led_lines(step)]
        blocks = [bounded_table(_ATTEMPTS, rows), bounded_list(led), Paragraph((legend(again),))]
        sections.append(Section("Attempts and decisions", blocks, folded=True))
    sections += calls_sections(steps, explored)
    if gates := [row for step in steps for row in _gate_rows(step)]:
        sections.append(Section("Gates", [bounded_table(_GATE_COLUMNS, gates)], folded=True))
    return sections


def _story(step: StepState, *, has_members: bool = False) -> tuple[Text, ...]:
    """Describe a step's way to its end; empty if its first attempt succeeded, or in another run."""
    if len(step.attempts) == 1 and step.status == "succeeded":
        return ()
    if step.taken_from is not None:
        return ()
    name = Strong(step.id)
    if not step.attempts:
        if step.status in ("unfinished", "succeeded"):
            return ()
        if has_members or step.by_condition:
            words = "was skipped" if step.by_condition else _ENDS[step.status]
            return (name, f" {words}: {one_line(step.reason or step.summary, 400)}")
        return (name, f" did not run. {one_line(step.reason or step.status, 400)}")
    times = "once" if len(step.attempts) == 1 else plural(len(step.attempts), "time")
    way = one_line("; ".join(map(_chapter, step.attempts)), 900)
    reason = f" {one_line(step.reason, 400)}" if step.status != "succeeded" else ""
    return (name, f" ran {times} and {_ENDS[step.status]}: {way}.{reason}")


def _incomplete(step: StepState) -> tuple[Text, ...]:
    parts = [omission_line(step.attempts[-1])] if step.attempts else []
    parts.append("its text is cut off" if step.truncated else "")
    found = "; ".join(filter(None, parts))
    return (Strong(step.id), f" {one_line(found, 400)}") if found else ()


def _chapter(attempt: Attempt) -> str:
    candidates = f", {attempt.samples} candidates" if attempt.samples > 1 else ""
    who = f"attempt {attempt.number} ({_agent(attempt)}{candidates})"
    if attempt.category is None:
        return f"{who} passed"
    then = f", so {decision_line(attempt)}" if attempt.decision else ""
    came = attempt.decision.outcome if attempt.decision else ""
    return f"{who} failed by {attempt.category}{then}{came and f' ({one_line(came, 80)})'}"


def _attempt_rows(step: StepState) -> list[tuple[Text, ...]]:
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


def _led_lines(step: StepState) -> list[tuple[Text, ...]]:
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
    model = f", {one_line(attempt.model, 40)}" if attempt.model else ""
    return f"{_agent(attempt)}{replaced}{model}"


def _agent(attempt: Attempt) -> str:
    return f"{attempt.agent} on {attempt.tier}" if attempt.model else attempt.agent


def _gate_rows(step: StepState) -> list[tuple[Text, ...]]:
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
