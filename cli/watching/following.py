"""Following a run through its folder, which another process writes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

from ...approvals.store import Approvals
from ...events.kinds import AskedEvent, BeganEvent, FinishedEvent, RunEvent, Tell
from ...events.log import EVENTS, EventReader
from ...exit_codes import ExitCode, exit_code_of_status
from ...flows.approving.forms.kept import is_suspended
from ...runs import RunFolder
from ..runs import is_executed

__all__ = ["FollowedRun", "Stage", "code_of", "follow_run", "stage_of"]


Stage = Literal["works", "elsewhere", "waits", "over", "left"]
"""`works`: a process of this machine does. `elsewhere`: Prefect's server says that the flow run is
not over. `waits`: it was left until a person answers. `over`: it has its result. `left`: it has
none, and nothing works on it."""


def stage_of(
    last: RunEvent | None, *, is_alive: bool, has_result: bool, is_open_on_server: bool
) -> Stage:
    """Say where a run stands.

    Args:
        last: Its last event; None if it has none.
        is_alive: Whether a process of this machine works on it, asked before the event was read.
        has_result: Whether its folder has its result.
        is_open_on_server: Whether a Prefect server has its flow run as not over.
    """
    if is_alive and not (isinstance(last, FinishedEvent) and has_result):
        return "works"
    if has_result:
        return "over"
    if isinstance(last, FinishedEvent):
        return "waits" if last.status == "waiting" else "left"
    return "elsewhere" if is_open_on_server else "left"


def code_of(last: RunEvent | None, status: str | None) -> ExitCode:
    """Return the exit code that a run has earned, by its result's status or its last event."""
    if status is not None:
        return exit_code_of_status(status)
    if isinstance(last, FinishedEvent) and last.status == "cancelled":
        return ExitCode.CANCELLED
    return ExitCode.FAILED


_LOOK_S = 0.2
"""Seconds between two looks for events."""
_ASK_S = 2.0
"""Seconds between two questions to a Prefect server."""


@dataclass(slots=True)
class FollowedRun:
    """How far a run was followed: its stage and its last event."""

    stage: Stage
    last: RunEvent | None


async def follow_run(
    run: RunFolder,
    hear: Tell,
    note: Callable[[str], None],
    is_open: Callable[[], Awaitable[bool]],
) -> FollowedRun:
    """Tell of a run's events, those that were there and those that come, until it is over.

    Args:
        run: The run's folder.
        hear: Hears of each event.
        note: Is told what a person should know of the run as a whole.
        is_open: Asks a Prefect server whether the flow run is not over; False without a server.
    """
    reader, followed, noted = EventReader(run.folder / EVENTS), FollowedRun("works", None), ""
    while True:
        # Asked first: what the process wrote before it ended is then read below.
        alive = is_executed(run.folder)
        for event in reader.fresh():
            followed.last = event
            hear(event)
            if isinstance(event, BeganEvent):
                noted = ""
            elif isinstance(event, AskedEvent) and Approvals(run).pending():
                note(_to_answer(run.run_id))
        followed.stage = await _stage(run, followed.last, is_open, is_alive=alive)
        if followed.stage in ("over", "left"):
            return followed
        if (text := _note(followed.stage, run)) and text != noted:
            noted = text
            note(text)
        await asyncio.sleep(_ASK_S if followed.stage == "elsewhere" else _LOOK_S)


async def _stage(
    run: RunFolder,
    last: RunEvent | None,
    is_open: Callable[[], Awaitable[bool]],
    *,
    is_alive: bool,
) -> Stage:
    has_result = run.has("result.json")
    asks = not is_alive and not has_result and not isinstance(last, FinishedEvent)
    is_open_on_server = asks and await is_open()
    return stage_of(
        last, is_alive=is_alive, has_result=has_result, is_open_on_server=is_open_on_server
    )


def _note(stage: Stage, run: RunFolder) -> str:
    if stage == "waits":
        return _waiting_words(run)
    if stage == "elsewhere":
        return (
            "No process of this machine works on it, and Prefect's server has it as not over. If "
            f"no other machine works on it: prefect-swarm resume {run.run_id}"
        )
    return ""


def _waiting_words(run: RunFolder) -> str:
    if not is_suspended(run):
        return f"It was left until a person answers. {_to_answer(run.run_id)} --resume"
    if not Approvals(run).pending():
        return "It has its answer, and waits for a worker that goes on with it."
    return f"It waits for a person; then a worker goes on with it. {_to_answer(run.run_id)}"


def _to_answer(run_id: str) -> str:
    return (
        f"To see what it asks: prefect-swarm waiting {run_id}. "
        f"To answer: prefect-swarm approve {run_id}"
    )
