"""Where a run of another process stands, by its last event and who works on it. Pure."""

from __future__ import annotations

from typing import Literal

from ...events.kinds import FinishedEvent, RunEvent
from ...exit_codes import ExitCode, exit_code_of_status

__all__ = ["Stage", "code_of", "stage_of"]

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
