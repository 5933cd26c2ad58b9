"""Fork a run: from Python, and what the command does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, cast

from prefect.exceptions import PausedRun

from ..blocks.given import GivenModel
from ..result import SwarmResult
from ..task_ir import TaskIR
from .approving.asking import left_waiting
from .edit import options_of
from .fork import FinishedWork, ForkSource, finished_work, taken_by
from .options import SwarmOptions
from .plan_file import plan_from
from .planning import plan_rules
from .stored.changes import with_changes
from .swarm import swarm

__all__ = ["PreparedFork", "fork", "prepare_fork"]


@dataclass(frozen=True, slots=True)
class PreparedFork:
    """A fork that can begin.

    Attributes:
        source: What it takes steps over from.
        plan: Its whole plan.
        options: Its models and bounds.
        taken: Ids of the steps that it takes over, as things are now.
        changed: The plan as the flow is given it: without the inputs that the source has; None if
            it is the source's own.
    """

    source: ForkSource
    plan: TaskIR
    options: SwarmOptions
    taken: tuple[str, ...]
    changed: TaskIR | None

    async def begin(self) -> SwarmResult:
        """Run it."""
        run = cast("Callable[..., Awaitable[SwarmResult]]", swarm)
        return await run(
            self.plan.objective, plan=self.changed, options=self.options, fork=self.source
        )


def prepare_fork(
    name: str,
    plan: TaskIR | None = None,
    again: Collection[str] = (),
    changes: Mapping[str, Any] | None = None,
) -> PreparedFork:
    """Find out what a fork of a run takes over; nothing is written.

    Args:
        name: The run's id, or its flow run's.
        plan: The plan that takes the place of the run's. Inputs that it leaves out stay.
        again: Ids of steps that are done anew, with all that depend on them.
        changes: Values that take the place of those of the options that the run began with.

    Raises:
        InputError: It can't be forked so.
        RunNotFoundError: No such run is stored.
    """
    work = finished_work(name)
    options = with_changes(options_of(work.run), changes or {})
    after = plan_from(
        (work.plan if plan is None else plan).model_dump(mode="json"),
        work.plan,
        plan_rules(options),
    )
    source = ForkSource(run=work.run.run_id, again=tuple(again))
    taken = taken_by(work, source, after)
    return PreparedFork(source, after, options, taken, _without_known(work, after))


async def fork(
    run: str,
    *,
    plan: TaskIR | None = None,
    again: Collection[str] = (),
    model: GivenModel | str | None = None,
    worker: GivenModel | str | None = None,
    coder: GivenModel | str | None = None,
    architect: GivenModel | str | None = None,
    orchestrator: GivenModel | str | None = None,
    changes: Mapping[str, Any] | None = None,
) -> SwarmResult:
    """Begin a new run that takes over what another one has finished.

    A finished step is taken over if the new plan asks it for the same, and it reads the same. It
    is not asked again, and the result says whose it is (`taken_from`). Metrics, cost and memory
    of the new run are of what it did itself.

    Args:
        run: The other run's id, or its flow run's. It may still go on.
        plan: The plan that takes the place of its plan. Inputs that it leaves out stay.
        again: Ids of steps that are done anew, with all that depend on them.
        model: The model of every tier that the other run had no model of its own for.
        worker: The cheapest tier's.
        coder: The middle tier's.
        architect: The most expensive tier's.
        orchestrator: The one that writes the answer.
        changes: Values of other options, by their names; the rest is as the other run began.

    Raises:
        InputError: It can't be forked so: the plan breaks a rule, a step isn't there, or nothing
            would come of it.
        ModelError: A tier's model can't be had.
        RunFailedError: No step succeeded; its `result` tells it all.
        RunNotFoundError: No such run is stored.
        RunWaitingError: It was left until a person answers.

    Example:
        ```python
        result = asyncio.run(fork("4f0c6b7b9d1a", again=["S3"], model="openai:gpt-5"))
        print([step.id for step in result.steps if step.taken_from])
        ```
    """
    named = {
        "model": model,
        "worker": worker,
        "coder": coder,
        "architect": architect,
        "orchestrator": orchestrator,
    }
    given = {tier: value for tier, value in named.items() if value is not None}
    prepared = prepare_fork(run, plan, again, {**(changes or {}), **given})
    try:
        return await prepared.begin()
    except PausedRun as error:
        raise left_waiting(error) from None


def _without_known(work: FinishedWork, plan: TaskIR) -> TaskIR | None:
    """Leave out what the flow finds in the source's folder: its parameters must stay small."""
    if plan == work.plan:
        return None
    known = work.plan.inputs
    inputs = {name: text for name, text in plan.inputs.items() if known.get(name) != text}
    return plan.model_copy(update={"inputs": inputs})
