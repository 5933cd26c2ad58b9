"""Waits of an attempt are taken from its conversation and from its provider's limiter."""

from __future__ import annotations

from typing import Any

from prefect_swarm.tasks.subagent.asking import queue_s_of, waits_of
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart


def answered(**details: Any) -> ModelResponse:
    return ModelResponse(parts=[TextPart("It is deep.")], provider_details=details or None)


CONVERSATION = [
    ModelRequest.user_text_prompt("How deep?"),
    answered(asked_at=10.0, queue_s=2.0),
    answered(asked_at=20.0, queue_s=1.0),
]


def test_each_request_of_an_attempt_may_have_waited_for_a_slot() -> None:
    waits = waits_of(CONVERSATION, [], since=9.0)
    found = [(wait.kind, wait.started_at, wait.ended_at) for wait in waits]
    assert found == [("slot", 10, 12), ("slot", 20, 21)]
    assert queue_s_of(CONVERSATION, since=9.0) == 3


def test_what_an_earlier_process_was_answered_does_not_count() -> None:
    assert queue_s_of(CONVERSATION, since=15.0) == 1


def test_a_provider_that_says_nothing_of_a_queue_has_none() -> None:
    assert waits_of([answered()], [], since=0) == ()


def test_waits_for_providers_are_kept_unless_they_are_too_short_to_matter() -> None:
    (wait,) = waits_of([], [(1.0, 3.5), (4.0, 4.0001)], since=0)
    assert (wait.kind, wait.seconds) == ("provider", 2.5)
