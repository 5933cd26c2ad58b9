"""A provider that is asked to stream: the text is heard, and nothing else is another."""

from __future__ import annotations

from typing import Any

import pytest
from flow_runs import UNEVEN, plan_of
from prefect_swarm.store.events import TextEvent
from prefect_swarm.store.result import SwarmResult
from provider_runs import ONCE, InTurn, end_at, run_at, serving, works
from provider_server import Reply
from run_events import kept_events

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

STREAMED: dict[str, Any] = {"stream_text": True}
GOOD = Reply("A long enough finding about the thing that was asked for.")


def texts(result: SwarmResult, request: int) -> str:
    """What step S1 wrote in its first attempt's request of that number."""
    events = kept_events(result.run_id)
    return "".join(
        event.text
        for event in events
        if isinstance(event, TextEvent)
        and (event.step, event.attempt, event.request) == ("S1", 1, request)
    )


def test_answer_attempts_and_accounts_are_those_without_a_stream() -> None:
    with serving(works) as server:
        streamed = run_at(server, plan_of(*UNEVEN), **STREAMED)
        plain = run_at(server, plan_of(*UNEVEN))
    assert [asked.body.get("stream", False) for asked in server.asked] == [True] * 4 + [False] * 4
    assert streamed.answer == plain.answer
    assert streamed.cost == plain.cost
    assert texts(streamed, 1) == "A finding about do S1."
    assert texts(plain, 1) == ""


@pytest.mark.parametrize(
    "refusal",
    [Reply(status=429, headers={"retry-after": "0"}), Reply(status=503), Reply("Half", cut=True)],
    ids=["busy", "overloaded", "broken off"],
)
def test_a_request_that_fails_is_sent_again_as_without_a_stream(refusal: Reply) -> None:
    counts: list[tuple[int, int]] = []
    for options in (STREAMED, {}):
        with serving(InTurn([refusal, GOOD])) as server:
            result = run_at(server, plan_of({"id": "S1"}), **options)
        assert result.answer == GOOD.text
        counts.append((len(server.asked), len(result.steps[0].attempts)))
    assert counts == [(2, 1), (2, 1)]


@pytest.mark.parametrize(
    "reply",
    [Reply(""), Reply("Cut", finish_reason="length"), Reply(refusal="I won't."), Reply(status=400)],
    ids=["empty", "truncated", "refused", "rejected"],
)
def test_a_failure_has_the_same_category_as_without_a_stream(reply: Reply) -> None:
    categories: list[list[str]] = []
    for options in (STREAMED, {}):
        with serving(lambda _: reply) as server:
            result = end_at(server, plan_of({"id": "S1"}), policy=ONCE, max_attempts=2, **options)
        attempts = result.steps[0].attempts
        categories.append([str(attempt.category) for attempt in attempts])
    assert categories[0] == categories[1]
