"""The context that all parts of one run share: plan, records of steps, budget, place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from prefect.client.schemas.objects import State

from ..errors import Category
from ..metrics.clock import Stretch
from ..metrics.critical_path import StepRun, critical_path, slacks
from ..plan.compile import CompiledPlan, CompiledStep
from ..plan.output import StepOutput
from ..plan.schedule import StepStatus
from ..store.events import EventSink, null_sink
from ..store.folder import RunFolder
from ..store.result import Attempt, Decision, StepResult, TakenFrom, Usage, excerpt
from ..tasks.subagent.request import CallLimits
from .bounds import Ledger, Models, call_limits
from .options import SwarmOptions
from .prestart import PrestartedRequests

__all__ = [
    "RunContext",
    "StepRecord",
    "frontier",
    "save_step",
    "save_step_aside",
    "step_result",
    "step_results",
    "step_runs",
]


@dataclass(slots=True)
class StepRecord:
    """One step's history. Everybody reads it; it changes through its own methods alone.

    Attributes:
        step: As it is now: a step that is replaced or delegated changes.
        planned: As it was in the plan.
        revision: How often it was replaced.
        output: What it produced, once it has succeeded.
        output_ref: The file that has all of it.
        category: What kind of failure its last attempt was; None if it was none.
        reason: Why it failed or was skipped; "" if it didn't and wasn't.
        begun: What there is of an answer that was cut off, as it was written.
        truncated: Whether its output is cut off.
        best: The artifact that got furthest through the gates so far, as `progress` says.
        states: The Prefect states that whatever comes next waits for.
        advice: A person's advice for the next attempt.
        prepared: The number of the attempt for which the last decision was carried out.
        taken_from: Where it was done, if it was taken over from another run.
    """

    step: CompiledStep
    attempts: list[Attempt] = field(init=False, default_factory=list[Attempt])
    revision: int = field(init=False, default=0)
    best: str = field(init=False, default="")
    progress: tuple[bool, int] = field(init=False, default=(False, 0))
    begun: str = field(init=False, default="")
    truncated: bool = field(init=False, default=False)
    states: tuple[State[Any], ...] = field(init=False, default=())
    output: StepOutput | None = field(init=False, default=None)
    output_ref: str | None = field(init=False, default=None)
    category: Category | None = field(init=False, default=None)
    reason: str = field(init=False, default="")
    advice: str = field(init=False, default="")
    prepared: int = field(init=False, default=0)
    planned: CompiledStep = field(init=False)
    taken_from: TakenFrom | None = field(init=False, default=None)
    _taken_change: tuple[str, str] = field(init=False, default=("", ""))

    def __post_init__(self) -> None:
        self.planned = self.step

    @property
    def change(self) -> str:
        """How it became another step than planned, in words; "" if it didn't."""
        if self.taken_from is not None:
            return self._taken_change[0]
        current = [attempt for attempt in self.attempts if attempt.revision == self.revision]
        delegated = any(attempt.agent != self.step.agent for attempt in current)
        changes = ["replaced"] if self.revision else []
        return ", ".join([*changes, f"given to {self.step.agent}"] if delegated else changes)

    @property
    def before(self) -> str:
        """Who was to do what before it changed; "" if it didn't."""
        if self.taken_from is not None:
            return self._taken_change[1]
        planned = self.planned
        return excerpt(f"{planned.agent}: {planned.prompt}") if self.change else ""

    @property
    def decision(self) -> Decision | None:
        """What the last attempt's failure led to; None if there is no attempt, or it succeeded."""
        return self.attempts[-1].decision if self.attempts else None

    def succeed(
        self, attempt: Attempt, artifact: str, output_ref: str, states: Sequence[State[Any]]
    ) -> None:
        """Take an attempt that passed all gates; its artifact is the step's output."""
        self.attempts.append(attempt)
        self._take(artifact, output_ref, states)

    def keep(self, artifact: str, output_ref: str, states: Sequence[State[Any]]) -> None:
        """Take the last attempt's text, although it is cut off."""
        self.truncated = True
        self._take(artifact, output_ref, states)

    def _take(self, artifact: str, output_ref: str, states: Sequence[State[Any]]) -> None:
        self.states = tuple(states)
        self.output_ref = output_ref
        self.output = StepOutput(
            name=self.step.id, agent=self.step.agent, kind=self.step.output.kind, text=artifact
        )
        self.category, self.reason = None, ""

    def restore(self, stored: StepResult, artifact: str, states: Sequence[State[Any]]) -> None:
        """Take what an earlier process, or another run, wrote down of the step.

        It had succeeded. What it took in another run isn't this one's, so it has no attempts.
        """
        self.attempts.extend(stored.attempts)
        self.taken_from = stored.taken_from
        self._taken_change = (stored.change, stored.planned)
        self.revision = stored.attempts[-1].revision if stored.attempts else 0
        self.step = replace(self.step, agent=stored.agent, prompt=stored.prompt)
        self.truncated = stored.truncated
        self._take(artifact, stored.output_ref or "", states)

    def begin(self, text: str) -> None:
        """Note an answer that was cut off, for the attempt that writes on."""
        self.begun = text

    def fail(
        self,
        attempt: Attempt,
        decision: Decision,
        artifact: str,
        progress: tuple[bool, int],
        states: Sequence[State[Any]],
    ) -> None:
        """Take an attempt that failed, what it led to, and how far its artifact got."""
        self.attempts.append(attempt.model_copy(update={"decision": decision}))
        self.states = tuple(states)
        self.advice = ""
        if artifact and progress[0] and progress >= self.progress:
            self.best, self.progress = artifact, progress
        self.category = attempt.category
        self.reason = f"{attempt.category}: {attempt.error} ({decision.reason})"

    def end(self, reason: str, category: Category | None = None) -> None:
        """Note why nothing more is tried, or nothing was."""
        self.category = category
        self.reason = f"{category}: {reason}" if category else reason

    def advise(self, advice: str) -> None:
        """Note a person's advice for the next attempt."""
        self.advice = advice

    def prepare(self, attempt: int) -> None:
        """Note that all is done that has to be done before an attempt."""
        self.prepared = attempt

    def add_reason(self, reason: str) -> None:
        """Note what else went wrong after the last attempt had failed."""
        self.reason = f"{self.reason} {reason}"

    def replace_step(self, step: CompiledStep) -> None:
        """Go on with another step under the same id; what the old one made counts no more."""
        self.step = step
        self.revision += 1
        self.best, self.progress, self.begun = "", (False, 0), ""

    def delegate(self, agent: str, instructions: str) -> None:
        """Give the step to another agent."""
        self.step = replace(self.step, agent=agent, instructions=instructions, persona="")

    def wait_for(self, state: State[Any]) -> None:
        """Have whatever comes next wait for this state alone."""
        self.states = (state,)

    def note_time(self, stretches: Sequence[Stretch]) -> None:
        """Add to the last attempt what was done after its end."""
        if stretches:
            last = self.attempts[-1]
            update = {"stretches": (*last.stretches, *stretches)}
            self.attempts[-1] = last.model_copy(update=update)

    def note_question(self, usage: Usage, duration_s: float) -> None:
        """Add what a question to the orchestrator took to what the last decision's others did."""
        if decision := self.decision:
            self.note(usage=decision.usage + usage, duration_s=decision.duration_s + duration_s)

    def note(self, **outcome: object) -> None:
        """Add to the last decision what came of it."""
        last = self.attempts[-1]
        if last.decision is not None:
            decision = last.decision.model_copy(update=outcome)
            self.attempts[-1] = last.model_copy(update={"decision": decision})


def step_runs(records: Sequence[StepRecord]) -> tuple[StepRun, ...]:
    """Return what was measured of the steps that ran, in the plan's order."""
    return tuple(
        StepRun(
            id=record.step.id,
            upstream=record.step.upstream,
            started_at=record.attempts[0].started_at,
            ended_at=record.attempts[-1].ended_at,
            work_s=sum(attempt.duration_s for attempt in record.attempts),
            calls=sum(attempt.usage.requests for attempt in record.attempts),
            wait_s=sum(attempt.queue_s for attempt in record.attempts),
        )
        for record in records
        if record.attempts
    )


def frontier(plan: CompiledPlan, records: Mapping[str, StepRecord]) -> tuple[StepRecord, ...]:
    """Return the succeeded steps that no other succeeded step reads: what an answer is made of."""
    done = [record for record in records.values() if record.output is not None]
    if plan.final_step is not None and records[plan.final_step].output is not None:
        return (records[plan.final_step],)
    read = {name for record in done for name in record.step.upstream}
    return tuple(record for record in done if record.step.id not in read)


def step_results(
    records: Sequence[StepRecord], statuses: Mapping[str, StepStatus]
) -> tuple[StepResult, ...]:
    """Write down how every step ended, or how far it is in a run that was left early."""
    runs = step_runs(records)
    slack = slacks(runs)
    path = critical_path(runs)
    return tuple(
        step_result(
            record,
            statuses[record.step.id],
            slack_s=slack.get(record.step.id),
            critical=record.step.id in path,
        )
        for record in records
    )


def step_result(
    record: StepRecord,
    status: StepStatus,
    *,
    slack_s: float | None = None,
    critical: bool = False,
) -> StepResult:
    """Write down how a step ended; what isn't over is `unfinished`."""
    return StepResult(
        id=record.step.id,
        agent=record.step.agent,
        prompt=record.step.prompt,
        change=record.change,
        planned=record.before,
        status="unfinished" if status in ("waiting", "asked", "ready", "running") else status,
        reason=record.reason,
        category=record.category,
        attempts=tuple(record.attempts),
        output_ref=record.output_ref,
        task_runs=tuple(
            str(state.state_details.task_run_id)
            for state in record.states
            if state.state_details.task_run_id
        ),
        truncated=record.truncated,
        excerpt=excerpt(record.output.text if record.output else ""),
        slack_s=slack_s,
        critical=critical,
        taken_from=record.taken_from,
    )


def save_step(run: RunFolder, record: StepRecord, status: StepStatus) -> None:
    """Write how far a step is, with its attempts, their gates and decisions, into its file.

    A resumed run takes the steps that had succeeded from there.
    """
    run.write_step(step_result(record, status))


async def save_step_aside(run: RunFolder, record: StepRecord, status: StepStatus) -> None:
    """Do as `save_step` does; the step is on the disk when this returns, and others went on."""
    await run.write_step_aside(step_result(record, status))


@dataclass(frozen=True, slots=True)
class RunContext:
    """One run of one plan.

    Attributes:
        flow_run_id: Prefect's id of the flow run.
        records: What is known of each step, by its id; a record changes, the mapping doesn't.
        ledger: What the run may still spend.
        plan_state: The Prefect state that steps without upstream wait for.
        restart_counts: How often each step was begun again after its run had failed; see
            `RunFolder.begin_again`.
        models: What is known of the models.
        tell: Hears of what happens in the run.
        ahead: What was asked ahead of the plan, if anything could be.
    """

    plan: CompiledPlan
    run: RunFolder
    flow_run_id: str
    options: SwarmOptions
    records: Mapping[str, StepRecord]
    ledger: Ledger
    plan_state: State[Any] | None = None
    restart_counts: Mapping[str, int] = field(default_factory=dict[str, int])
    models: Models = field(default_factory=Models)
    emit: EventSink = null_sink
    ahead: PrestartedRequests | None = None

    @property
    def key(self) -> str:
        """What the cache keys of this run and plan begin with."""
        return f"{self.flow_run_id}.{self.plan.content_hash[:16]}"

    def upstream_of(self, step: CompiledStep) -> tuple[StepOutput, ...]:
        """Return what a step reads: inputs of the plan, and the outputs of the steps before it."""
        inputs = (StepOutput(name=name, text=text) for name, text in self.plan.inputs_of(step))
        outputs = (self.records[name].output for name in step.upstream)
        return (*inputs, *(output for output in outputs if output is not None))

    @property
    def limits(self) -> CallLimits:
        """What bounds a call of the orchestrator."""
        name = self.options.model_of("orchestrator")
        return call_limits(self.options, "orchestrator", self.models.profile(name))
