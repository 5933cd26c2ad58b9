"""The context that all parts of one run share: plan, records of steps, budget, place."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from prefect.client.schemas.objects import State

from ..memory.store import Store
from ..metrics.critical_path import critical_path, seconds_of, slacks
from ..plan.bounds import Size
from ..plan.compile import CompiledPlan, CompiledStep
from ..plan.irreversible import IrreversibleStep
from ..plan.output import WORKSPACE, StepOutput
from ..store.events import EventSink, PlannedStep
from ..store.protocol import RunStore
from ..store.step import StepState
from ..tasks.subagent.request import CallLimits
from ..toolsets.catalogue import Catalogue
from ..workspace.place import Workplace
from .bounds import Ledger, Models, call_limits
from .control import RunControl
from .followed import FollowedSteps
from .options import SwarmOptions
from .prestart import PrestartedRequests
from .step_needs import needs_of_records
from .workspace import Workspace

__all__ = [
    "RunContext",
    "frontier",
    "planned_steps",
    "save_step",
    "save_step_aside",
    "step_results",
]


def planned_steps(steps: Iterable[CompiledStep]) -> tuple[PlannedStep, ...]:
    """Return steps as events name them."""
    return tuple(
        PlannedStep(
            id=step.id,
            agent=step.agent,
            tier="" if step.call else step.tier,
            upstream=step.needs,
            optional=step.optional,
            label=step.label,
        )
        for step in steps
    )


def frontier(plan: CompiledPlan, records: Mapping[str, StepState]) -> tuple[StepState, ...]:
    """Return the succeeded steps that no other succeeded step reads: what an answer is made of.

    Where a step failed that is for each, its instances stand for it as far as they succeeded.
    """
    done = [
        each for record in records.values() if not record.parent for each in _done(record, records)
    ]
    if plan.final_step is not None and records[plan.final_step].output is not None:
        return (records[plan.final_step],)
    read = {name for record in done for name in record.step.upstream}
    return tuple(record for record in done if record.step.id not in read)


def _done(record: StepState, records: Mapping[str, StepState]) -> Iterator[StepState]:
    if record.output is not None:
        yield record
    elif record.step.for_each is not None:
        for member in record.members:
            yield from _done(records[member], records)


def step_results(records: Sequence[StepState]) -> tuple[StepState, ...]:
    """Write down how every step ended, or how far it is in a run that was left early."""
    records = _in_order(records)
    seconds = seconds_of(records)
    upstream = needs_of_records(records)
    slack, path = slacks(seconds, upstream), critical_path(seconds, upstream)
    return tuple(
        record.stored(slack_s=slack.get(record.id), critical=record.id in path)
        for record in records
    )


def _in_order(records: Sequence[StepState]) -> list[StepState]:
    """Return steps in the plan's order, members behind their step."""
    known = {record.id: record for record in records}

    def within(record: StepState) -> Iterator[StepState]:
        yield record
        for member in record.members:
            yield from within(known[member])

    return [each for record in records if not record.parent for each in within(record)]


def save_step(run: RunStore, record: StepState) -> None:
    """Write how far a step is, with its attempts, their gates and decisions, into the store.

    A resumed run takes the steps that had succeeded from there.
    """
    run.save_step(record.stored())


async def save_step_aside(run: RunStore, record: StepState) -> None:
    """Do as `save_step` does; the step is on the disk when this returns, and others went on."""
    await asyncio.to_thread(run.save_step, record.stored())


_NO_PLAN = CompiledPlan("", (), None, (), "chat", (), "")


@dataclass(slots=True)
class RunContext:
    """One run, as all its parts share it.

    Attributes:
        flow_run_id: Prefect's id of the flow run.
        objective: What is wanted.
        ledger: What the run may still spend.
        emit: Where events go.
        control: How the code around the flow stops the run, and who asks a person.
        inputs: Texts to work on, by their names.
        models: What is known of the models.
        toolsets: What agents may work with.
        memory: What earlier runs have left; None for a run without.
        prestarted: Requests that are made before the plan is complete.
        plan: The compiled plan; it has no steps before there is one, and more after a turn of the
            orchestrator's.
        sizes: What its steps come to, by their ids.
        records: What is known of each step, by its id; members are added as steps are expanded.
        plan_state: The Prefect state that steps without upstream wait for.
        turn_runs: Prefect's id of the task run of the turn that assigned a step, by the step's id;
            steps of the first plan are not there.
        restart_counts: How often each step was begun again after its run had failed; see
            `RunStore.begin_again`.
        followed: Which steps other runs do.
        deployments: Which deployment does parts of the plan, by the names of work pools.
        irreversible: Steps of the plan that act, and that nothing undoes.
        workspace: The files that steps read and change; None where there are none.
    """

    run: RunStore
    flow_run_id: str
    objective: str
    options: SwarmOptions
    ledger: Ledger
    emit: EventSink
    prestarted: PrestartedRequests
    control: RunControl = field(default_factory=RunControl)
    inputs: Mapping[str, str] = field(default_factory=dict[str, str])
    models: Models = field(default_factory=Models)
    toolsets: Catalogue = field(default_factory=Catalogue)
    memory: Store | None = None
    plan: CompiledPlan = _NO_PLAN
    sizes: Mapping[str, Size] = field(default_factory=dict[str, Size])
    records: dict[str, StepState] = field(default_factory=dict[str, StepState])
    plan_state: State[Any] | None = None
    turn_runs: dict[str, str] = field(default_factory=dict[str, str])
    restart_counts: Mapping[str, int] = field(default_factory=dict[str, int])
    followed: FollowedSteps = field(default_factory=FollowedSteps)
    deployments: Mapping[str, UUID] = field(default_factory=dict[str, UUID])
    irreversible: tuple[IrreversibleStep, ...] = ()
    workspace: Workspace | None = None

    @property
    def key(self) -> str:
        """What the cache keys of this run and plan begin with."""
        return f"{self.flow_run_id}.{self.plan.content_hash[:16]}"

    def upstream_of(self, step: CompiledStep) -> tuple[StepOutput, ...]:
        """Return what a step reads: inputs of the plan, and the outputs of the steps before it."""
        inputs = (StepOutput(name=name, text=text) for name, text in self.plan.inputs_of(step))
        item = (StepOutput(name="item", text=step.item, label=step.label),) if step.item else ()
        outputs = (output for name in step.upstream for output in self.outputs_of(name))
        return (*inputs, *item, *outputs)

    def outputs_read(self, step: CompiledStep) -> tuple[StepOutput, ...]:
        """Return the whole outputs of the steps that a step depends on, lists among them."""
        records = (self.records[name] for name in step.upstream)
        return tuple(record.output for record in records if record.output is not None)

    def outputs_of(self, name: str) -> Iterator[StepOutput]:
        """Yield what a step that needs another one reads of it: each instance, or its output."""
        for record in self.read_of(name):
            if record.output is not None:
                label = {"label": record.label} if record.label else {}
                yield record.output.model_copy(update=label)
            elif record.parent and record.status == "failed":
                yield StepOutput(
                    name=record.id,
                    agent=record.agent,
                    text=f"It failed: {record.reason}",
                    label=record.label,
                )

    def read_of(self, name: str) -> Iterator[StepState]:
        """Yield a step, or each of its instances if it is for each, at any depth of lists."""
        record = self.records[name]
        if record.step.for_each is None:
            yield record
            return
        for member in record.members:
            yield from self.read_of(member)

    def workspace_of(self, step: CompiledStep) -> Workspace | None:
        """Return the workspace, if a step works with it."""
        return self.workspace if WORKSPACE in step.tools else None

    def workplace_of(self, step: CompiledStep) -> Workplace | None:
        """Return what a step starts from in the workspace, if it works with that."""
        workspace = self.workspace_of(step)
        return workspace.place(step.id) if workspace else None

    @property
    def limits(self) -> CallLimits:
        """What bounds a call of the orchestrator."""
        name = self.options.model_of("orchestrator")
        return call_limits(self.options, "orchestrator", self.models.profile(name))
