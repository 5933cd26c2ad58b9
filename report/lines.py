"""Parts of a run as lines of text: attempts, its graph, its timeline, what the memory did. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..gates import format_diagnostics
from ..metrics.clock import RunTime, Stretch, TimeKind, seconds_by_kind
from ..metrics.critical_path import FIGURES, KIND_WORDS, TIME_KINDS, Metrics, span_of
from ..metrics.parl import ParlFigures
from ..plan.compile import StepRecall
from ..store.attempt import Attempt, Decision, ToolCall
from ..store.losses import lost_of, lost_words, repeat_command
from ..store.result import Cost, Planning, SwarmResult
from ..store.step import StepState
from ..text import dollars, duration, one_line, plural
from .markdown import label
from .members import lane_states
from .page import Block, Figure, Figures, Ref, Table, Text
from .parl_figures import figures_of_parl

__all__ = [
    "LEGEND",
    "Bar",
    "DagStep",
    "bars",
    "call_lines",
    "change_line",
    "changed_line",
    "compaction_line",
    "cost_of",
    "cost_words",
    "decision_line",
    "expected_words",
    "gate_line",
    "memories_words",
    "mermaid",
    "omission_line",
    "outcome_line",
    "parts_line",
    "path_table",
    "recalled_line",
    "run_figures",
    "shown_line",
    "taken_line",
    "taken_words",
    "time_blocks",
    "time_figures",
    "time_line",
    "timeline",
    "token_words",
    "why_words",
    "without_line",
]


def call_lines(calls: Sequence[ToolCall]) -> list[str]:
    """Write a line for each call of an attempt, or of the orchestrator before it planned."""
    return [
        f"call {call.ordinal}: {call.tool}({one_line(call.arguments, 160)}) {call.outcome} "
        f"in {call.seconds:.1f} s: {one_line(call.result, 200)}"
        for call in calls
    ]


_SHOWN = 12


def taken_words(step: StepState) -> str:
    """Say whose a step is that was taken over; "" of any other."""
    return step.taken_from.words if step.taken_from else ""


def taken_line(steps: Sequence[StepState]) -> str:
    """Say in one line which steps were taken over, and from which runs; "" if none were."""
    by_run: dict[str, list[str]] = {}
    for step in steps:
        if step.taken_from is not None:
            by_run.setdefault(step.taken_from.run, []).append(step.id)
    parts = [f"{_some(names)} from run {run}" for run, names in by_run.items()]
    return f"Taken over: {'; '.join(parts)}." if parts else ""


def parts_line(steps: Sequence[StepState]) -> str:
    """Say in one line which steps are done on work pools, by which flow runs; "" if none are."""
    found = [f"{step.id} {step.part.words}" for step in steps if step.part is not None]
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return f"On work pools: {'; '.join(found[:_SHOWN])}{more}." if found else ""


def without_line(result: SwarmResult) -> str:
    """Say which steps and items a completed run did without, and how they are done again.

    "" if there are none. `resume` does nothing of a run that is completed.
    """
    lost = lost_of(result.steps)
    if result.status != "completed" or not lost:
        return ""
    again = repeat_command(result.run_id, result.status)
    return f"{lost_words(lost)}. To do again what is missing, and what reads it: {again}"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"


def change_line(change: str, planned: str) -> str:
    """Say in a line how a step became another one than planned; empty if it didn't."""
    return f"{change}; it was {planned}" if change else ""


def changed_line(step: StepState) -> str:
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


def omission_line(attempt: Attempt) -> str:
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


def compaction_line(attempt: Attempt) -> str:
    """Say in a line what an attempt's model was sent less of; empty if it was sent everything."""
    made = attempt.compactions
    if not made:
        return ""
    parts: list[str] = []
    if results := sum(each.results for each in made):
        parts.append(f"{plural(results, 'tool result')} left out")
    if cut := sum(each.cut for each in made):
        parts.append(f"{plural(cut, 'tool result')} cut")
    if exchanges := sum(each.exchanges for each in made):
        parts.append(f"a summary in place of {plural(exchanges, 'answer')}")
    saved = sum(each.tokens_saved for each in made)
    times = "once" if len(made) == 1 else plural(len(made), "time")
    return f"{times}: {', '.join(parts)}; about {saved:,} tokens saved"


def gate_line(attempt: Attempt) -> list[str]:
    """Write a line for each gate's result on an attempt's artifact."""
    return [
        f"gate {gate.gate}: {gate.status}{'' if gate.required else ' (optional)'} "
        f"{one_line(format_diagnostics(gate.diagnostics), 300)}".rstrip()
        for gate in attempt.gates
    ]


def cost_of(attempt: Attempt) -> str:
    """Say what an attempt took."""
    return cost_words(attempt.usage.tokens, attempt.tokens_saved, attempt.work_s)


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


_LOOK = {
    "waiting": "fill:#eceff1,stroke:#90a4ae,color:#37474f",
    "asked": "fill:#e0f2f1,stroke:#00897b,color:#004d40",
    "ready": "fill:#fff8e1,stroke:#ffb300,color:#5d4037",
    "running": "fill:#e3f2fd,stroke:#1e88e5,color:#0d47a1",
    "succeeded": "fill:#e8f5e9,stroke:#43a047,color:#1b5e20",
    "failed": "fill:#ffebee,stroke:#e53935,color:#b71c1c",
    "skipped": "fill:#f3e5f5,stroke:#8e24aa,color:#4a148c",
    "cancelled": "fill:#efebe9,stroke:#6d4c41,color:#3e2723",
}


@dataclass(frozen=True, slots=True)
class DagStep:
    """A step as the graph shows it.

    Attributes:
        waits_for: What it needs and doesn't read.
        words: What the plan says of how often it is done, a line each.
        is_group: Whether it becomes several.
    """

    id: str
    agent: str
    prompt: str
    upstream: tuple[str, ...]
    status: str
    critical: bool = False
    waits_for: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    is_group: bool = False


def mermaid(steps: Sequence[DagStep]) -> str:
    """Draw the steps as a Mermaid flowchart, coloured by status, the critical path thick.

    Steps that become several have a frame of their own; arrows of what is only waited for are
    dotted.
    """
    lines = ["flowchart LR"]
    for step in steps:
        named = " · ".join(filter(None, [step.id, label(step.agent, 40)]))
        words = [label(word, 80) for word in step.words]
        shown = "<br/>".join([named, *words, *filter(None, [label(step.prompt, 60)])])
        start, end = ("[[", "]]") if step.is_group else ("[", "]")
        lines.append(f'    {step.id}{start}"{shown}"{end}:::{step.status}')
    critical = {step.id for step in steps if step.critical}
    for step in steps:
        for needed in step.upstream:
            arrow = "==>" if step.id in critical and needed in critical else "-->"
            lines.append(f"    {needed} {arrow} {step.id}")
        lines += [f"    {needed} -.-> {step.id}" for needed in step.waits_for]
    used = {step.status for step in steps}
    lines += [f"    classDef {status} {_LOOK[status]}" for status in _LOOK if status in used]
    return "\n".join(lines)


_WORK, _WAIT, _FAILED = "█", "░", "▒"
LEGEND = f"{_WORK} working  {_WAIT} waiting for the model  {_FAILED} failed  * critical path"
_NAME = 26


@dataclass(frozen=True, slots=True)
class Bar:
    """One attempt; times are seconds since the run's beginning."""

    step: str
    agent: str
    number: int
    start_s: float
    turn_s: float
    end_s: float
    failed: bool
    critical: bool
    slack_s: float | None

    def line(self, width: int, total_s: float) -> str:
        """Draw it on a line of `width` characters that stands for `total_s` seconds."""
        scale = width / total_s if total_s > 0 else 0.0
        start = min(int(self.start_s * scale), width - 1)
        turn = min(max(start, int(self.turn_s * scale)), width - 1)
        end = min(max(turn + 1, round(self.end_s * scale)), width)
        work = (_FAILED if self.failed else _WORK) * (end - turn)
        return f"{' ' * start}{_WAIT * (turn - start)}{work}".ljust(width)


def bars(steps: Sequence[StepState], origin: float = 0.0) -> list[Bar]:
    """Return a bar for each attempt, steps in the plan's order; many members have one together.

    Args:
        steps: The steps of a run.
        origin: When the run began, from which seconds count; 0 counts from the first attempt.
    """
    shown = lane_states(steps)
    first = min((each.started_at for step, _ in shown for each in step.attempts), default=0.0)
    origin = min(origin, first) if origin else first
    return [
        bar
        for step, members in shown
        for bar in (
            [_shared(step, members, origin)]
            if members
            else [_bar(step, attempt, origin) for attempt in step.attempts]
        )
    ]


def _shared(step: StepState, members: int, origin: float) -> Bar:
    """Return the bar of many members: from the first one's start to the last one's end."""
    first = min(step.attempts, key=lambda attempt: attempt.started_at + attempt.queue_s)
    whole = first.model_copy(
        update={
            "started_at": step.attempts[0].started_at,
            "queue_s": first.started_at + first.queue_s - step.attempts[0].started_at,
            "ended_at": max(attempt.checked_at for attempt in step.attempts),
            "category": step.category,
            "number": 1,
            "agent": f"×{members} {step.agent}",
        }
    )
    return _bar(step, whole, origin)


def timeline(
    steps: Sequence[StepState], width: int, origin: float = 0.0, *, figures: bool = True
) -> list[str]:
    """Draw the attempts, a line each, in `width` characters; empty if nothing ran."""
    rows = bars(steps, origin)
    total_s = max((bar.end_s for bar in rows), default=0.0)
    room = max(10, width - _NAME - (36 if figures else 3))
    lines = [f"{_label(bar)} |{bar.line(room, total_s)}|" for bar in rows]
    if not figures:
        return lines
    return [f"{line} {_figures(bar)}" for line, bar in zip(lines, rows, strict=True)]


def _bar(step: StepState, attempt: Attempt, origin: float) -> Bar:
    return Bar(
        step=step.id,
        agent=attempt.agent or step.agent,
        number=attempt.number,
        start_s=attempt.started_at - origin,
        turn_s=min(attempt.started_at + attempt.queue_s, attempt.ended_at) - origin,
        end_s=attempt.checked_at - origin,
        failed=attempt.category is not None,
        critical=step.critical,
        slack_s=step.slack_s,
    )


def _label(bar: Bar) -> str:
    again = f" #{bar.number}" if bar.number > 1 else ""
    name = one_line(f"{bar.step} {bar.agent}", _NAME - 2 - len(again)) + again
    return f"{'*' if bar.critical else ' '} {name}".ljust(_NAME)


def _figures(bar: Bar) -> str:
    span = f"{bar.start_s:.1f} to {bar.end_s:.1f} s"
    if bar.critical or bar.slack_s is None:
        return span
    return f"{span}, slack {duration(bar.slack_s)}"


_MEMORY_SHOWN = 3
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
        *(_memory_some(chosen, _LISTED) or ["the plan decided who does what"]),
    ]
    if len(times) > 1:
        parts.append(f"ordered by expected times: {', '.join(_memory_some(times, _LISTED))}")
    return "; ".join(parts)


def _memory_some(parts: list[str], limit: int) -> list[str]:
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
    return "; ".join(_memory_some(memories, _MEMORY_SHOWN))


_LEAST_S = 0.05
"""Less than that is shown as 0.0 s."""
_STEPS_NAMED = 4
_MOST_ROWS = 40
_LEAST_QUEUED_S = 1.0
_PATH = ("Took", "Step", "Of that")


def time_line(time: RunTime) -> str:
    """Write a run's time in a line: `13.9 s = model 9.4 (S1, S3) + planning 2.1 + Prefect 2.4`."""
    parts = [
        f"{KIND_WORDS[kind]} {_short(seconds)}{_at(kind, time.stretches)}"
        for kind, seconds in time.seconds.items()
        if seconds >= _LEAST_S
    ]
    small = [seconds for seconds in time.seconds.values() if seconds < _LEAST_S]
    if sum(small) >= _LEAST_S:
        parts.append(f"other {_short(sum(small))}")
    total = f"{duration(time.total_s)} = {' + '.join(parts)}" if parts else duration(time.total_s)
    queued = f", after {duration(time.queued_s)} in Prefect's queue"
    return f"{total}{queued}" if time.queued_s >= _LEAST_QUEUED_S else total


def time_blocks(time: RunTime | None, steps: Sequence[StepState]) -> list[Block]:
    """Return the blocks of a page that say where the time went; none if it wasn't measured."""
    if time is None:
        return []
    return [time_figures(time, steps), path_table(time)]


def run_figures(metrics: Metrics, cost: Cost, parl: ParlFigures | None = None) -> Figures:
    """Return the figures of a run, each with what it means; those of PARL where it has them."""
    money = f", {dollars(cost.money_usd)}" if cost.money_usd is not None else ""
    values = {
        "total": duration(metrics.total_s) if metrics.total_s else "",
        "makespan": duration(metrics.makespan_s),
        "critical path": duration(metrics.critical_path_s),
        "waits": duration(metrics.critical_wait_s),
        "work": duration(metrics.work_s),
        "parallelism": f"{metrics.parallelism:.2f}",
        "speedup": f"{metrics.speedup:.2f}",
        "critical steps": str(metrics.critical_steps),
        "cost": f"{cost.calls:,} calls, {cost.tokens:,} tokens{money}",
    }
    own = (Figure(name, value, FIGURES[name]) for name, value in values.items() if value)
    return Figures((*own, *figures_of_parl(parl)))


def time_figures(time: RunTime, steps: Sequence[StepState]) -> Figures:
    """Return what the total is made of, the makespan's own parts, and the seconds of each kind."""
    kinds = [
        Figure(KIND_WORDS[kind], _share(seconds, time.total_s), TIME_KINDS[kind])
        for kind, seconds in time.seconds.items()
    ]
    return Figures((*_parts(time, steps), *kinds))


def path_table(time: RunTime) -> Table:
    """Return what the run's end waited for, step by step; the seconds add up to the total."""
    groups: list[tuple[str, list[Stretch]]] = []
    for each in time.stretches:
        if groups and groups[-1][0] == each.step:
            groups[-1][1].append(each)
        else:
            groups.append((each.step, [each]))
    rows = [_row(step, stretches) for step, stretches in groups]
    return Table(_PATH, tuple(rows[:_MOST_ROWS]), max(0, len(rows) - _MOST_ROWS))


def _parts(time: RunTime, steps: Sequence[StepState]) -> list[Figure]:
    """Return the total, and what of it was before, in and after the steps."""
    whole = [Figure("total", duration(time.total_s), FIGURES["total"])]
    if time.queued_s >= _LEAST_QUEUED_S:
        name = "in Prefect's queue"
        whole.append(Figure(name, duration(time.queued_s), FIGURES[name]))
    if not any(step.attempts for step in steps):
        return whole
    first, last = span_of(steps)
    within = seconds_by_kind(time.stretches, first, last)
    return [
        *whole,
        Figure("before the steps", duration(first - time.began_at), FIGURES["before"]),
        Figure("makespan", duration(last - first), f"{FIGURES['makespan']}: {_words(within)}"),
        Figure("after the steps", duration(time.ended_at - last), FIGURES["after"]),
    ]


def _row(step: str, stretches: Sequence[Stretch]) -> tuple[Text, ...]:
    since, until = stretches[0].started_at, stretches[-1].ended_at
    kinds = _words(seconds_by_kind(stretches, since, until))
    return duration(until - since), Ref(step, step) if step else "the run", kinds


def _words(seconds: Mapping[TimeKind, float]) -> str:
    shown: Mapping[TimeKind, float] = {k: s for k, s in seconds.items() if s >= _LEAST_S}
    return ", ".join(
        f"{KIND_WORDS[kind]} {duration(spent)}" for kind, spent in (shown or seconds).items()
    )


def _at(kind: TimeKind, stretches: Iterable[Stretch]) -> str:
    """Name the steps that a model, a tool or a wait was of."""
    if kind == "prefect":
        return ""
    steps = [*dict.fromkeys(each.step for each in stretches if each.kind == kind and each.step)]
    more = f" and {len(steps) - _STEPS_NAMED} more" if len(steps) > _STEPS_NAMED else ""
    return f" ({', '.join(steps[:_STEPS_NAMED])}{more})" if steps else ""


def _short(seconds: float) -> str:
    return duration(seconds).removesuffix(" s")


def _share(seconds: float, total_s: float) -> str:
    return f"{duration(seconds)}, {100 * seconds / total_s:.0f} %" if total_s else duration(seconds)
