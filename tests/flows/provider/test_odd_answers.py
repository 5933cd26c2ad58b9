"""Answers, errors and counts in unusual forms: what a run makes of them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from flow_runs import plan_of, run, steps_of
from prefect_swarm import override_models
from prefect_swarm.errors import Category, ContextTooSmallError, ModelError, NoPlanError
from prefect_swarm.models.remote import remote_model
from provider_runs import ONCE, end_at, hurried, planned, run_at, serving, works
from provider_server import Asked, Reply, provider_server
from pydantic_ai.models.fallback import FallbackModel

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

_ONE = plan_of({"id": "S1"})
_TWO = plan_of({"id": "S1"}, {"id": "S2"}, final_step="S2")
_WRITTEN = {
    "create_subagent": [{"name": "Reader", "system_prompt": "You read closely."}],
    "assign_task": [{"agent": "Reader", "prompt": "Measure the harbour."}],
}
_OVERFLOWS = [
    "This model's maximum context length is 8192 tokens, however you requested 9000 tokens.",
    *(
        pytest.param(words, marks=pytest.mark.exhaustive)
        for words in (
            "the request exceeds the available context size, try increasing it",
            "输入内容过长，超过模型的最大上下文长度",
        )
    ),
]
"""`tests/models/answers/test_wordings.py` reads many more."""
_TOO_LARGE = Reply(
    status=429,
    error={
        "message": "Request too large for model `m` on tokens per minute (TPM): Limit 6000, "
        "Requested 12328, please reduce your message size and try again.",
        "code": "rate_limit_exceeded",
    },
)


def rejected(words: str, status: int = 400) -> Reply:
    return Reply(status=status, error={"message": words, "type": "invalid_request_error"})


def in_200(**error: Any) -> Reply:
    return Reply(raw=json.dumps({"error": error, "choices": None}).encode())


def plans(asked: Asked) -> Reply:
    return Reply(tool_args=_WRITTEN) if _is_plan(asked) else works(asked)


def _is_plan(asked: Asked) -> bool:
    return asked.is_plan or any("create_subagent" in text for text in asked.texts)


@pytest.mark.parametrize("words", _OVERFLOWS)
def test_a_prompt_that_does_not_fit_is_a_bound_with_what_to_do(words: str) -> None:
    with serving(lambda _: rejected(words)) as server:
        result = end_at(server, _ONE)
    (step,) = result.steps
    assert step.category is Category.BUDGET
    assert words[:40] in step.reason
    assert "max_input_tokens" in step.reason
    assert len(server.asked) == 1


@pytest.mark.parametrize("words", _OVERFLOWS)
def test_an_objective_that_does_not_fit_is_said_with_what_to_do(words: str) -> None:
    with (
        serving(lambda _: rejected(words)) as server,
        pytest.raises(ContextTooSmallError) as caught,
    ):
        planned(server, "Find out")
    assert words[:40] in str(caught.value)
    assert "Check the model's name" not in str(caught.value)
    assert "larger context" in str(caught.value)
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("words", "fits"),
    [
        ("Error rendering prompt with jinja template: System role not supported", "system"),
        ("strong-model does not support tools", "tools"),
    ],
)
def test_a_form_that_is_refused_within_a_stream_costs_one_more_request(
    words: str, fits: str
) -> None:
    def reply(asked: Asked) -> Reply:
        roles = [message["role"] for message in asked.body["messages"]]
        if not _is_plan(asked) or fits not in (*roles, *asked.body):
            return works(asked) if not _is_plan(asked) else Reply(tool_args=_WRITTEN)
        refused = json.dumps({"error": {"message": words}})
        return Reply(raw=f"event: error\ndata: {refused}\n\n".encode(), kind="text/event-stream")

    with serving(reply) as server:
        assert planned(server, "Find out").status == "completed"
    assert [_is_plan(asked) for asked in server.asked] == [True, True, False]


def test_a_filter_s_words_end_before_what_to_do() -> None:
    with serving(lambda _: Reply("x", finish_reason="contentFiltered")) as server:
        result = end_at(server, _ONE, policy=ONCE)
    assert "filtered (contentFiltered). Ask" in result.steps[0].reason


@pytest.mark.parametrize("stream_text", [False, True])
def test_an_error_without_a_field_of_its_own_leads_to_the_next_model(*, stream_text: bool) -> None:
    broken = json.dumps({"object": "error", "message": "It died.", "code": 500})

    def reply(asked: Asked) -> Reply:
        if asked.body["model"] == "other-model":
            return works(asked)
        if not asked.body.get("stream"):
            return Reply(raw=broken.encode())
        return Reply(raw=f"data: {broken}\n\n".encode(), kind="text/event-stream")

    with serving(reply) as server, hurried(server):
        names = f"{server.name()},{server.name('other-model')}"
        result = run_at(server, _ONE, model=names, stream_text=stream_text)
    (attempt,) = result.steps[0].attempts
    assert (attempt.category, attempt.model) == (None, "other-model")


def test_a_request_that_never_fits_its_rate_limit_holds_nobody_up() -> None:
    def reply(asked: Asked) -> Reply:
        return _TOO_LARGE if "do S1" in asked.prompt else works(asked)

    with serving(reply) as server, hurried(server) as slept:
        result = end_at(server, _TWO)
    steps = steps_of(result)
    assert (steps["S1"].category, steps["S2"].status) == (Category.BUDGET, "succeeded")
    assert slept == []


def test_a_filter_that_answers_400_is_a_refusal() -> None:
    filtered = Reply(status=400, error={"code": "content_filter", "message": "It was filtered."})
    with serving(lambda _: filtered) as server:
        result = end_at(server, _ONE, policy=ONCE)
    assert result.steps[0].category is Category.REFUSED
    assert "It was filtered." in result.steps[0].reason
    with serving(lambda _: filtered) as server, pytest.raises(NoPlanError, match="was filtered"):
        planned(server, "Find out")


@pytest.mark.parametrize(
    "broken",
    [
        Reply("Half of", finish_reason="error"),
        Reply("Half of", finish_reason="network_error"),
        in_200(code=503, message="Busy."),
        Reply(raw=b'{"choices": null}'),
        Reply(raw=b"<html>Login</html>"),
    ],
)
def test_the_next_model_is_asked_where_the_first_ones_answer_is_none(broken: Reply) -> None:
    def reply(asked: Asked) -> Reply:
        return works(asked) if asked.body["model"] == "other-model" else broken

    with serving(reply) as server, hurried(server):
        names = f"{server.name()},{server.name('other-model')}"
        result = run_at(server, _ONE, model=names)
    (attempt,) = result.steps[0].attempts
    assert (attempt.category, attempt.model) == (None, "other-model")


def test_models_that_python_chains_are_read_as_well() -> None:
    def reply(asked: Asked) -> Reply:
        is_other = asked.body["model"] == "other-model"
        return works(asked) if is_other else in_200(code=503, message="Busy.")

    with serving(reply) as server, hurried(server):
        first, second = (
            remote_model(f"openai:{name}", base_url=server.url)
            for name in ("strong-model", "other-model")
        )
        with override_models(worker=FallbackModel(first, second)):
            result = run(_ONE, memory=False, model="test")
    assert result.steps[0].attempts[0].model == "other-model"


@pytest.mark.parametrize("usage", [None, {"prompt_tokens": 0, "completion_tokens": 0}])
def test_a_bound_holds_where_tokens_are_not_said(usage: Any) -> None:
    message = {"role": "assistant", "content": "It is deep. " * 1500}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    raw = json.dumps({"id": "1", "choices": [choice], "usage": usage}).encode()
    plan = plan_of(*({"id": f"S{number}"} for number in range(1, 9)), final_step="S8")
    with serving(lambda _: Reply(raw=raw)) as server:
        result = end_at(server, plan, max_tokens=20_000, max_concurrency=1, policy=ONCE)
    refused = [step for step in result.steps if step.category is Category.BUDGET]
    assert 1 <= len(server.asked) <= 4
    assert len(refused) >= 4
    assert result.cost.estimated_calls == result.cost.calls
    assert result.cost.tokens > 6000 * len(server.asked)


def test_a_refusal_to_plan_that_says_nothing_known_costs_two_requests() -> None:
    with serving(lambda _: rejected("Bad request.")) as server, pytest.raises(ModelError):
        planned(server, "Find out", worker="test", coder="test", architect="test")
    assert len(server.asked) == 2


def test_a_server_without_tools_is_offered_them_once() -> None:
    def reply(asked: Asked) -> Reply:
        if asked.body.get("tools"):
            return rejected("strong-model does not support tools")
        return Reply(json.dumps(_WRITTEN)) if _is_plan(asked) else works(asked)

    with serving(reply) as server:
        for _ in range(2):
            assert planned(server, "Find out").status == "completed"
    assert sum(bool(asked.body.get("tools")) for asked in server.asked) == 1


def test_a_server_without_a_system_role_plans_after_one_more_request() -> None:
    def reply(asked: Asked) -> Reply:
        roles = {message["role"] for message in asked.body["messages"]}
        return rejected("System role not supported") if "system" in roles else plans(asked)

    with serving(reply) as server:
        assert planned(server, "Find out").status == "completed"
    assert len(server.asked) == 3


def test_the_words_of_a_nested_error_reach_the_user() -> None:
    detail = [{"type": "missing", "loc": ["body", "mood"], "msg": "Field required"}]
    body = json.dumps({"object": "error", "message": {"detail": detail}}).encode()
    with provider_server(lambda _: Reply(status=422, raw=body), models=("strong-model",)) as server:
        result = end_at(server, _ONE, policy=ONCE)
    assert "422: body.mood: Field required" in result.steps[0].reason
