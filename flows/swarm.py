"""The flow `swarm`: from an objective to a plan, a run and an answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, cast

from prefect.client.schemas.objects import FlowRun, State
from prefect.exceptions import Abort
from prefect.runtime import flow_run
from prefect.states import Cancelled, Completed
from pydantic import BeforeValidator, WithJsonSchema

from ..blocks.failure_policy import FailurePolicy
from ..errors import InputError, RunAliveError, RunCancelledError, RunLostError
from ..gates import build_pipeline, gate_name, ready_for
from ..memory.store import Store
from ..metrics.clock import run_time
from ..models.provider_waits import refused_providers, waits_to
from ..models.remote import open_models
from ..plan.compile import StepDefaults, compile_plan
from ..plan.task_ir import TaskIR, check_objective, parse_plan
from ..store.approvals import Approvals
from ..store.folder import ACCOUNTS, RunFolder, exclusive
from ..store.question import RunWaitingError
from ..store.result import Recall, RunFailedError, SwarmResult
from ..tasks.planner.facts import PlanningFacts
from ..tasks.planner.task import Planned
from ..text import one_line, visible
from ..toolsets.catalogue import Catalogue
from .answer_type import answer_check
from .bounds import concurrency_limits
from .control import RunControl, current_control, wait_events
from .event_log import recorded
from .execute import Execution
from .fork import ForkSource, begin_fork, fork_plan
from .memory import facts_for, recall_for, store_of
from .options import SwarmOptions
from .plan_changes import plan_after_edits, steps_written
from .plan_stream import FirstRequests, plan_reading
from .planning import Explored, explored_before, plan_for, plan_rules
from .prefect_io.flow_run import beating, cancelled_on_server, end_cancelling, terminable
from .prefect_io.form_service import FormDesk, desk_of
from .prefect_io.lost import check_not_lost, hand_back, note_place, this_place
from .prefect_io.schema_flow import WITH_SCHEMAS, schema_flow
from .prefect_io.suspend import asker_of, leave, report_suspended
from .prefect_io.task_runs import look_up_result_folder, task_run_of, without_orphaned_task_runs
from .preflight import check_gates, check_models, check_storage, check_toolsets, toolsets_of_run
from .prestart import PrestartedRequests, accounted
from .run_inputs import PlanReference, keep_inputs, keep_plan, plan_of_run, stored_inputs
from .stored_plan import (
    StoredPlanning,
    StoredRecall,
    book_plan,
    go_on,
    load,
    open_ledger,
    save,
)
from .timing import steady_clock, traced_run

__all__ = ["PlanParameter", "swarm"]


def _flow_run_name() -> str:
    objective = str(flow_run.parameters.get("objective", ""))
    return one_line(objective, 72)


@schema_flow(
    name="swarm",
    flow_run_name=_flow_run_name,
    persist_result=True,
    result_serializer="json",
    on_cancellation=[end_cancelling],
    description="Decompose an objective, run its steps concurrently, answer it.",
)
async def swarm(
    objective: str,
    *,
    plan: PlanParameter = None,
    inputs: Annotated[dict[str, str] | None, WITH_SCHEMAS] = None,
    options: Annotated[SwarmOptions, WITH_SCHEMAS] = SwarmOptions(),  # noqa: B008 - frozen; Prefect makes the form from it
    fork: Annotated[ForkSource | None, WITH_SCHEMAS] = None,
) -> SwarmResult:
    """Run a swarm.

    A run that ends `partial` is a Completed state of the name Partial.

    Args:
        objective: What is wanted, in plain words; with a plan, the plan's own.
        plan: A plan of your own, or its file's absolute path on the worker; left empty, the
            orchestrator writes one.
        inputs: Texts to work on, by their names.
        options: Models and budgets.
        fork: A run whose finished steps are taken over, and whose plan is where none is given.

    Raises:
        GateError: A gate that a step has to pass can't run here.
        InputError: The objective is empty or not the plan's, the plan breaks a rule, an input
            can't be taken, or there is nothing to explore with.
        ModelError: A tier's model is not available.
        NoPlanError: The orchestrator wrote no plan that can be read.
        Pause: It is suspended until a person has answered, or was handed back to the worker that
            has its folder; a worker goes on with it then.
        PausedRun: It was left until a person has answered.
        RunFailedError: No step succeeded; its `result` tells it all.
        RunLostError: It had begun, and its folder isn't here.
        StorageError: There is no room for the run.
        ToolsetError: A toolset that a step works with, or that the planner is shown, is not
            available.
    """
    check_storage()
    look_up_result_folder()
    run = RunFolder.of(str(flow_run.id))
    desk = desk_of(run)
    await _look_for_folder(run, desk.flow_run, options)
    try:
        # The heartbeats end before the run is suspended: one that came later would be missed.
        with exclusive(run), steady_clock(run), beating():
            run.remove_temporary_files()
            plan = _begin(run, str(flow_run.id), objective, plan, inputs, options, fork)
            if fork is not None:
                plan = fork_plan(run, fork, plan, options)
            await note_place(desk.flow_run, this_place(run))
            await desk.take_answers()
            try:
                return await _execute(run, desk, objective, plan, options)
            except RunWaitingError as error:
                waiting, left = error, leave(desk, error)
        return _as(await report_suspended(desk, left, waiting))
    except RunCancelledError as error:
        return _as(Cancelled(message=f"{visible(str(error))} Resume it with: resume {run.run_id}"))
    except RunAliveError as error:
        # Leaves the flow run's state to the process that holds the run.
        raise Abort(str(error)) from error


async def _look_for_folder(run: RunFolder, flow_run: FlowRun, options: SwarmOptions) -> None:
    """Begin, or go on where the run's folder is; a run that is lost here is handed back."""
    if options.start_over:
        return
    try:
        await check_not_lost(run, flow_run)
    except RunLostError as error:
        await hand_back(flow_run, this_place(run), error)
        raise


async def _execute(
    run: RunFolder, desk: FormDesk, objective: str, plan: TaskIR | None, options: SwarmOptions
) -> SwarmResult:
    flow_run_id = str(flow_run.id)
    options = await _with_policy(options)
    async with (
        without_orphaned_task_runs(flow_run_id),
        cancelled_on_server(current_control(), flow_run_id) as own,
    ):
        asking = replace(own, ask_person=asker_of(desk, own))
        with recorded(asking, run, flow_run_id) as control:
            work = _run_with_models(run, control, objective, plan, options)
            result = await traced_run(run, flow_run_id, objective, options, work)
    if result.status == "failed":
        raise RunFailedError(
            f"No step succeeded. {visible(result.problem)}", f"See inspect {run.run_id}.", result
        )
    if result.status == "partial":
        return _as(Completed(name="Partial", message=visible(result.problem), data=result))
    return result


async def _run_with_models(
    run: RunFolder, control: RunControl, objective: str, plan: TaskIR | None, options: SwarmOptions
) -> SwarmResult:
    """Return the result; sinks get waits for providers on the way."""
    waits = waits_to(wait_events(control.listener))
    with terminable(control), refused_providers(), waits:
        async with open_models(), toolsets_of_run(str(flow_run.id), options) as toolsets:
            return await _result(run, control, objective, plan, options, toolsets)


async def _result(
    run: RunFolder,
    control: RunControl,
    objective: str,
    plan: TaskIR | None,
    options: SwarmOptions,
    toolsets: Catalogue,
) -> SwarmResult:
    flow_run_id = str(flow_run.id)
    models = await check_models(options, plan)
    ledger = open_ledger(run, options, models.prices, run_time(), control.listener)
    store = await store_of(options)
    limits = concurrency_limits(options, models)
    requests = PrestartedRequests(run, ledger, limits, control.listener, options.stream_text)
    async with aclosing(requests) as ahead:
        first = FirstRequests(run, flow_run_id, options, models, ledger, stored_inputs(run))
        gather = partial(
            facts_for, run, flow_run_id, objective, options, models.prices.get, store, toolsets
        )
        look = partial(
            explored_before,
            run,
            flow_run_id,
            objective,
            options,
            stored_inputs(run),
            models,
            toolsets,
            run_time(),
            control.listener,
        )
        names = toolsets.names
        planned, plan_state = await _planned(
            run, control, objective, plan, options, names, gather, look, first, ahead
        )
        book_plan(ledger, planned)
        defaults = StepDefaults(options.max_attempts, options.gates)
        while True:
            edits = Approvals(run).edits()
            chosen = plan_after_edits(planned, edits, plan_rules(options, names))
            if edits:
                models = await check_models(options, chosen.plan)
                go_on(ledger, models.prices)
            written = steps_written(planned, chosen.plan)
            recalled, state = await _recalled(
                run, chosen.plan, options, store, plan_state, len(edits), written
            )
            compiled = compile_plan(
                chosen.plan, defaults, recall=recalled.steps if recalled else (), toolsets=names
            )
            await check_gates(compiled)
            await check_toolsets(compiled, toolsets, run)
            execution = Execution(
                plan=compiled,
                source=chosen,
                options=options,
                run=run,
                flow_run_id=flow_run_id,
                control=control,
                plan_state=state,
                ledger=ledger,
                ahead=ahead,
                store=store,
                recall=recalled,
                models=models,
                check_answer=answer_check(),
                edits=len(edits),
            )
            # Planning and the models' answers leave the time that a sandbox takes to start.
            with ready_for(gate_name(gate) for step in compiled.steps for gate in step.gates):
                result = await execution.run_to_end()
            if result is not None:
                return result


async def _planned(
    run: RunFolder,
    control: RunControl,
    objective: str,
    plan: TaskIR | None,
    options: SwarmOptions,
    toolsets: frozenset[str],
    gather: Callable[[], Awaitable[PlanningFacts | None]],
    look: Callable[[], Coroutine[Any, Any, Explored | None]],
    first: FirstRequests,
    ahead: PrestartedRequests,
) -> tuple[Planned, State[Any] | None]:
    """Return the plan, as an earlier process of the run had it, if there was one."""
    if kept := load(run, StoredPlanning):
        return kept.planned, kept.state
    facts = await gather() if plan is None else None
    explored = await control.unless_cancelled(look()) if plan is None else None
    planning = plan_for(
        objective,
        plan,
        options,
        str(flow_run.id),
        stored_inputs(run),
        control.listener,
        facts,
        toolsets,
        plan_reading(objective, options, first, ahead),
        explored,
    )
    async with accounted(ahead):
        planned, state = await control.unless_cancelled(planning)
    save(run, StoredPlanning(planned=planned, task_run=task_run_of(state)))
    return planned, state


async def _recalled(
    run: RunFolder,
    plan: TaskIR,
    options: SwarmOptions,
    store: Store | None,
    plan_state: State[Any] | None,
    edits: int,
    written: frozenset[str],
) -> tuple[Recall | None, State[Any] | None]:
    """Return what the memory makes of the plan, or made of it in an earlier process."""
    if kept := load(run, StoredRecall, edits):
        return kept.recall, kept.state or plan_state
    recall, state = await recall_for(plan, options, store, str(flow_run.id), plan_state, written)
    save(run, StoredRecall(recall=recall, task_run=task_run_of(state)), edits)
    return recall, state


def _as(state: State[Any]) -> Any:
    # Prefect takes a state in a result's place; callers still get the result.
    return state


def _begin(
    run: RunFolder,
    flow_run_id: str,
    objective: str,
    given: TaskIR | PlanReference | None,
    inputs: dict[str, str] | None,
    options: SwarmOptions,
    fork: ForkSource | None,
) -> TaskIR | None:
    """Write down what a run begins with, if it isn't; return the plan that it was given."""
    if not objective.strip():
        raise InputError("The objective is empty.", "State it.")
    for names in options.gates.values():
        build_pipeline(names)  # names what isn't there
    plan = plan_of_run(run, given)
    if not run.about():
        options.refuse_secrets()
        if plan is not None:
            check_objective(plan, objective)
            keep_plan(run, plan, given)
        keep_inputs(run, inputs)
        if fork is not None:
            _check_without_inputs(run)
            begin_fork(run, objective, fork, plan, options)
        about = {"flow_run_id": flow_run_id, "objective": objective, "started_at": run_time()}
        run.append(ACCOUNTS, about)
        run.write("run.json", {**about, "options": options.model_dump(mode="json")})
    return plan


def _check_without_inputs(run: RunFolder) -> None:
    if given := stored_inputs(run):
        raise InputError(
            f"A fork was given the input {next(iter(given))!r} in addition to its plan.",
            "Put it into the plan's own inputs.",
        )


async def _with_policy(options: SwarmOptions) -> SwarmOptions:
    if options.policy_block is None:
        return options
    try:
        block = await FailurePolicy.aload(options.policy_block)
    except ValueError as error:
        raise InputError(
            f"There is no failure-policy block {options.policy_block!r}: {error}.",
            "Create it in the Prefect UI, or leave policy_block empty.",
        ) from None
    return options.model_copy(update={"policy": block.get_policy()})


def _plan(value: object) -> TaskIR | PlanReference | None:
    if isinstance(value, str) and not value.strip():
        return None
    if isinstance(value, str) and value.startswith("/"):
        return PlanReference(path=value.strip())
    if value is None or isinstance(value, TaskIR | PlanReference):
        return value
    if isinstance(value, dict):
        fields = cast("dict[str, object]", value)
        if fields and fields.keys() <= PlanReference.model_fields.keys():
            return PlanReference.model_validate(fields)
        return parse_plan(fields)
    return parse_plan(value)


PlanParameter = Annotated[
    TaskIR | PlanReference | None,
    BeforeValidator(_plan),
    WithJsonSchema(
        {
            # The form draws a code box for this kind of string alone, and sends its text.
            "anyOf": [
                {"title": "JSON", "type": "string", "format": "json-string"},
                {"title": "Object", "type": "object"},
                {"type": "null"},
            ]
        }
    ),
    WITH_SCHEMAS,
]
"""A plan as itself, as the objects of JSON or as JSON text, or the absolute path of a file on the
worker; an empty text means none."""
