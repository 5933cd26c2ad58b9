"""Where a run stands: it goes on, waits for a person, is over, or was left."""

from __future__ import annotations

import pytest
from prefect_swarm.cli.watch import Stage, code_of, stage_of
from prefect_swarm.store.events import BeganEvent, FinishedEvent, RunEvent

BEGAN = BeganEvent()
DONE = FinishedEvent(status="completed")
CANCELLED = FinishedEvent(status="cancelled")
WAITING = FinishedEvent(status="waiting")


@pytest.mark.parametrize(
    ("last", "alive", "result", "on_server", "stage"),
    [
        (None, True, False, False, "works"),
        (BEGAN, True, False, False, "works"),
        # A result of before is there for a moment when a run is begun again.
        (BEGAN, True, True, False, "works"),
        (DONE, True, True, False, "over"),
        (DONE, False, True, False, "over"),
        # Its events were at their bound, or have no room any more.
        (BEGAN, False, True, False, "over"),
        (WAITING, False, False, True, "waits"),
        # Somebody resumes it, and hasn't begun yet.
        (WAITING, True, False, False, "works"),
        (CANCELLED, False, False, True, "left"),
        (BEGAN, False, False, False, "left"),
        (BEGAN, False, False, True, "elsewhere"),
        (None, False, False, True, "elsewhere"),
    ],
)
def test_a_run_stands_where_its_last_event_and_its_process_say(
    last: RunEvent | None, alive: bool, result: bool, on_server: bool, stage: Stage
) -> None:
    found = stage_of(last, is_alive=alive, has_result=result, is_open_on_server=on_server)
    assert found == stage


@pytest.mark.parametrize(
    ("last", "status", "code"),
    [
        (DONE, "completed", 0),
        (None, "partial", 3),
        (DONE, "failed", 1),
        (CANCELLED, None, 130),
        (BEGAN, None, 1),
        (None, None, 1),
    ],
)
def test_the_run_s_own_exit_code_is_known(
    last: RunEvent | None, status: str | None, code: int
) -> None:
    assert code_of(last, status) == code
