"""Resuming a run that ended early, and forking one."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

from prefect.client.orchestration import PrefectClient
from prefect.client.schemas.objects import FlowRun
from prefect.exceptions import (
    CancelledRun,
    ObjectNotFound,
    Pause,
    PausedRun,
)
from prefect.flow_engine import run_flow_async
from prefect.states import Pending

from ..data_types import specified
from ..errors import (
    InputError,
    RunCancelledError,
    RunDamagedError,
    RunNotFoundError,
)
from ..models.names import RegisteredModel
from ..plan.documents import plan_from
from ..plan.procedure_steps import resolve
from ..plan.task_ir import TaskIR, stored_plan
from ..store.procedures import find_procedure
from ..store.protocol import RunStore, is_whole_id
from ..store.result import SwarmResult
from ..store.runs import find_run, open_run
from ..tracing.spans import without_prefect_spans
from .approval import waiting_error
from .control import not_waiting
from .deployed_options import flat_options
from .fork import FinishedWork, ForkSource, finished_work, plan_at_turn, taken_by
from .options import (
    SwarmOptions,
    changed_options,
    check_not_undone,
    goes_on,
    steps_to_begin_again,
    stored_options,
    with_changes,
)
from .output import write_output
from .plan_changes import options_of
from .planning import plan_rules
from .prefect_io.lost import check_not_lost, noted_place
from .prefect_io.schema_flow import refused_in_short
from .prefect_io.server_client import address_of, client_of_server
from .shared_options import expanded
from .swarm import swarm

__all__ = ["PreparedFork", "fork", "prepare_fork", "resume"]


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
    turn: int = 0,
) -> PreparedFork:
    """Find out what a fork of a run takes over; nothing is written.

    Args:
        name: The run's id, or its flow run's.
        plan: The plan that takes the place of the run's. Inputs that it leaves out stay.
        again: Ids of steps that are done anew, with all that depend on them.
        changes: Values that take the place of those of the options that the run began with.
        turn: The turn of the orchestrator's after which it goes on; 0: it takes the whole plan.

    Raises:
        InputError: It can't be forked so.
        RunNotFoundError: No such run is stored.
    """
    work = finished_work(name)
    options = with_changes(options_of(work.run), changes or {})
    source = ForkSource(run=work.run.run_id, again=tuple(again), turn=turn)
    if turn and plan is not None:
        raise InputError(
            "A fork from a turn on has the plan of that turn.", "Leave out the plan or the turn."
        )
    if turn:
        after = plan_at_turn(work.run, turn)
        return PreparedFork(source, after, options, taken_by(work, source, after), None)
    data = (work.plan if plan is None else plan).model_dump(mode="json")
    rules = plan_rules(options)
    after = resolve(plan_from(data, work.plan, rules), find_procedure, rules)
    taken = taken_by(work, source, after)
    return PreparedFork(source, after, options, taken, _without_known(work, after))


async def fork(
    run: str,
    *,
    plan: TaskIR | None = None,
    again: Collection[str] = (),
    model: RegisteredModel | str | None = None,
    worker: RegisteredModel | str | None = None,
    coder: RegisteredModel | str | None = None,
    architect: RegisteredModel | str | None = None,
    orchestrator: RegisteredModel | str | None = None,
    turn: int = 0,
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
        turn: The turn of the orchestrator's after which the new run goes on, as the other one was
            then; 0: it takes the whole plan, and the orchestrator has no more turns.
        changes: Values of other options, by their names; the rest is as the other run began.

    Raises:
        InputError: It can't be forked so: the plan breaks a rule, a step isn't there, or nothing
            would come of it.
        ModelError: A tier's model is not available.
        RunFailedError: No step succeeded; its `result` tells it all.
        RunNotFoundError: No such run is stored.
        RunWaitingError: It was left until a person answers.

    Example:
        ```python
        result = asyncio.run(fork("4f0c6b7b9d1a", again=["S3"], model="openai:gpt-5"))
        print([step.id for step in result.steps if step.taken_from])
        ```
    """
    models = specified(
        model=model, worker=worker, coder=coder, architect=architect, orchestrator=orchestrator
    )
    prepared = prepare_fork(run, plan, again, {**expanded(changes or {}), **models}, turn)
    try:
        with not_waiting():
            return await prepared.begin()
    except PausedRun as error:
        raise waiting_error(error) from None


def _without_known(work: FinishedWork, plan: TaskIR) -> TaskIR | None:
    """Leave out what the flow finds in the source's folder: its parameters must stay small."""
    if plan == work.plan:
        return None
    known = work.plan.inputs
    inputs = {name: text for name, text in plan.inputs.items() if known.get(name) != text}
    return plan.model_copy(update={"inputs": inputs})


_logger = logging.getLogger("prefect_swarm.runs")


async def resume(
    name: str, *, retry_failed: bool = False, changes: Mapping[str, Any] | None = None
) -> SwarmResult:
    """Run what is left of a run, as the flow run it was; what had finished is not done again.

    A run that is completed only has its result read, and its output written again where its options
    say `output_to`, also where it did without instances that
    failed: a fork does them anew. So has one that is partial, unless the failed steps are to be
    tried again, or a bound that stopped one is changed.

    Args:
        name: The run's id, or its flow run's.
        retry_failed: Try the failed steps of a partial run again, and what depends on them.
        changes: Other values for the run's models and bounds, by the option's name; from then on
            they are the run's own. What was spent before counts.

    Raises:
        InputError: A change has no effect, or isn't possible.
        RunNotFoundError: No such run is stored, or the server has no such flow run.
        RunLostError: Its folder is elsewhere; `start_over` among the changes begins from nothing.
        RunAliveError: A process is executing the run now.
        RunCancelledError: It was cancelled once more.
        RunFailedError: It ended, and no step had succeeded.
        RunWaitingError: It waits for a person, who hasn't answered.
        ServerError: The Prefect server can't be reached.
    """
    run, changes = await _found(name), changes or {}
    with run.exclusive():
        run.store_pending()
        async with _server() as client:
            flow_run = await _read(client, run, name)
            if not changes.get("start_over"):
                await check_not_lost(run, flow_run)
            stored = stored_options(_flat(flow_run))
            options = changed_options(stored, changes)
            if (result := _result(run)) is not None:
                if not goes_on(result, retry_failed=retry_failed, changes=changes):
                    await write_output(run, result, options)
                    return result
                check_not_undone(result)
                again = steps_to_begin_again(result, retry_failed=retry_failed, changes=changes)
                run.begin_again(result, again)
            before = flow_run.parameters
            if changes:
                # Once is not always: a worker that lacks the folder later has to say it.
                once = {"start_over": stored.start_over} if options.start_over else {}
                flow_run = await _change(client, flow_run, options.model_copy(update=once))
            flow_run = await _reopen(client, flow_run)
        try:
            return await _go_on(run, flow_run, start_over=options.start_over)
        except InputError:
            # What can't be held isn't the run's from now on.
            async with _server() as client:
                await client.update_flow_run(flow_run.id, parameters=before)
            raise


def _flat(flow_run: FlowRun) -> dict[str, Any]:
    return flat_options(flow_run.parameters.get("options"))


async def _found(name: str) -> RunStore:
    """Return the folder of a run, which need not be there where the server knows the flow run.

    Raises:
        RunNotFoundError: No such run is stored, and the server has no such run of a swarm either.
    """
    try:
        return find_run(name)
    except RunNotFoundError:
        if not is_whole_id(name):
            raise
        run = open_run(str(UUID(name.strip())))
        if run.has_started():
            raise
        async with _server() as client:
            with suppress(ObjectNotFound):
                if noted_place(await client.read_flow_run(UUID(name.strip()))) is not None:
                    return run
        raise


def _server() -> AbstractAsyncContextManager[PrefectClient]:
    return client_of_server(
        "Start it, or set PREFECT_API_URL to the one that the run was started on."
    )


async def _read(client: PrefectClient, run: RunStore, name: str) -> FlowRun:
    # A run whose own files don't say it any more is found by its flow run's whole id.
    flow_run_id = UUID(run.about().flow_run_id or name.strip())
    try:
        return await client.read_flow_run(flow_run_id)
    except ObjectNotFound:
        raise RunNotFoundError(
            f"The Prefect server at {address_of(client)} has no flow run {flow_run_id}, "
            f"which run {run.run_id} was.",
            "Set PREFECT_API_URL to the server that the run was started on.",
        ) from None


def _result(run: RunStore) -> SwarmResult | None:
    try:
        return run.result()
    except RunDamagedError as error:
        _logger.warning("%s It is written again.", error.problem)
        return None


async def _change(client: PrefectClient, flow_run: FlowRun, options: SwarmOptions) -> FlowRun:
    """Have the server keep the options, for this process and for whatever runs it later."""
    parameters = {**flow_run.parameters, "options": options.model_dump(mode="json")}
    await client.update_flow_run(flow_run.id, parameters=parameters)
    return flow_run.model_copy(update={"parameters": parameters})


async def _reopen(client: PrefectClient, flow_run: FlowRun) -> FlowRun:
    # Not a scheduled state, as AwaitingRetry would be: a worker would take it for work of its own.
    state = Pending(message="Resumed; what had finished is not done again.")
    await client.set_flow_run_state(flow_run.id, state, force=True)
    return await client.read_flow_run(flow_run.id)


async def _go_on(run: RunStore, flow_run: FlowRun, *, start_over: bool) -> SwarmResult:
    before = flow_run.parameters
    options = stored_options(_flat(flow_run)).model_copy(update={"start_over": start_over})
    parameters = {**before, "plan": stored_plan(before.get("plan")), "options": options}
    try:
        with without_prefect_spans(), not_waiting():
            going = run_flow_async(swarm, flow_run=flow_run, parameters=parameters)
            result = await refused_in_short(going)
    except (Pause, PausedRun) as error:
        raise waiting_error(error) from None
    except CancelledRun:
        raise RunCancelledError(
            f"Run {run.run_id} was cancelled.", f"Resume it with: resume {run.run_id}."
        ) from None
    return SwarmResult.model_validate(result)
