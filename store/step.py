"""A step of a run: as it is now, in the process that works on it, and as it is stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, cast

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr

from ..data_types import Finite, Frozen
from ..errors import Category
from ..metrics.clock import Stretch
from ..plan.compile import CompiledStep
from ..plan.output import StepOutput
from ..plan.schedule_events import UNFINISHED, EndStatus, StepStatus
from ..untrusted.opening import PlainName
from .attempt import Attempt, Decision, Usage, excerpt

__all__ = ["RunPart", "StepState", "TakenFrom"]


class TakenFrom(Frozen):
    """Where a step was done that a fork of a run takes over.

    Attributes:
        run: The run that did it, and counts what it took.
        output_ref: Where that run has the whole output.
    """

    run: PlainName
    output_ref: str

    @property
    def words(self) -> str:
        """It in words."""
        return f"taken over from run {self.run}"


class RunPart(Frozen):
    """The run that does a step and its members, on a work pool.

    Attributes:
        pool: The work pool.
        run: The run's short id.
        flow_run_id: Prefect's id of its flow run; `flow_run` is the name.
        url: Where the Prefect UI shows it; "" where no UI is known.
    """

    pool: str
    run: PlainName
    flow_run_id: str
    flow_run: str
    url: str = ""

    @property
    def words(self) -> str:
        """It in words."""
        return f"done by flow run {self.flow_run} on the work pool {self.pool}, as run {self.run}"


class StepState(BaseModel):
    """One step of a run. `reason` says why it is not `succeeded`.

    Its JSON is what a run keeps of it. `agent` and `prompt` are those of its last attempt. `change`
    says how they became other than planned (`replaced`, `given to` somebody), `planned` what they
    were; both are "" if they didn't. A step that isn't over is `unfinished`.

    In the process that works on the run it has more: the compiled step, the whole output, and what
    the next attempt needs. Everybody reads it; it changes through its own methods alone.
    """

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    id: PlainName
    agent: str
    prompt: str = ""
    change: str = ""
    planned: str = ""
    status: Literal[EndStatus, "unfinished"]
    reason: str = ""
    category: Category | None = None
    attempts: tuple[Attempt, ...] = ()
    output_ref: str | None = Field(default=None, description="Where the whole output is stored.")
    task_runs: tuple[str, ...] = Field(
        default=(), description="Prefect's ids of the last task runs, which what follows waits for."
    )
    truncated: bool = Field(default=False, description="Whether its output is cut off.")
    excerpt: str = ""
    slack_s: Finite | None = Field(
        default=None, description="Seconds it could have taken longer; None if it never ran."
    )
    critical: bool = False
    taken_from: TakenFrom | None = Field(
        default=None, description="The run that did it, where it was taken over; no attempts then."
    )
    part: RunPart | None = Field(
        default=None, description="The run that does it and its members, on a work pool."
    )
    parent: str = Field(default="", description="The step that it is an instance or a part of.")
    label: str = Field(default="", description="Its item in a few words.")
    digest: str = Field(default="", description="SHA-256 of its item.")
    asked: str = Field(
        default="",
        description="SHA-256 of what a member is asked for and reads: its item, not its number.",
    )
    summary: str = Field(default="", description="What its members came to, where it has some.")
    by_condition: bool = Field(
        default=False, description="Whether a condition skipped it, which is no failure."
    )

    _step: CompiledStep = PrivateAttr()
    _planned_step: CompiledStep = PrivateAttr()
    _now: StepStatus = PrivateAttr(default="waiting")
    _revision: int = PrivateAttr(default=0)
    _output: StepOutput | None = PrivateAttr(default=None)
    _best: str = PrivateAttr(default="")
    _progress: tuple[bool, int] = PrivateAttr(default=(False, 0))
    _partial_text: str = PrivateAttr(default="")
    _advice: str = PrivateAttr(default="")
    _prepared: int = PrivateAttr(default=0)
    _members: tuple[str, ...] = PrivateAttr(default=())

    @classmethod
    def of(cls, step: CompiledStep, parent: str = "", asked: str = "") -> StepState:
        """Return the state of a step that has not begun.

        Args:
            step: The step.
            parent: What it is a member of.
            asked: The hash of what it is asked for, where it is a member.
        """
        state = cls(
            id=step.id,
            agent=step.agent,
            prompt=step.prompt,
            status="unfinished",
            parent=parent,
            label=step.label,
            digest=step.digest,
            asked=asked,
        )
        state._step = state._planned_step = step
        return state

    @property
    def step(self) -> CompiledStep:
        """The compiled step as it is now: one that is replaced or delegated changes."""
        return self._step

    @property
    def now(self) -> StepStatus:
        """Its status in the schedule."""
        return self._now

    @property
    def revision(self) -> int:
        """How often it was replaced."""
        return self._revision

    @property
    def output(self) -> StepOutput | None:
        """What it produced, once it has succeeded."""
        return self._output

    @property
    def best(self) -> str:
        """The artifact that got furthest through the gates so far."""
        return self._best

    @property
    def partial_text(self) -> str:
        """What there is of an answer that was cut off, as it was written."""
        return self._partial_text

    @property
    def advice(self) -> str:
        """A person's advice for the next attempt."""
        return self._advice

    @property
    def prepared(self) -> int:
        """The number of the attempt for which the last decision was carried out."""
        return self._prepared

    @property
    def members(self) -> tuple[str, ...]:
        """Ids of its instances, rounds or inner steps so far."""
        return self._members

    @property
    def decision(self) -> Decision | None:
        """What the last attempt's failure led to; None if there is no attempt, or it succeeded."""
        return self.attempts[-1].decision if self.attempts else None

    @property
    def status_words(self) -> str:
        """Its status in words: one that was skipped after attempts *gave up*."""
        gave_up = self.status == "skipped" and self.attempts and not self.by_condition
        return "gave up" if gave_up else self.status

    @property
    def work_s(self) -> float:
        """Seconds of work over all its attempts, without the time it waited for a model."""
        return sum(attempt.work_s for attempt in self.attempts)

    @property
    def wait_s(self) -> float:
        """Seconds over all its attempts that it waited for a model."""
        return sum(attempt.queue_s for attempt in self.attempts)

    @property
    def calls(self) -> int:
        """Model calls over all its attempts."""
        return sum(attempt.usage.requests for attempt in self.attempts)

    @property
    def tokens(self) -> int:
        """Tokens read and written over all its attempts."""
        return sum(attempt.usage.tokens for attempt in self.attempts)

    @property
    def pictures(self) -> dict[str, str]:
        """Names of the pictures that calls of its attempts returned, with the tools, last first."""
        calls = (call for attempt in reversed(self.attempts) for call in attempt.calls)
        found: dict[str, str] = {}
        for call in calls:
            for name in call.pictures:
                found.setdefault(name, call.tool)
        return found

    def stored(self, *, slack_s: float | None = None, critical: bool = False) -> StepState:
        """Return what a run keeps of it: without what only this process has."""
        fields = {name: getattr(self, name) for name in StepState.model_fields}
        return StepState.model_validate(fields | {"slack_s": slack_s, "critical": critical})

    def set_status(self, status: StepStatus) -> None:
        """Take the status that the schedule gives it."""
        self._now = status
        self.status = "unfinished" if status in UNFINISHED else cast("EndStatus", status)

    def succeed(
        self, attempt: Attempt, artifact: str, output_ref: str, task_runs: Sequence[str]
    ) -> None:
        """Take an attempt that passed all gates; its artifact is the step's output."""
        self.attempts = (*self.attempts, attempt)
        self._take(artifact, output_ref, task_runs)

    def add_members(self, members: Sequence[str]) -> None:
        """Take instances, rounds or inner steps that it has now."""
        self._members = (*self._members, *members)

    def close(
        self, output: StepOutput | None, output_ref: str, task_runs: Sequence[str], summary: str
    ) -> None:
        """Take what its members came to; no output where too many of them failed."""
        self.task_runs, self.summary = tuple(task_runs), summary
        if output is not None:
            self._output, self.output_ref = output, output_ref
            self.excerpt = excerpt(output.text)

    def summarise(self, summary: str) -> None:
        """Note what its members, or the outputs that it joins, came to so far."""
        self.summary = summary

    def keep(self, artifact: str, output_ref: str, task_runs: Sequence[str]) -> None:
        """Take the last attempt's text, although it is cut off."""
        self.truncated = True
        self._take(artifact, output_ref, task_runs)

    def restore(self, stored: StepState, artifact: str) -> None:
        """Take what an earlier process, or another run, wrote down of the step.

        It had succeeded. What it took in another run isn't this one's, so it has no attempts.
        """
        self.attempts = stored.attempts
        self._revision = stored.attempts[-1].revision if stored.attempts else 0
        self._change(replace(self._step, agent=stored.agent, prompt=stored.prompt))
        if stored.taken_from is not None:
            self.taken_from = stored.taken_from
            self.change, self.planned = stored.change, stored.planned
        self.truncated = stored.truncated
        self._take(artifact, stored.output_ref or "", stored.task_runs)

    def follow(self, part: RunPart) -> None:
        """Note which run does it."""
        self.part = part

    def take_end(self, stored: StepState) -> None:
        """Take how it ended in another run, without an output."""
        self.attempts = stored.attempts
        self.category, self.reason = stored.category, stored.reason
        self.by_condition = stored.by_condition

    def fail(
        self,
        attempt: Attempt,
        decision: Decision,
        artifact: str,
        progress: tuple[bool, int],
        task_runs: Sequence[str],
    ) -> None:
        """Take an attempt that failed, what it led to, and how far its artifact got."""
        self.attempts = (*self.attempts, attempt.model_copy(update={"decision": decision}))
        self.task_runs = tuple(task_runs)
        self._advice = ""
        if artifact and progress[0] and progress >= self._progress:
            self._best, self._progress = artifact, progress
        self.category = attempt.category
        self.reason = f"{attempt.category}: {attempt.error} ({decision.reason})"

    def end(self, reason: str, category: Category | None = None) -> None:
        """Note why nothing more is tried, or nothing was."""
        self.category = category
        self.reason = f"{category}: {reason}" if category else reason

    def skip_by_condition(self, reason: str) -> None:
        """Note that a condition has it skipped, and which."""
        self.by_condition = True
        self.end(reason)

    def add_reason(self, reason: str) -> None:
        """Note what else went wrong after the last attempt had failed."""
        self.reason = f"{self.reason} {reason}"

    def note_partial_text(self, text: str) -> None:
        """Note an answer that was cut off, for the attempt that writes on."""
        self._partial_text = text

    def advise(self, advice: str) -> None:
        """Note a person's advice for the next attempt."""
        self._advice = advice

    def prepare(self, attempt: int) -> None:
        """Note that all is done that has to be done before an attempt."""
        self._prepared = attempt

    def replace_step(self, step: CompiledStep) -> None:
        """Go on with another step under the same id; what the old one made counts no more."""
        self._revision += 1
        self._best, self._progress, self._partial_text = "", (False, 0), ""
        self._change(step)

    def delegate(self, agent: str, instructions: str) -> None:
        """Give the step to another agent."""
        self._change(replace(self._step, agent=agent, instructions=instructions, persona=""))

    def wait_for(self, task_run: str) -> None:
        """Have whatever comes next wait for this task run alone."""
        self.task_runs = (task_run,) if task_run else ()

    def note_time(self, stretches: Sequence[Stretch]) -> None:
        """Add to the last attempt what was done after its end."""
        if stretches:
            self._note_last(stretches=(*self.attempts[-1].stretches, *stretches))

    def note_question(self, usage: Usage, duration_s: float) -> None:
        """Add what a question to the orchestrator took to what the last decision's others did."""
        if decision := self.decision:
            self.note(usage=decision.usage + usage, duration_s=decision.duration_s + duration_s)

    def note(self, **outcome: object) -> None:
        """Add to the last decision what came of it."""
        if decision := self.decision:
            self._note_last(decision=decision.model_copy(update=outcome))

    def _note_last(self, **fields: object) -> None:
        *before, last = self.attempts
        self.attempts = (*before, last.model_copy(update=fields))

    def _take(self, artifact: str, output_ref: str, task_runs: Sequence[str]) -> None:
        self.task_runs = tuple(task_runs)
        self.output_ref, self.excerpt = output_ref, excerpt(artifact)
        self._output = StepOutput(
            name=self.id, agent=self.agent, kind=self._step.output.kind, text=artifact
        )
        self.category, self.reason = None, ""

    def _change(self, step: CompiledStep) -> None:
        """Take another form of the step, and say how it differs from what was planned."""
        self._step, self.agent, self.prompt = step, step.agent, step.prompt
        current = [attempt for attempt in self.attempts if attempt.revision == self._revision]
        delegated = any(attempt.agent != step.agent for attempt in current)
        changes = ["replaced"] if self._revision else []
        self.change = ", ".join([*changes, f"given to {step.agent}"] if delegated else changes)
        planned = self._planned_step
        self.planned = excerpt(f"{planned.agent}: {planned.prompt}") if self.change else ""
