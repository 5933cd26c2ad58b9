"""The flow `swarm`: from an objective to a plan, a run and an answer."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, cast

from prefect.client.schemas.objects import FlowRun, State
from prefect.exceptions import Abort
from prefect.runtime import flow_run
from prefect.states import Cancelled, Completed
from pydantic import BeforeValidator, WithJsonSchema

from ..errors import InputError, RunAliveError, RunCancelledError, RunLostError
from ..gates import build_pipeline
from ..metrics.clock import run_time
from ..plan.task_ir import TaskIR, check_objective, parse_plan
from ..store.losses import lost_of, lost_words, repeat_command
from ..store.protocol import About, RunStore
from ..store.question import RunWaitingError
from ..store.result import RunFailedError, SwarmResult
from ..store.runs import open_run
from ..text import one_line, visible
from ..untrusted.json_text import NoJsonError, read_json
from .control import current_control
from .fork import ForkSource, begin_fork, fork_plan
from .options import SwarmOptions, within_bounds
from .output import check_output, write_output
from .parts import begin_part, name_of_part
from .prefect_io.deployment import settle_options
from .prefect_io.flow_run import beating, cancelled_on_server, end_cancelling
from .prefect_io.form_service import FormDesk, desk_of
from .prefect_io.lost import check_not_lost, hand_back, note_place, this_place
from .prefect_io.schema_flow import WITH_SCHEMAS, OptionsParameter, schema_flow
from .prefect_io.storage import storage_texts
from .prefect_io.suspend import asker_of, leave, report_suspended
from .prefect_io.task_runs import look_up_result_folder, without_orphaned_task_runs
from .preflight import check_storage
from .run import Run
from .run_inputs import PlanReference, keep_inputs, keep_plan, plan_of_run, stored_inputs
from .timing import steady_clock, traced_run

__all__ = ["PlanParameter", "swarm"]


def _plan(value: object) -> TaskIR | PlanReference | None:
    if isinstance(value, str) and not value.strip():
        return None
    if isinstance(value, str) and value.startswith("/"):
        return PlanReference(path=value.strip())
    if value is None or isinstance(value, TaskIR | PlanReference):
        return value
    fields = _read(value) if isinstance(value, str) else value
    if isinstance(fields, dict):
        names = cast("dict[str, object]", fields).keys()
        if names and names <= PlanReference.model_fields.keys():
            return PlanReference.model_validate(fields)
    return parse_plan(value)


def _read(text: str) -> object:
    """Read the text of the form's code box; what is no JSON is left to what reads plans."""
    with suppress(NoJsonError):
        return read_json(text)
    return text


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
"""A plan as itself, as the objects of JSON or as JSON text, the absolute path of a file on the
worker, or a procedure with its parameters; an empty text means none."""


def _flow_run_name() -> str:
    objective = str(flow_run.parameters.get("objective", ""))
    fork: object = flow_run.parameters.get("fork")
    if isinstance(fork, dict):
        part = str(cast("dict[str, object]", fork).get("part") or "")
    else:
        part = fork.part if isinstance(fork, ForkSource) else ""
    return name_of_part(part, objective) if part else one_line(objective, 72)


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
    files: list[str] | None = None,
    options: OptionsParameter = SwarmOptions(),  # noqa: B008 - frozen
    fork: Annotated[ForkSource | None, WITH_SCHEMAS] = None,
) -> SwarmResult:
    """Run a swarm.

    A run that ends `partial`, or without some of its optional steps or items, is a Completed state
    of the name Partial.

    Args:
        objective: What is wanted, in plain words; with a plan, the plan's own.
        plan: A plan of your own, its file's absolute path on the worker, or `{"procedure": NAME,
            "parameters": {…}}`; left empty, the orchestrator writes one.
        inputs: Texts to work on, by their names.
        files: Files of storage blocks to work on, read when the run begins: each as
            TYPE/NAME:PATH, such as `s3-bucket/reports:tonight/`. A folder ends with a slash.
        options: Models and budgets. In a run of a deployment, what is left empty stays as the
            deployment has it.
        fork: A run whose finished steps are taken over, and whose plan is where none is given; with
            `part` the run that has one of its steps done here.

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
        StorageError: There is no room for the run, or its output can't be written.
        ToolsetError: A toolset that a step works with, or that the planner is shown, is not
            available.
    """
    check_storage()
    look_up_result_folder()
    run = open_run(str(flow_run.id))
    desk = desk_of(run)
    if fork is None or not fork.part:
        # A part has the options of the run that it is a part of, as they are.
        options = await settle_options(desk.flow_run, options)
    await _look_for_folder(run, desk.flow_run, options)
    taken, loop = asyncio.Event(), asyncio.get_running_loop()
    lost = partial(loop.call_soon_threadsafe, taken.set)
    try:
        # The heartbeats end before the run is suspended: one that came later would be missed.
        with run.exclusive(lost), steady_clock(run), beating():
            run.remove_temporary_files()
            read = await _read_files(run, files)
            plan, options = _begin(run, desk.flow_run, objective, plan, inputs, read, options, fork)
            if fork is not None:
                plan = fork_plan(run, fork, plan, options)
            await note_place(desk.flow_run, this_place(run))
            await desk.take_answers()
            try:
                return await _execute(run, desk, objective, plan, options, taken)
            except RunWaitingError as error:
                waiting, suspended = error, leave(desk, error)
        return _in_place_of_result(await report_suspended(desk, suspended, waiting))
    except RunCancelledError as error:
        message = f"{visible(str(error))} Resume it with: resume {run.run_id}"
        return _in_place_of_result(Cancelled(message=message))
    except RunAliveError as error:
        # Leaves the flow run's state to the process that holds the run.
        raise Abort(str(error)) from error


async def _read_files(run: RunStore, files: list[str] | None) -> dict[str, str]:
    """Read what a run that begins is given of storages; one that goes on has it stored."""
    if not files or run.about():
        return {}
    return await current_control().unless_cancelled(storage_texts(files))


async def _look_for_folder(run: RunStore, flow_run: FlowRun, options: SwarmOptions) -> None:
    """Begin, or go on where the run's folder is; a run that is lost here is handed back."""
    if options.start_over:
        return
    try:
        await check_not_lost(run, flow_run)
    except RunLostError as error:
        await hand_back(flow_run, this_place(run), error)
        raise


async def _execute(
    folder: RunStore,
    desk: FormDesk,
    objective: str,
    plan: TaskIR | None,
    options: SwarmOptions,
    taken: asyncio.Event,
) -> SwarmResult:
    flow_run_id = str(flow_run.id)
    async with (
        without_orphaned_task_runs(flow_run_id),
        cancelled_on_server(current_control(), flow_run_id, taken) as own,
    ):
        control = replace(own, ask_person=asker_of(desk, own), suspended=desk.can_suspend)
        await control.unless_cancelled(check_output(folder, options))
        run = Run(folder, flow_run_id, objective, plan, options, control)
        result = await traced_run(folder, flow_run_id, objective, options, run.to_result())
        await control.unless_cancelled(write_output(folder, result, options))
    if result.status == "failed":
        raise RunFailedError(
            f"No step succeeded. {visible(result.problem)}", f"See inspect {folder.run_id}.", result
        )
    if problem := _not_whole(result):
        state = Completed(name="Partial", message=visible(problem), data=result)
        return _in_place_of_result(state)
    return result


def _not_whole(result: SwarmResult) -> str:
    """Say what a run lost that has an answer all the same; "" if it is whole."""
    if result.status == "partial":
        return result.problem or "It is partial."
    if not (lost := lost_of(result.steps)):
        return ""
    again = repeat_command(result.run_id, result.status)
    return f"It is completed, with {lost_words(lost)}. To do them again: {again}"


def _in_place_of_result(state: State[Any]) -> SwarmResult:
    """Return a state as a flow may: Prefect ends the flow run in it, and callers get its result."""
    return cast("SwarmResult", state)


def _begin(
    run: RunStore,
    begun: FlowRun,
    objective: str,
    supplied: TaskIR | PlanReference | None,
    inputs: Mapping[str, str] | None,
    read: Mapping[str, str],
    options: SwarmOptions,
    fork: ForkSource | None,
) -> tuple[TaskIR | None, SwarmOptions]:
    """Write down what a run begins with, if it isn't; return its plan, if it was given one.

    The options are returned with the bounds of the procedure that the plan comes from.
    """
    if not objective.strip():
        raise InputError("The objective is empty.", "State it.")
    for names in options.gates.values():
        build_pipeline(names)  # names what isn't there
    given = plan_of_run(run, supplied, objective)
    plan, options = given.plan, within_bounds(options, given.bounds)
    if not run.about():
        options.refuse_secrets()
        if plan is not None:
            check_objective(plan, objective)
            keep_plan(run, given, supplied)
        keep_inputs(run, inputs, read)
        if fork is not None:
            _check_without_inputs(run)
            if fork.part:
                begin_part(run, objective, fork)
            else:
                begin_fork(run, objective, fork, plan, options)
        planned = begun.expected_start_time
        about = About(
            flow_run_id=str(begun.id),
            objective=objective,
            started_at=run_time(),
            options=options.model_dump(mode="json"),
            deployment=str(begun.deployment_id or ""),
            scheduled_at=planned.timestamp() if planned else None,
            # A fork takes over what is done: what it takes says nothing of the procedure.
            procedure=plan.procedure if plan is not None and fork is None else "",
        )
        run.write_about(about)
    return plan, options


def _check_without_inputs(run: RunStore) -> None:
    if supplied := stored_inputs(run):
        raise InputError(
            f"A fork was given the input {next(iter(supplied))!r} in addition to its plan.",
            "Put it into the plan's own inputs.",
        )
