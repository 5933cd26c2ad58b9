"""A board shows what the events say, whatever the clock."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from prefect_swarm.cli.progress.board import Board, reduce, running_path
from prefect_swarm.cli.progress.plain import line_of
from prefect_swarm.flows.compile import compile_plan
from prefect_swarm.flows.control import Progress
from prefect_swarm.result import Attempt, Usage
from prefect_swarm.task_ir import parse_plan

PLAN = compile_plan(
    parse_plan(
        {
            "objective": "Compare",
            "agents": [{"name": "Ann", "system_prompt": "You write."}],
            "steps": [
                {"id": "S1", "agent": "Ann", "prompt": "One"},
                {"id": "S2", "agent": "Ann", "prompt": "Two"},
                {"id": "S3", "agent": "Ann", "prompt": "Three", "depends_on": ["S1", "S2"]},
            ],
        }
    )
)


def attempt(number: int, start: float, end: float, queue_s: float = 0.0) -> Attempt:
    return Attempt(
        number=number,
        tier="worker",
        model="m",
        started_at=start,
        ended_at=end,
        queue_s=queue_s,
        usage=Usage(requests=1, input_tokens=3, output_tokens=4),
    )


BEGIN = (Progress("started", 100.0, text="abcd1234"), Progress("planned", 101.0, plan=PLAN))
LAUNCHED = (Progress("launched", 102.0, "S1"), Progress("launched", 102.0, "S2"))
S1_DONE = Progress("succeeded", 105.0, "S1", attempt=attempt(1, 102.0, 105.0))
S2_DONE = Progress("succeeded", 110.0, "S2", attempt=attempt(1, 102.0, 110.0, queue_s=1.0))


def after(events: Iterable[Progress]) -> Board:
    board = Board("Compare")
    for event in events:
        board = reduce(board, event)
    return board


def statuses(board: Board) -> dict[str, str]:
    return {name: row.status for name, row in board.rows.items()}


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        (BEGIN, {"S1": "ready", "S2": "ready", "S3": "waiting"}),
        ((*BEGIN, *LAUNCHED), {"S1": "running", "S2": "running", "S3": "waiting"}),
        ((*BEGIN, *LAUNCHED, S1_DONE), {"S1": "succeeded", "S2": "running", "S3": "waiting"}),
        (
            (*BEGIN, *LAUNCHED, S1_DONE, S2_DONE),
            {"S1": "succeeded", "S2": "succeeded", "S3": "ready"},
        ),
        (
            (*BEGIN, *LAUNCHED, Progress("retrying", 103.0, "S1", attempt=attempt(1, 102, 103))),
            {"S1": "ready", "S2": "running", "S3": "waiting"},
        ),
        (
            (*BEGIN, *LAUNCHED, Progress("failed", 103.0, "S1"), Progress("skipped", 103.0, "S3")),
            {"S1": "failed", "S2": "running", "S3": "skipped"},
        ),
        (
            (*BEGIN, *LAUNCHED, Progress("cancelled", 103.0, "S1")),
            {"S1": "cancelled", "S2": "running", "S3": "waiting"},
        ),
    ],
)
def test_each_step_has_the_status_its_events_gave_it(
    events: tuple[Progress, ...], expected: dict[str, str]
) -> None:
    assert statuses(after(events)) == expected


@pytest.mark.parametrize(
    ("events", "phase"),
    [
        ((), "starting"),
        (BEGIN[:1], "planning"),
        (BEGIN, "running"),
        ((*BEGIN, Progress("synthesising", 103.0)), "answering"),
        ((*BEGIN, Progress("finished", 104.0)), "finished"),
    ],
)
def test_the_phase_follows_the_run(events: tuple[Progress, ...], phase: str) -> None:
    assert after(events).phase == phase


def test_the_running_path_counts_what_still_runs_up_to_now() -> None:
    board = after((*BEGIN, *LAUNCHED, S1_DONE))
    assert running_path(board, 104.0).steps == ("S1",)
    assert running_path(board, 107.0).steps == ("S2",)
    assert running_path(board, 107.0).seconds == 5.0


def test_the_path_goes_through_the_longer_of_two_inputs_and_leaves_out_waiting_for_the_model() -> (
    None
):
    board = after((*BEGIN, *LAUNCHED, S1_DONE, S2_DONE, Progress("launched", 110.0, "S3")))
    path = running_path(board, 112.0)
    assert path.steps == ("S2", "S3")
    assert path.seconds == 7.0 + 2.0


def test_before_anything_runs_the_path_is_empty() -> None:
    assert running_path(after(BEGIN), 500.0).steps == ()


def test_an_attempt_that_is_reported_twice_counts_once() -> None:
    refused = Progress("failed", 106.0, "S1", attempt=S1_DONE.attempt)
    assert after((*BEGIN, *LAUNCHED, S1_DONE, refused)).tokens == 7


def test_a_step_that_was_given_to_somebody_else_has_their_name() -> None:
    theirs = attempt(2, 106.0, 108.0).model_copy(update={"agent": "Bob"})
    retried = Progress("retrying", 105.0, "S1", attempt=attempt(1, 102.0, 105.0))
    board = after((*BEGIN, *LAUNCHED, retried))
    assert board.rows["S1"].agent == "Ann"
    board = after((*BEGIN, *LAUNCHED, retried, Progress("succeeded", 108.0, "S1", attempt=theirs)))
    assert board.rows["S1"].agent == "Bob"


def test_a_run_that_starts_again_begins_with_an_empty_board() -> None:
    assert after((*BEGIN, *LAUNCHED, BEGIN[0])).rows == {}


def test_an_event_of_an_unknown_step_changes_nothing() -> None:
    board = after(BEGIN)
    assert reduce(board, Progress("launched", 103.0, "S9")) == board


@pytest.mark.parametrize(
    ("events", "line"),
    [
        (BEGIN[:1], "    0.0 s  Run abcd1234: Compare"),
        (BEGIN, "    1.0 s  Plan of 3 steps, 2 of them can start at once"),
        ((*BEGIN, LAUNCHED[0]), "    2.0 s  S1 Ann: started"),
        ((*BEGIN, *LAUNCHED, S1_DONE), "    5.0 s  S1 Ann: done · 3.0 s, 7 tokens"),
        (
            (*BEGIN, *LAUNCHED, Progress("failed", 103.0, "S1", "no\x1b[31m\ngood")),
            "    3.0 s  S1 Ann: failed · no[31m good",
        ),
        (
            (*BEGIN, *LAUNCHED, S1_DONE, S2_DONE, Progress("finished", 111.0)),
            "   11.0 s  Finished; critical path S2 (7.0 s)",
        ),
    ],
)
def test_each_event_is_one_plain_line(events: tuple[Progress, ...], line: str) -> None:
    assert line_of(after(events), events[-1]) == line


WAITS = Progress("waiting", 103.0, "S1", text="waiting for openai (rate limit), 12 s")
GOES_ON = Progress("resumed", 115.0, "S1")


def test_a_wait_for_a_provider_is_no_work() -> None:
    waiting = after([*BEGIN, *LAUNCHED, WAITS]).rows["S1"]
    assert (waiting.status, waiting.note) == ("running", WAITS.text)
    assert (waiting.work_s(110.0), waiting.wait_s(110.0)) == (1.0, 7.0)
    gone_on = after([*BEGIN, *LAUNCHED, WAITS, GOES_ON]).rows["S1"]
    assert (gone_on.work_s(120.0), gone_on.wait_s(120.0), gone_on.note) == (6.0, 12.0, "")


def test_who_is_waited_for_is_said_in_a_line() -> None:
    line = line_of(after([*BEGIN, *LAUNCHED, WAITS]), WAITS)
    assert line == "    3.0 s  S1 Ann: waiting for openai (rate limit), 12 s"


def test_a_wait_of_the_planner_is_said_without_a_step() -> None:
    wait = Progress("waiting", 100.5, text="waiting for openai (overloaded), 2 s")
    assert line_of(after([BEGIN[0], wait]), wait) == (
        "    0.5 s  Waiting for openai (overloaded), 2 s"
    )
