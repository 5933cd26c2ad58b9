"""Events as lines: who, what and the numbers, one line each, and never a text of a model's own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.store.event_wording import LogState, is_warning, log_line, planned_lines
from prefect_swarm.store.events import (
    AnsweredEvent,
    AnsweringEvent,
    AskedEvent,
    BeganEvent,
    DecisionEvent,
    DirectingEvent,
    EndedEvent,
    ExploringEvent,
    FinishedEvent,
    GateEvent,
    MessageEvent,
    PartEvent,
    PlannedEvent,
    PlannedStep,
    PlanningEvent,
    RunEvent,
    StartedEvent,
    TextEvent,
    TurnEvent,
    WaitEvent,
)
from run_events import run_events

STEPS = (
    PlannedStep(id="S1", agent="Ann", tier="worker"),
    PlannedStep(id="S2", agent="Bo", tier="coder", upstream=("S1",), optional=True),
)
BEGIN = (BeganEvent(at=100.0, run="abc"), PlannedEvent(steps=STEPS))
STARTED = StartedEvent(step="S1", attempt=2, tier="coder")
ENDED = EndedEvent(
    kind="succeeded",
    step="S1",
    attempt=2,
    started_at=102.0,
    ended_at=107.2,
    queue_s=1.0,
    input_tokens=800,
    output_tokens=12,
    cost_usd=0.0021,
)


def gate(name: str, status: str, sample: int = 0) -> GateEvent:
    return GateEvent(step="S1", attempt=2, gate=name, status=status, sample=sample)


def line(*events: RunEvent) -> str | None:
    state = LogState()
    for event in events:
        state.handle(event)
    return log_line(events[-1], state)


PASSED = tuple(gate(name, "passed") for name in ("schema", "lint", "unit"))


def test_the_seconds_of_a_step_are_those_of_its_gates_too() -> None:
    checked = ENDED.model_copy(update={"checks_s": 30.0})
    assert "finished in 34.2 s" in (line(*BEGIN, STARTED, checked) or "")


def test_a_finished_step_says_who_how_long_which_attempt_tokens_money_and_gates() -> None:
    assert line(*BEGIN, STARTED, *PASSED, ENDED) == (
        "S1 Ann finished in 4.2 s: attempt 2, 812 tokens, $0.0021, 3 gates passed"
    )


def test_a_step_that_is_tried_again_says_which_gate_failed_and_why() -> None:
    retried = ENDED.model_copy(
        update={"kind": "retrying", "cost_usd": None, "reason": "FORMAT: no\nJSON"}
    )
    assert line(*BEGIN, STARTED, gate("lint", "passed"), gate("schema", "failed"), retried) == (
        "S1 Ann is tried again: attempt 2 failed after 4.2 s, 812 tokens, 1 gate passed, "
        "1 gate failed (schema). FORMAT: no JSON"
    )


def test_a_gate_counts_as_passed_where_it_let_any_candidate_through() -> None:
    gates = (gate("unit", "failed", 1), gate("unit", "passed", 2), gate("unit", "failed", 3))
    assert (line(*BEGIN, STARTED, *gates, ENDED) or "").endswith(", 1 gate passed")


def test_gates_of_an_earlier_attempt_are_not_counted() -> None:
    assert (line(*BEGIN, STARTED, *PASSED, STARTED, ENDED) or "").endswith("$0.0021")


def test_a_step_that_an_earlier_process_finished_had_finished() -> None:
    goes_on = BeganEvent(at=200.0, run="abc", resumed=True)
    before = (*BEGIN, STARTED, goes_on, BEGIN[1])
    assert line(*before, ENDED) == "S1 Ann had finished: attempt 2, 812 tokens, $0.0021"
    assert line(*before, ENDED.model_copy(update={"kind": "retrying"})) is None


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (BEGIN[0], "Run abc begins"),
        (BeganEvent(run="abc", resumed=True), "Run abc goes on"),
        (PlanningEvent(model="m"), "Asking m for the plan"),
        (ExploringEvent(model="m", calls=9), "m looks around before it plans, at most 9 calls"),
        (BEGIN[1], "Plan of 2 steps, 1 of them can start immediately"),
        (STARTED, "S1 Ann started: attempt 2 on coder"),
        (
            DecisionEvent(step="S1", attempt=2, action="RETRY", rule="R", reason="w", tier="coder"),
            "S1 Ann, attempt 2: decided RETRY on coder (rule R), since w",
        ),
        (DecisionEvent(step="S1", attempt=2, action="FAIL"), "S1 Ann, attempt 2: decided FAIL"),
        (
            WaitEvent(step="S1", provider="openai", why="rate limit", seconds=12),
            "S1 Ann: waiting for openai (rate limit), 12 s",
        ),
        (WaitEvent(provider="openai", why="busy"), "Waiting for openai (busy)"),
        (WaitEvent(kind="resumed", step="S1"), None),
        (
            AskedEvent(run="abc", step="S1", question="S1", title="S1 Ann, before it begins"),
            "Waiting for approval: S1 Ann, before it begins. Approve: prefect-swarm approve abc S1 "
            "(or reject)",
        ),
        (
            AnsweredEvent(question="S1", verdict="rejected", why="no", by="command"),
            "S1 is rejected by command: no",
        ),
        (
            AnsweredEvent(question="S1", verdict="approved", by="form", name="Ann\n(terminal)"),
            'S1 is approved by form (as "Ann (terminal)")',
        ),
        (EndedEvent(kind="skipped", step="S2", reason="S1 did not"), "S2 Bo skipped: S1 did not"),
        (EndedEvent(kind="cancelled", step="S2"), "S2 Bo cancelled"),
        (
            EndedEvent(kind="skipped", step="S2", attempt=3, reason="FORMAT: no JSON"),
            "S2 Bo gave up after 3 attempts: FORMAT: no JSON",
        ),
        (
            EndedEvent(kind="succeeded", step="S2", reason="taken over from run 1"),
            "S2 Bo finished: taken over from run 1",
        ),
        (EndedEvent(kind="failed", step="S2", reason="a disk"), "S2 Bo failed: a disk"),
        (AnsweringEvent(attempt=1), "Writing the answer"),
        (AnsweringEvent(attempt=2), None),
        (TextEvent(step="S1", text="secret"), None),
        (
            FinishedEvent(run="abc", at=112.0, calls=3, input_tokens=8, cost_usd=0.01),
            "Run abc is completed after 12.0 s: 3 calls, 8 tokens, $0.0100",
        ),
        (
            FinishedEvent(run="abc", at=101.0, missing="1 item missing: S1[2]"),
            "Run abc is completed after 1.0 s. 1 item missing: S1[2]",
        ),
        (
            FinishedEvent(run="abc", at=101.0, status="failed", problem="S1: no"),
            "Run abc is failed after 1.0 s. S1: no",
        ),
        (
            FinishedEvent(run="abc", at=101.0, status="waiting", problem="S1 waits."),
            "Run abc is left after 1.0 s until a person answers. S1 waits.",
        ),
    ],
)
def test_each_event_that_a_person_waits_for_is_a_line(event: RunEvent, words: str | None) -> None:
    assert line(*BEGIN, event) == words


def test_a_plan_has_a_line_for_each_of_its_steps() -> None:
    assert planned_lines(BEGIN[1]) == ["S1 Ann on worker", "S2 Bo on coder, needs S1, optional"]


def test_a_large_plan_has_its_first_hundred_steps() -> None:
    lines = planned_lines(PlannedEvent(steps=STEPS[:1] * 250))
    assert len(lines) == 101
    assert lines[-1] == "… and 150 more steps"


def test_what_failed_is_a_warning_and_the_rest_is_not() -> None:
    retried, failed = (ENDED.model_copy(update={"kind": kind}) for kind in ("retrying", "failed"))
    gave_up = EndedEvent(kind="skipped", step="S2", attempt=3)
    lossy = FinishedEvent(missing="1 item missing: S1[2]")
    bad = (retried, failed, gave_up, lossy, FinishedEvent(status="partial"))
    assert all(map(is_warning, bad))
    assert not any(map(is_warning, (*BEGIN, STARTED, ENDED, FinishedEvent(status="completed"))))


@given(st.lists(run_events, max_size=20))
def test_any_events_are_whole_bounded_lines(events: list[RunEvent]) -> None:
    state = LogState()
    for event in events:
        state.handle(event)
        words = log_line(event, state)
        assert words is None or ("\n" not in words and 0 < len(words) < 1500)


@given(st.text(min_size=1, max_size=50))
def test_no_line_has_what_a_model_wrote(text: str) -> None:
    assert line(*BEGIN, TextEvent(step="S1", text=text)) is None


def test_a_message_is_a_line_and_so_is_the_turn_that_read_it() -> None:
    message = MessageEvent(message=2, text="Also look at\nPortugal.", by="command", name="Ann")
    turn = TurnEvent(number_of_turn=3, messages=(2,), look_after=("S4",))
    assert log_line(message, LogState()) == (
        'Message 2 to the orchestrator by command (as "Ann"): Also look at Portugal.'
    )
    assert log_line(turn, LogState()) == (
        "Turn 3 of the orchestrator: has read message 2, next after S4"
    )


def test_the_question_for_a_turn_says_why_and_that_for_the_answer_is_said_as_such() -> None:
    asked = DirectingEvent(number_of_turn=2, cause="seen")
    assert line(asked) == "Asking the orchestrator for turn 2: what it wanted is there"
    assert line(asked.model_copy(update={"cause": "over"})) is None


def test_a_part_on_a_pool_says_which_flow_run_how_far_and_whether_it_waits_for_a_person() -> None:
    part = PartEvent(
        step="S2", pool="gpu", part="abc", flow_run="S2 of it", state="Running", url="http://ui/1"
    )
    assert line(part) == (
        "S2: flow run S2 of it on the work pool gpu is Running (run abc): http://ui/1"
    )
    waits = part.model_copy(update={"state": "Suspended", "url": ""})
    assert line(waits) == (
        "S2: flow run S2 of it on the work pool gpu is Suspended, and waits for a person (run abc)"
    )
