"""What the Prefect server is told of a run: small, without secrets, and never too much."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.flows.prefect_io import flow_run
from prefect_swarm.flows.prefect_io.prefect_events import (
    MOST_SENT,
    Notice,
    Notices,
    PrefectEvents,
)
from prefect_swarm.store.events import (
    AnsweredEvent,
    AskedEvent,
    EndedEvent,
    EndKind,
    FinishedEvent,
    GateEvent,
    PlannedEvent,
    RunEvent,
    SpentEvent,
    StartedEvent,
    TextEvent,
    TurnEvent,
    WaitEvent,
)
from run_events import run_events


def names(event: RunEvent, notices: Notices | None = None) -> list[str]:
    return [notice.name for notice in (notices or Notices()).of(event)]


def only(event: RunEvent, **bounds: Any) -> Notice:
    (notice,) = Notices(**bounds).of(event)
    return notice


@pytest.mark.parametrize(
    ("event", "name"),
    [
        (PlannedEvent(), "run.planned"),
        (TurnEvent(number_of_turn=2), "run.turn"),
        (FinishedEvent(status="completed"), "run.completed"),
        (FinishedEvent(status="partial"), "run.partial"),
        (FinishedEvent(status="failed"), "run.failed"),
        (FinishedEvent(status="unfinished", problem="No plan."), "run.failed"),
        (EndedEvent(kind="retrying", step="S1", attempt=1), "step.retried"),
        (EndedEvent(kind="failed", step="S1", attempt=2), "step.failed"),
        (EndedEvent(kind="skipped", step="S1", attempt=2), "step.failed"),
        (GateEvent(gate="lint", status="failed"), "gate.failed"),
        (AskedEvent(question="plan"), "approval.requested"),
        (AnsweredEvent(question="plan", verdict="approved"), "approval.answered"),
        (WaitEvent(provider="openai", why="429"), "provider.unavailable"),
    ],
)
def test_what_automations_may_act_upon_is_told(event: RunEvent, name: str) -> None:
    assert names(event) == [name]


@pytest.mark.parametrize(
    "event",
    [
        StartedEvent(step="S1"),
        TextEvent(step="S1", text="Much text."),
        GateEvent(gate="lint", status="passed"),
        EndedEvent(kind="succeeded", step="S1", attempt=1),
        EndedEvent(kind="skipped", step="S1", category="UPSTREAM"),
        FinishedEvent(status="waiting"),
        FinishedEvent(status="cancelled"),
        SpentEvent(input_tokens=10_000),
        WaitEvent(provider="openai", why="its turn"),
        WaitEvent(kind="resumed", provider="openai"),
    ],
)
def test_nothing_else_is(event: RunEvent) -> None:
    assert names(event) == []


def test_a_bound_is_said_to_be_near_once() -> None:
    notices = Notices(max_tokens=1_000, max_usd=2.0)
    found = [
        notice
        for tokens, usd in ((700, 0.1), (800, 0.2), (900, 1.9), (1_000, 2.0))
        for notice in notices.of(SpentEvent(input_tokens=tokens, cost_usd=usd))
    ]
    assert [(notice.name, notice.payload["words"]) for notice in found] == [
        ("budget.near", "80% of max_tokens is spent."),
        ("budget.near", "95% of max_usd is spent."),
    ]


def test_a_bound_is_said_to_be_over_once() -> None:
    notices, ended = Notices(), EndedEvent(kind="failed", step="S1", attempt=1, category="BUDGET")
    assert names(ended, notices) == ["step.failed", "budget.over"]
    assert names(ended, notices) == ["step.failed"]


def test_a_provider_is_told_of_again_after_ten_minutes() -> None:
    notices = Notices()
    waits = [WaitEvent(provider="openai", why="429", at=at) for at in (0.0, 60.0, 601.0)]
    assert [len(notices.of(each)) for each in waits] == [1, 0, 1]


def test_gates_and_providers_are_labels_that_automations_tell_apart() -> None:
    assert only(GateEvent(gate="lint", status="failed")).labels == {"swarm.gate": "lint"}
    assert only(WaitEvent(provider="openai", why="429")).labels == {"swarm.provider": "openai"}


def test_texts_are_short_and_without_secrets() -> None:
    said = "The key sk-proj-abcdefghijklmnopqrstuvwx is wrong, password=hunter2hunter2 " + "x" * 999
    problem = only(FinishedEvent(status="failed", problem=said), secrets=("hunter3hunter3",))
    text = problem.payload["problem"]
    assert len(text) <= 200
    assert "abcdefghijklmnop" not in text
    assert "hunter2" not in text
    title = only(AskedEvent(title="send hunter3hunter3"), secrets=("hunter3hunter3",))
    assert "hunter3" not in title.payload["title"]


@given(st.lists(run_events, max_size=5))
def test_what_is_told_of_any_event_is_small_and_json(events: list[RunEvent]) -> None:
    notices = Notices(max_tokens=1, max_usd=1.0)
    for event in events:
        for notice in notices.of(event):
            assert len(json.dumps(notice.payload)) < 4_000


def test_a_run_in_which_much_fails_sends_a_bounded_number_and_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent: list[str] = []

    def send(name: str, *_: object, **__: object) -> None:
        sent.append(name)

    monkeypatch.setattr(flow_run, "emit_event", send)
    events = PrefectEvents.of_run(str(uuid4()), None, None)
    for number in range(MOST_SENT + 7):
        events.handle(EndedEvent(kind="retrying", step=f"S{number}", attempt=1))
    events.handle(FinishedEvent(status="partial"))
    assert sent.count("swarm.step.retried") == MOST_SENT
    assert sent[-1] == "swarm.run.partial"


def test_a_server_that_takes_no_event_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError("no server")

    monkeypatch.setattr(flow_run, "emit_event", refuse)
    PrefectEvents.of_run(str(uuid4()), None, None).handle(FinishedEvent(status="partial"))


def kinds() -> list[EndKind]:
    return ["retrying", "failed", "skipped", "succeeded", "cancelled"]


@pytest.mark.parametrize("kind", kinds())
def test_an_end_is_told_of_at_most_once(kind: EndKind) -> None:
    assert len(names(EndedEvent(kind=kind, step="S1", attempt=1))) <= 1
