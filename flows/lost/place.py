"""Where a run's folder is, as its flow run has it; and a run that began and has no folder here."""

from __future__ import annotations

import logging
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId
from prefect.client.schemas.objects import FlowRun

from ...errors import RunLostError
from ...runs import RunFolder
from ..approving.forms.server import SERVER_ERRORS

__all__ = [
    "HANDED_BACK",
    "RunPlace",
    "check_batch_not_lost",
    "check_not_lost",
    "lost_error",
    "note_place",
    "noted_place",
    "place_at",
    "this_place",
]

HANDED_BACK = "swarm.handed_back"
"""The label that counts how often a lost run was handed back in a row."""
_HOST, _FOLDER = "swarm.host", "swarm.folder"
_HOME = "PREFECT_INTEGRATIONS_SWARM_HOME"

_logger = logging.getLogger("prefect_swarm.runs")


@dataclass(frozen=True, slots=True)
class RunPlace:
    """A folder of a machine; both are empty where nothing says which."""

    host: str = ""
    folder: str = ""


def this_place(run: RunFolder) -> RunPlace:
    """Return where a run's folder is, or would be, in this process."""
    return place_at(run.folder)


def place_at(path: Path) -> RunPlace:
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


async def check_not_lost(run: RunFolder, flow_run: FlowRun) -> None:
    """Refuse a run that has begun and has no folder here: it would be paid for once more.

    A run that was left before it had a folder is none of these: nothing was paid for.

    Raises:
        RunLostError: It is lost; says where its folder is.
    """
    if run.has_begun():
        return
    place = noted_place(flow_run)
    # A run of an earlier version has no note. What has task runs has been paid for.
    if place is None and flow_run.run_count > 1 and await _has_task_runs(flow_run):
        place = RunPlace()
    if place is not None:
        raise lost_error(run, str(flow_run.id), place, this_place(run))


def lost_error(run: RunFolder, flow_run_id: str, place: RunPlace, here: RunPlace) -> RunLostError:
    """Say where a lost run's folder is, and how to go on. Pure."""
    resume = f"prefect-swarm resume {run.run_id}"
    over = (
        "To begin from nothing, at full cost, set the option start_over: "
        f"prefect-swarm resume {flow_run_id} --start-over"
    )
    if not place.folder:
        problem = f"Run {run.run_id} has begun, and nothing says where: {here.folder} isn't there."
        return RunLostError(problem, f"Go on where its folder is: {resume}. {over}")
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
