"""Runs whose folder lies on another machine: they are named, and handed back to the work pool."""

from __future__ import annotations

import logging
import socket
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId
from prefect.client.schemas.objects import FlowRun
from prefect.exceptions import Pause
from prefect.states import AwaitingRetry
from prefect.types._datetime import now

from ...errors import RunLostError, RunNotFoundError
from ...store.protocol import RunStore
from ...store.runs import find_run
from .form_service import SERVER_ERRORS, report

__all__ = [
    "HANDED_BACK",
    "MOST_TIMES",
    "RunPlace",
    "check_batch_not_lost",
    "check_not_lost",
    "find_here",
    "hand_back",
    "lost_error",
    "note_place",
    "noted_place",
    "place_at",
    "this_place",
    "wait_before",
]


HANDED_BACK = "swarm.handed_back"
"""The label that counts how often a lost run was handed back in a row."""
_HOST, _FOLDER = "swarm.host", "swarm.folder"
_HOME, _STORE = "PREFECT_INTEGRATIONS_SWARM_HOME", "PREFECT_INTEGRATIONS_SWARM_STORE"

_logger = logging.getLogger("prefect_swarm.runs")


@dataclass(frozen=True, slots=True)
class RunPlace:
    """A folder of a machine; both are empty where nothing says which."""

    host: str = ""
    folder: str = ""


def find_here(name: str, otherwise: str) -> RunStore:
    """Return the run that a worker is to do something about.

    Args:
        name: Its id, or its flow run's.
        otherwise: What to do if no worker has it.

    Raises:
        RunNotFoundError: It isn't stored here.
    """
    try:
        return find_run(name)
    except RunNotFoundError as error:
        raise RunNotFoundError(
            f"{error.problem} This worker looked on its own machine.",
            f"Have a worker run this that has the run's folder, or {otherwise}",
        ) from None


def this_place(run: RunStore) -> RunPlace:
    """Return where a run's folder is, or would be, in this process."""
    return place_at(run.place())


def place_at(path: Path | str) -> RunPlace:
    """Return a folder or file of this machine as a flow run is noted to have it."""
    return RunPlace(socket.gethostname(), str(path))


def noted_place(flow_run: FlowRun) -> RunPlace | None:
    """Return where a flow run's labels say that its run began; None if they don't."""
    labels = flow_run.labels
    folder = str(labels.get(_FOLDER) or "")
    return RunPlace(str(labels.get(_HOST) or ""), folder) if folder else None


async def note_place(flow_run: FlowRun, here: RunPlace) -> None:
    """Note on the flow run where its run's folder is; a server that refuses costs a warning.

    It is noted once the folder is there, and before anything is paid for: a process that is killed
    in between loses nothing.
    """
    if noted_place(flow_run) == here and not flow_run.labels.get(HANDED_BACK):
        return
    labels: dict[str, Any] = {_HOST: here.host, _FOLDER: here.folder, HANDED_BACK: 0}
    try:
        async with get_client() as client:
            await client.update_flow_run_labels(flow_run.id, labels)
    except SERVER_ERRORS as error:
        _logger.warning("Where flow run %s lies can't be noted: %r", flow_run.id, error)


async def check_not_lost(run: RunStore, flow_run: FlowRun) -> None:
    """Refuse a run that has begun and has no folder here: it would be paid for once more.

    A run that was left before it had a folder is none of these: nothing was paid for.

    Raises:
        RunLostError: It is lost; says where its folder is.
    """
    if run.has_started():
        return
    place = noted_place(flow_run)
    # A run of an earlier version has no note. What has task runs has been paid for.
    if place is None and flow_run.run_count > 1 and await _has_task_runs(flow_run):
        place = RunPlace()
    if place is not None:
        raise lost_error(run, str(flow_run.id), place, this_place(run))


def lost_error(run: RunStore, flow_run_id: str, place: RunPlace, here: RunPlace) -> RunLostError:
    """Say where a lost run's folder is, and how to go on. Pure."""
    resume = f"prefect-swarm resume {run.run_id}"
    over = (
        "To begin from nothing, at full cost, set the option start_over: "
        f"prefect-swarm resume {flow_run_id} --start-over"
    )
    if not place.folder:
        problem = f"Run {run.run_id} has begun, and nothing says where: {here.folder} isn't there."
        return RunLostError(problem, f"Go on where its folder is: {resume}. {over}")
    if place.folder.startswith("postgresql ") and not here.folder.startswith("postgresql "):
        problem = (
            f"Run {run.run_id} is in {place.folder}; there is none in {here.folder} on {here.host}."
        )
        return RunLostError(problem, f"Set {_STORE} to the address of that server. {over}")
    if place == here:
        problem = f"The folder of run {run.run_id}, {here.folder} on {here.host}, is gone."
        return RunLostError(problem, f"Put it back, and go on: {resume}. {over}")
    problem = (
        f"Run {run.run_id} has its folder in {place.folder} on {place.host}; "
        f"there is none in {here.folder} on {here.host}."
    )
    if place.host == here.host:
        home = Path(place.folder).parent.parent
        return RunLostError(problem, f"Go on there: {_HOME}={home} {resume}. {over}")
    share = f"Have the machines share the data folder ({_HOME})"
    return RunLostError(problem, f"Go on there: {resume}. {share}, or bring it here. {over}")


def check_batch_not_lost(flow_run: FlowRun, here: RunPlace) -> None:
    """Refuse a batch that has begun elsewhere: all its lines would be paid for once more. Pure.

    Args:
        here: Where it would write its output; nothing of it is there.

    Raises:
        RunLostError: It has begun elsewhere; says where.
    """
    place = noted_place(flow_run)
    if place is not None and place != here:
        raise RunLostError(
            f"The batch writes {place.folder} on {place.host}; "
            f"nothing of it is in {here.folder} on {here.host}.",
            "Run it there, or give an output_path that the machines share. To begin from nothing, "
            "at full cost, start the deployment anew, or set the option start_over.",
        )


async def _has_task_runs(flow_run: FlowRun) -> bool:
    async with get_client() as client:
        only = FlowRunFilter(id=FlowRunFilterId(any_=[flow_run.id]))
        return bool(await client.read_task_runs(flow_run_filter=only, limit=1))


MOST_TIMES = 20
"""How often in a row a run is handed back, before it fails; about an hour and a half in all."""
_FIRST_S, _MOST_S = 30.0, 300.0


def wait_before(times: int) -> float:
    """Return how many seconds pass until a run that was handed back so often is due. Pure."""
    return min(_FIRST_S * 2.0**times, _MOST_S)


async def hand_back(flow_run: FlowRun, here: RunPlace, error: RunLostError) -> None:
    """Have a worker take a lost run later; returns where none could go on with it.

    It is due after a pause that grows, so that workers without its folder don't pass it to and fro.
    It isn't Crashed: an automation that restarts crashed runs would start it here again.

    Raises:
        Pause: It is AwaitingRetry, with the error's message.
    """
    times = int(str(flow_run.labels.get(HANDED_BACK) or 0))
    is_gone = noted_place(flow_run) == here
    is_pooled = flow_run.deployment_id is not None and flow_run.parent_task_run_id is None
    if is_gone or not is_pooled or times >= MOST_TIMES:
        return
    wait_s = wait_before(times)
    state = AwaitingRetry(
        message=f"Handed back, for {wait_s:.0f} s, to the worker that has its folder. {error}",
        scheduled_time=now("UTC") + timedelta(seconds=wait_s),
    )
    try:
        async with get_client() as client:
            await client.update_flow_run_labels(flow_run.id, {HANDED_BACK: times + 1})
            accepted = await report(client, flow_run.id, state)
    except SERVER_ERRORS as problem:
        _logger.warning("Flow run %s can't be handed back: %r", flow_run.id, problem)
        return
    if accepted is not None:
        raise Pause(state=accepted)
