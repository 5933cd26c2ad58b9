"""Answers that are none: empty, refused, unreadable, or too late."""

from __future__ import annotations

import threading

import pytest
from flow_runs import plan_of
from prefect_swarm.errors import Category
from provider_runs import ONCE, InTurn, end_at, run_at, serving, works
from provider_server import Asked, Reply

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

_ONE = plan_of({"id": "S1"})
_DECLINED = "I'm sorry, but I can't help with that."
_REFUSALS = [
    pytest.param(Reply(refusal="I can't help with that."), "I can't help with that.", id="field"),
    pytest.param(Reply(finish_reason="content_filter"), "filtered", id="filter"),
    pytest.param(Reply("Half of", finish_reason="content_filter"), "filtered", id="half"),
    pytest.param(Reply(_DECLINED), _DECLINED, id="words"),
]

each_refusal = pytest.mark.parametrize(("refusal", "words"), _REFUSALS)


def test_an_empty_answer_is_asked_for_again() -> None:
    with serving(InTurn([Reply(""), Reply("It is deep.")])) as server:
        result = run_at(server, _ONE)
    first, second = result.steps[0].attempts
    assert (first.category, second.category) == (Category.FORMAT, None)
    assert "The last answer was not accepted" in server.asked[1].prompt


def test_an_answer_that_stays_empty_fails() -> None:
    with serving(lambda _: Reply("")) as server:
        result = end_at(server, _ONE, policy=ONCE)
    assert (result.steps[0].status, result.steps[0].category) == ("failed", Category.FORMAT)
    assert len(server.asked) == 3


@each_refusal
def test_a_refusal_is_not_asked_for_again(refusal: Reply, words: str) -> None:
    with serving(lambda _: refusal) as server:
        result = end_at(server, _ONE, policy=ONCE)
    assert (result.steps[0].status, result.steps[0].category) == ("failed", Category.REFUSED)
    assert words in result.steps[0].reason
    assert len(server.asked) == 1


@each_refusal
def test_a_refusal_is_taken_to_the_next_tiers_model(refusal: Reply, words: str) -> None:
    def reply(asked: Asked) -> Reply:
        return refusal if asked.body["model"] == "strong-model" else Reply("It is deep.")

    with serving(reply) as server:
        result = run_at(server, _ONE, architect=server.name("other-model"))
    first, second = result.steps[0].attempts
    assert (first.category, second.category) == (Category.REFUSED, None)
    assert (first.model, second.model) == ("strong-model", "other-model")
    assert len(server.asked) == 2


def test_a_refused_step_may_be_replaced() -> None:
    def reply(asked: Asked) -> Reply:
        if "Write the line that replaces it." in asked.prompt:
            return Reply("Surveyor: measure the harbour")
        return Reply(_DECLINED) if asked.prompt == "do S1" else Reply("It is 9 m deep.")

    with serving(reply) as server:
        result = run_at(server, _ONE)
    assert (result.steps[0].change, result.answer) == ("replaced", "It is 9 m deep.")


def test_a_refusal_to_write_on_is_no_part_of_the_text() -> None:
    replies = InTurn([Reply("The harbour is ", finish_reason="length"), Reply(_DECLINED)])
    with serving(replies) as server:
        result = end_at(server, _ONE, policy=ONCE)
    assert result.steps[0].category is Category.REFUSED


_EXHAUSTIVE = [
    pytest.param(raw, marks=pytest.mark.exhaustive) for raw in (b'{"choices": [', b"{}", b"[]")
]
"""`tests/models/answers/test_compatible.py` reads these and more."""


@pytest.mark.parametrize("raw", [b"", b"<html>Bad gateway</html>", *_EXHAUSTIVE])
def test_a_body_without_an_answer_costs_no_attempt(raw: bytes) -> None:
    with serving(InTurn([Reply(raw=raw), Reply("It is deep.")])) as server:
        result = run_at(server, _ONE)
    assert len(result.steps[0].attempts) == 1
    assert (len(server.asked), result.answer) == (2, "It is deep.")


def test_a_connection_that_is_cut_costs_no_attempt() -> None:
    with serving(InTurn([Reply("It is deep. " * 50, cut=True), Reply("It is deep.")])) as server:
        result = run_at(server, _ONE)
    assert len(result.steps[0].attempts) == 1
    assert (len(server.asked), result.answer) == (2, "It is deep.")


def test_an_answer_that_takes_too_long_is_a_timeout() -> None:
    with serving(lambda _: Reply("Late.", hold=threading.Event())) as server:
        result = end_at(server, _ONE, step_timeout_s=0.3, policy=ONCE)
    assert (result.steps[0].status, result.steps[0].category) == ("failed", Category.TIMEOUT)
    assert "0.3 s" in result.steps[0].reason
    assert len(server.asked) == 1


def test_a_timeout_is_taken_to_the_next_tiers_model() -> None:
    def reply(asked: Asked) -> Reply:
        is_slow = asked.body["model"] == "strong-model"
        return Reply("Late.", hold=threading.Event()) if is_slow else works(asked)

    with serving(reply) as server:
        result = run_at(server, _ONE, step_timeout_s=0.3, architect=server.name("other-model"))
    assert [attempt.model for attempt in result.steps[0].attempts] == [
        "strong-model",
        "other-model",
    ]
