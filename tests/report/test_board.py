"""A board shows what the events say, whatever the clock."""

from __future__ import annotations

from collections.abc import Iterable
from io import StringIO

import pytest
from prefect_swarm.cli.terminal.screens import PlainScreen
from prefect_swarm.report.board import Board, reduce, running_path
from prefect_swarm.report.drawn_board import draw
from prefect_swarm.report.page import StepView
from prefect_swarm.store.events import (
    AnsweredEvent,
    AnsweringEvent,
    AskedEvent,
    BeganEvent,
    DirectingEvent,
    EndedEvent,
    ExpandedEvent,
    FinishedEvent,
    PlannedEvent,
    PlannedStep,
    RunEvent,
    SpentEvent,
    StartedEvent,
    TextEvent,
    TurnEvent,
    WaitEvent,
)
from rich.console import Console

STEPS = (
    PlannedStep(id="S1", agent="Ann"),
    PlannedStep(id="S2", agent="Ann"),
    PlannedStep(id="S3", agent="Ann", upstream=("S1", "S2")),
)
S1_DONE = EndedEvent(
    kind="succeeded",
    at=105.0,
    step="S1",
    attempt=1,
    tier="worker",
    model="m",
    started_at=102.0,
    ended_at=105.0,
    input_tokens=3,
    output_tokens=4,
)
BEGIN = (BeganEvent(at=100.0, run="abcd1234"), PlannedEvent(at=101.0, steps=STEPS))


def started(step: str, at: float = 102.0) -> StartedEvent:
    return StartedEvent(at=at, step=step, attempt=1, tier="worker")


def ended(kind: str, step: str, at: float, **fields: object) -> EndedEvent:
    return EndedEvent.model_validate({"kind": kind, "step": step, "at": at, **fields})


LAUNCHED = (started("S1"), started("S2"))
S2_DONE = S1_DONE.model_copy(update={"step": "S2", "at": 110.0, "ended_at": 110.0, "queue_s": 1.0})
S1_RETRIED = S1_DONE.model_copy(update={"kind": "retrying"})


def after(events: Iterable[RunEvent]) -> Board:
    board = Board("Compare")
    for event in events:
        board = reduce(board, event)
    return board


def text_of(row: StepView) -> str:
    return row.running.answered if row.running else ""


def wait_s(row: StepView, now: float) -> float:
    return row.running.wait_s(now) if row.running else 0.0


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
            (*BEGIN, *LAUNCHED, S1_RETRIED),
            {"S1": "ready", "S2": "running", "S3": "waiting"},
        ),
        (
            (*BEGIN, *LAUNCHED, ended("failed", "S1", 103.0), ended("skipped", "S3", 103.0)),
            {"S1": "failed", "S2": "running", "S3": "skipped"},
        ),
        (
            (*BEGIN, *LAUNCHED, ended("cancelled", "S1", 103.0)),
            {"S1": "cancelled", "S2": "running", "S3": "waiting"},
        ),
    ],
)
def test_each_step_has_the_status_its_events_gave_it(
    events: tuple[RunEvent, ...], expected: dict[str, str]
) -> None:
    assert statuses(after(events)) == expected


@pytest.mark.parametrize(
    ("events", "phase"),
    [
        ((), "starting"),
        (BEGIN[:1], "planning"),
        (BEGIN, "running"),
        ((*BEGIN, AnsweringEvent(at=103.0)), "answering"),
        ((*BEGIN, FinishedEvent(at=104.0)), "finished"),
    ],
)
def test_the_phase_follows_the_run(events: tuple[RunEvent, ...], phase: str) -> None:
    assert after(events).phase == phase


def test_the_running_path_counts_what_still_runs_up_to_now() -> None:
    board = after((*BEGIN, *LAUNCHED, S1_DONE))
    assert running_path(board, 104.0).steps == ("S1",)
    assert running_path(board, 107.0).steps == ("S2",)
    assert running_path(board, 107.0).seconds == 5.0


def test_the_path_goes_through_the_longer_of_two_inputs_and_leaves_out_waiting_for_the_model() -> (
    None
):
    board = after((*BEGIN, *LAUNCHED, S1_DONE, S2_DONE, started("S3", 110.0)))
    path = running_path(board, 112.0)
    assert path.steps == ("S2", "S3")
    assert path.seconds == 7.0 + 2.0


def test_before_anything_runs_the_path_is_empty() -> None:
    assert running_path(after(BEGIN), 500.0).steps == ()


def test_an_attempt_that_is_reported_twice_counts_once() -> None:
    refused = S1_DONE.model_copy(update={"kind": "failed"})
    assert after((*BEGIN, *LAUNCHED, S1_DONE, refused)).tokens == 7


def test_a_step_that_was_given_to_somebody_else_has_their_name() -> None:
    theirs = S1_DONE.model_copy(update={"agent": "Bob", "attempt": 2})
    board = after((*BEGIN, *LAUNCHED, S1_RETRIED))
    assert board.rows["S1"].state.agent == "Ann"
    board = after((*BEGIN, *LAUNCHED, S1_RETRIED, theirs))
    assert board.rows["S1"].state.agent == "Bob"


def test_a_run_that_starts_again_begins_with_an_empty_board() -> None:
    assert after((*BEGIN, *LAUNCHED, BEGIN[0])).rows == {}


def test_an_event_of_an_unknown_step_changes_nothing() -> None:
    board = after(BEGIN)
    assert reduce(board, started("S9")) == board


@pytest.mark.parametrize(
    ("events", "line"),
    [
        (BEGIN[:1], "    0.0 s  Run abcd1234 begins: Compare"),
        (BEGIN, "    1.0 s  Plan of 3 steps, 2 of them can start immediately"),
        ((*BEGIN, LAUNCHED[0]), "    2.0 s  S1 Ann started: attempt 1 on worker"),
        ((*BEGIN, *LAUNCHED, S1_DONE), "    5.0 s  S1 Ann finished in 3.0 s: attempt 1, 7 tokens"),
        (
            (*BEGIN, *LAUNCHED, ended("failed", "S1", 103.0, reason="no\x1b[31m\ngood")),
            r"    3.0 s  S1 Ann failed: no\u001b[31m good",
        ),
        (
            (*BEGIN, *LAUNCHED, S1_DONE, S2_DONE, FinishedEvent(at=111.0, run="abcd1234")),
            "   11.0 s  Run abcd1234 is completed after 11.0 s; critical path S2 (7.0 s)",
        ),
    ],
)
def test_each_event_is_one_plain_line(events: tuple[RunEvent, ...], line: str) -> None:
    assert last_line(events) == line


def last_line(events: Iterable[RunEvent]) -> str:
    """What the last of some events is written as; "" if it has no line."""
    lines: list[str] = []
    screen = PlainScreen("Compare", lines.append)
    for event in events:
        lines.clear()
        screen.handle(event)
    return "".join(lines)


WAITS = WaitEvent(at=103.0, step="S1", provider="openai", why="rate limit", seconds=12)
GOES_ON = WaitEvent(kind="resumed", at=115.0, step="S1")


def test_a_wait_for_a_provider_is_no_work() -> None:
    waiting = after([*BEGIN, *LAUNCHED, WAITS]).rows["S1"]
    assert (waiting.status, waiting.why) == ("running", WAITS.words)
    assert (waiting.work_s(110.0), wait_s(waiting, 110.0)) == (1.0, 7.0)
    gone_on = after([*BEGIN, *LAUNCHED, WAITS, GOES_ON]).rows["S1"]
    assert (gone_on.work_s(120.0), wait_s(gone_on, 120.0), gone_on.why) == (6.0, 12.0, "")


def test_who_is_waited_for_is_said_in_a_line() -> None:
    line = last_line([*BEGIN, *LAUNCHED, WAITS])
    assert line == "    3.0 s  S1 Ann: waiting for openai (rate limit), 12 s"


def test_a_wait_of_the_planner_is_said_without_a_step() -> None:
    wait = WaitEvent(at=100.5, provider="openai", why="overloaded", seconds=2)
    assert last_line([BEGIN[0], wait]) == "    0.5 s  Waiting for openai (overloaded), 2 s"


def written(text: str, tokens: int, request: int = 1) -> TextEvent:
    return TextEvent(step="S1", text=text, tokens=tokens, request=request)


def test_a_running_step_shows_what_it_writes_until_it_ends() -> None:
    events = (*BEGIN, *LAUNCHED, written("Tea ", 1), written("is hot.", 3))
    row = after(events).rows["S1"]
    assert (text_of(row), row.tokens) == ("Tea is hot.", 3)
    row = after((*events, S1_DONE)).rows["S1"]
    assert (text_of(row), row.tokens) == ("", 7)


def test_the_end_of_what_a_running_step_writes_is_drawn_with_tokens_and_cost() -> None:
    text = "Tea is a drink. " * 10
    spent = SpentEvent(cost_usd=0.0125)
    board = after((*BEGIN, *LAUNCHED, spent, written(text, 40)))
    console = Console(width=160, file=StringIO(), color_system=None)
    with console.capture() as shown:
        console.print(draw(board, 104.0, 10, "", ""))
    drawn = shown.get()
    (line,) = (line for line in drawn.splitlines() if " S1 " in line)
    assert line.rstrip().endswith("Tea is a drink.")
    assert " 40 " in line
    assert "40 tokens · $0.0125" in drawn


def test_a_request_that_is_sent_again_begins_its_text_again() -> None:
    events = (*BEGIN, *LAUNCHED, written("Half an ans", 3), written("Tea", 1, request=2))
    assert text_of(after(events).rows["S1"]) == "Tea"


@pytest.mark.parametrize("event", [written("Tea", 1), SpentEvent(cost_usd=0.5)])
def test_what_comes_often_has_no_line(event: RunEvent) -> None:
    assert last_line((*BEGIN, *LAUNCHED, event)) == ""


def test_the_cost_so_far_is_the_last_that_was_told() -> None:
    assert after((*BEGIN, SpentEvent(cost_usd=0.5), SpentEvent(cost_usd=0.7))).cost_usd == 0.7


def test_a_step_that_starts_before_the_plan_is_there_goes_on_in_it() -> None:
    board = Board("Compare")
    before = (
        BEGIN[0],
        StartedEvent(at=100.5, step="S1", attempt=1, tier="worker"),
        StartedEvent(at=100.6, step="S9", attempt=1, tier="worker"),
        EndedEvent(kind="cancelled", at=100.8, step="S9", attempt=1),
    )
    for event in before:
        board = reduce(board, event)
    assert board.count("running") == 1
    board = reduce(board, BEGIN[1])
    assert [*board.rows] == ["S1", "S2", "S3"]
    assert (board.rows["S1"].status, board.rows["S1"].state.agent) == ("running", "Ann")
    assert board.rows["S1"].work_s(102.5) == 2.0


# --- waiting for a person -------------------------------------------------------------------------

ASKED = AskedEvent(at=103.0, step="S1", attempt=1, question="S1", title="S1 Ann, before it begins")
ANSWERED = AnsweredEvent(at=104.0, step="S1", question="S1", verdict="approved", why="good")


def test_a_step_that_is_asked_about_waits_for_approval_until_it_is_answered() -> None:
    board = after((*BEGIN, started("S2"), ASKED))
    assert board.rows["S1"].status == "asked"
    console = Console(file=StringIO(), width=120)
    console.print(draw(board, 103.0, 9, "", ""))
    assert "waits for approval" in console.file.getvalue()  # type: ignore[attr-defined]
    assert reduce(board, ANSWERED).rows["S1"].status == "ready"


def test_an_attempt_that_waits_in_its_middle_runs_no_more() -> None:
    board = after((*BEGIN, *LAUNCHED, ASKED))
    assert board.rows["S1"].running is None
    assert board.rows["S1"].work_s(200.0) == 0.0


def test_questions_and_answers_have_lines_of_their_own() -> None:
    assert "Waiting for approval: S1 Ann, before it begins." in last_line((*BEGIN, ASKED))
    assert "S1 is approved: good" in last_line((*BEGIN, ASKED, ANSWERED))


# --- steps with members ---------------------------------------------------------------------------

SPREAD = (
    BEGIN[0],
    PlannedEvent(
        at=101.0,
        steps=(
            PlannedStep(id="S1", agent="Ann"),
            PlannedStep(id="S2", agent="Bob", upstream=("S1",)),
            PlannedStep(id="S3", agent="Ann", upstream=("S2",)),
        ),
    ),
    started("S1"),
    S1_DONE,
)


def expanded(count: int) -> ExpandedEvent:
    members = (
        PlannedStep(id=f"S2[{number}]", agent="Bob", label=f"Paper {number}")
        for number in range(1, count + 1)
    )
    return ExpandedEvent(at=106.0, step="S2", steps=tuple(members))


def ended_member(number: int, kind: str = "succeeded") -> EndedEvent:
    update = {"step": f"S2[{number}]", "kind": kind, "started_at": 106.0, "ended_at": 109.0}
    return S1_DONE.model_copy(update={**update, "at": 109.0})


def lines_of(board: Board, lines: int = 9) -> list[str]:
    console = Console(file=StringIO(), width=140)
    console.print(draw(board, 112.0, lines, "", ""))
    return console.file.getvalue().splitlines()  # type: ignore[attr-defined]


def test_a_step_with_members_has_one_line_with_a_bar_and_its_failures() -> None:
    working = [started(f"S2[{number}]", 110.0) for number in (4, 5)]
    ends = [ended_member(1), ended_member(2, "failed"), ended_member(3)]
    board = after((*SPREAD, expanded(20), *ends, *working))
    lines = [line for line in lines_of(board) if "S2" in line]
    assert len([line for line in lines if line.strip().startswith("*") or " S2 " in line[:8]]) == 1
    assert "██▒░░···············" in lines[0]
    assert "2 of 20 instances done, 1 failed, 2 running: S2[2]" in lines[0]
    assert not any("S2[4]" in line and "Bob" in line for line in lines)


def test_steps_are_counted_without_members_and_running_ones_with_them() -> None:
    board = after((*SPREAD, expanded(20), *(started(f"S2[{n}]", 110.0) for n in (1, 2, 3))))
    assert any("1 of 3 steps over · 3 running" in line for line in lines_of(board))


def test_a_line_of_members_has_their_time_and_tokens() -> None:
    board = after((*SPREAD, expanded(2), ended_member(1), started("S2[2]", 110.0)))
    row = board.shown[1]
    assert row.work_s(112.0) == 3.0 + 2.0
    assert row.tokens == 7


def test_what_needs_a_step_waits_for_its_end_and_not_for_one_member() -> None:
    events = (*SPREAD, expanded(2), ended_member(1), ended_member(2))
    board = after(events)
    assert (board.rows["S2"].status, board.rows["S3"].status) == ("running", "waiting")
    board = reduce(board, ended("succeeded", "S2", 110.0, reason="2 of 2 instances succeeded"))
    assert (board.rows["S2"].status, board.rows["S3"].status) == ("succeeded", "ready")


def test_the_critical_path_goes_through_members() -> None:
    events = (*SPREAD, expanded(2), ended_member(1), ended("succeeded", "S2", 110.0))
    third = S1_DONE.model_copy(update={"step": "S3", "started_at": 110.0, "ended_at": 112.0})
    assert running_path(after((*events, third)), 112.0).steps == ("S1", "S2[1]", "S3")


def test_a_long_critical_path_is_written_briefly() -> None:
    steps = tuple(
        PlannedStep(id=f"S{n}", agent="Ann", upstream=(f"S{n - 1}",) if n > 1 else ())
        for n in range(1, 41)
    )
    ends = (S1_DONE.model_copy(update={"step": step.id}) for step in steps)
    board = after((BEGIN[0], PlannedEvent(at=101.0, steps=steps), *ends))
    path = next(line for line in lines_of(board, 50) if "critical path so far" in line)
    assert path.endswith("S11 > … > S40")


def test_a_thousand_members_are_one_line() -> None:
    board = after((*SPREAD, expanded(1000), *(ended_member(n, "failed") for n in range(1, 500))))
    lines = lines_of(board)
    assert len(lines) < 12
    assert any("499 failed: S2[1] to S2[499]" in line for line in lines)


DIRECTING = DirectingEvent(at=111.0, number_of_turn=2, cause="seen")
NEW = TurnEvent(at=115.0, number_of_turn=2, steps=(PlannedStep(id="S4", agent="Bo"),))


def drawn(board: Board) -> str:
    console = Console(file=StringIO(), width=120)
    console.print(draw(board, 112.0, 9, "", ""))
    written = console.file
    assert isinstance(written, StringIO)
    return written.getvalue()


def board_after(*events: RunEvent) -> Board:
    board = Board("Goal")
    for event in events:
        board = reduce(board, event)
    return board


def test_a_run_that_waits_for_the_orchestrator_alone_says_so() -> None:
    waiting = board_after(*BEGIN, *LAUNCHED, S1_DONE, S2_DONE, DIRECTING)
    assert waiting.waits_for_turn
    assert "waiting for turn 2 of the orchestrator" in drawn(waiting)
    decided = reduce(waiting, NEW)
    assert "S4" in decided.rows
    assert "orchestrator" not in drawn(decided)


def test_while_a_step_goes_on_a_turn_is_not_what_the_run_waits_for() -> None:
    board = board_after(*BEGIN, *LAUNCHED, S1_DONE, DIRECTING)
    assert board.turn == 2
    assert not board.waits_for_turn


def test_a_turn_that_a_person_has_to_approve_is_waited_for_no_more() -> None:
    asked = AskedEvent(question="turn.2", title="Turn 2 adds S4")
    board = board_after(*BEGIN, *LAUNCHED, S1_DONE, S2_DONE, DIRECTING, asked)
    assert not board.waits_for_turn


def test_a_turn_that_assigns_more_in_place_of_the_answer_lets_the_run_go_on() -> None:
    board = board_after(*BEGIN, *LAUNCHED, DIRECTING, AnsweringEvent(attempt=1), NEW)
    assert board.phase == "running"
    last = TurnEvent(number_of_turn=3, finished=True)
    assert reduce(reduce(board, AnsweringEvent(attempt=1)), last).phase == "answering"
