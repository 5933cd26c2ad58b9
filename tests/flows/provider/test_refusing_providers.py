"""A permanent refusal of a provider is found early, reported in its words, and not repeated."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from flow_runs import plan_of, steps_of
from prefect_swarm.errors import ModelError
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.resume import resume
from prefect_swarm.flows.swarm import swarm
from prefect_swarm.plan.task_ir import TaskIR
from provider_runs import closed_port, end_at, hurried, model_at, planned, run_at, serving, works
from provider_server import Asked, Reply, provider_server

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

_WRONG_KEY = Reply(status=401, error={"message": "Incorrect API key: sk-…x.", "type": "auth"})
_NO_QUOTA = Reply(
    status=429,
    error={"message": "You exceeded your current quota.", "code": "insufficient_quota"},
)
_NO_MODEL = Reply(
    status=404,
    error={"message": "The model strong-model does not exist.", "code": "model_not_found"},
)
_REFUSALS = [
    pytest.param(_WRONG_KEY, "401: Incorrect API key: sk-…x. Check", id="key"),
    pytest.param(_NO_QUOTA, "429: You exceeded your current quota. Check", id="quota"),
    pytest.param(_NO_MODEL, "404: The model strong-model does not exist. Check", id="model"),
]
_ONE = plan_of({"id": "S1"})
_SIX = plan_of(*({"id": f"S{number}"} for number in range(1, 7)), final_step="S6")

each_refusal = pytest.mark.parametrize(("refusal", "words"), _REFUSALS)


def run_on(model: str, plan: TaskIR | None, **options: Any) -> None:
    given = SwarmOptions(model=model, memory=False, **options)
    asyncio.run(swarm(plan.objective if plan else "Find out", plan=plan, options=given))


@pytest.mark.parametrize("status", [401, 403, 500])
def test_a_key_that_is_refused_where_models_are_listed_alone_ends_no_run(status: int) -> None:
    with provider_server(works, models=("strong-model",), models_status=status) as server:
        assert run_at(server, _ONE).status == "completed"


@pytest.mark.parametrize("plan", [_SIX, None], ids=["plan", "objective"])
def test_a_key_that_is_refused_everywhere_costs_one_request(plan: TaskIR | None) -> None:
    with (
        provider_server(
            lambda _: _WRONG_KEY, models=("strong-model",), models_status=401
        ) as server,
        pytest.raises(ModelError, match=r"refuses strong-model: 401: Incorrect API key.* Check"),
    ):
        run_on(server.name(), plan)
    assert len(server.asked) == 1


_PAGE = "<!DOCTYPE html><html><head><title>Sign in</title></head></html>"


def test_a_web_page_where_models_are_listed_ends_no_run() -> None:
    with serving(works) as server:
        server.models_page = _PAGE
        assert run_at(server, _ONE).status == "completed"


@pytest.mark.parametrize("plan", [_SIX, None], ids=["plan", "objective"])
def test_a_server_that_sends_web_pages_is_said_to_before_any_step(plan: TaskIR | None) -> None:
    page = Reply(raw=_PAGE.encode(), kind="text/html")
    with serving(lambda _: page) as server, hurried(server):
        server.models_page = _PAGE
        with pytest.raises(ModelError, match="a web page, 'Sign in'"):
            run_on(server.name(), plan)


@each_refusal
def test_a_refusal_is_met_before_any_step(refusal: Reply, words: str) -> None:
    with provider_server(lambda _: refusal) as server, pytest.raises(ModelError) as caught:
        run_at(server, _SIX)
    assert words in str(caught.value)
    assert len(server.asked) == 1


@each_refusal
def test_a_refusal_to_plan_is_said_in_the_providers_words(refusal: Reply, words: str) -> None:
    with provider_server(lambda _: refusal) as server, pytest.raises(ModelError) as caught:
        planned(server, "Find out")
    assert words in str(caught.value)
    assert len(server.asked) == 1


@pytest.mark.parametrize("plan", [_SIX, None], ids=["plan", "objective"])
def test_a_server_that_is_not_up_is_found_out_before_any_step(plan: TaskIR | None) -> None:
    port = closed_port()
    with pytest.raises(ModelError, match=f"127.0.0.1:{port}.* can't be reached for strong-model"):
        run_on(model_at(port), plan)


def refusing_after(answers: int, refusal: Reply) -> Callable[[Asked], Reply]:
    """Serve the first requests, and refuse all that come later."""
    left = threading.Semaphore(answers)
    return lambda asked: works(asked) if left.acquire(blocking=False) else refusal


@each_refusal
def test_what_is_refused_in_the_middle_is_not_asked_for_again(refusal: Reply, words: str) -> None:
    with serving(refusing_after(2, refusal)) as server:
        result = end_at(server, _SIX, max_concurrency=1)
    assert result.status == "partial"
    ends = [step.status for step in result.steps]
    assert ends == ["succeeded", "succeeded", "failed", "failed", "failed", "failed"]
    assert all(words in step.reason for step in result.steps[2:])
    assert {step.category for step in result.steps[2:]} == {"UNAVAILABLE"}
    assert len(server.asked) == 3


def test_a_resumed_run_asks_only_for_what_is_missing() -> None:
    accepts = [False]
    refusing = refusing_after(2, _WRONG_KEY)
    with serving(lambda asked: works(asked) if accepts[0] else refusing(asked)) as server:
        result = end_at(server, _SIX, max_concurrency=1)
        server.asked.clear()
        accepts[0] = True
        again = asyncio.run(resume(result.run_id, retry_failed=True))
    assert again.status == "completed"
    assert sorted(asked.prompt for asked in server.asked) == [f"do S{n}" for n in (3, 4, 5, 6)]


def test_a_model_that_a_step_names_is_looked_for_as_well() -> None:
    def reply(asked: Asked) -> Reply:
        return _NO_MODEL if asked.body["model"] == "gone" else works(asked)

    with serving(reply) as server, pytest.raises(ModelError, match="has no model 'gone'"):
        run_at(server, plan_of({"id": "S1"}, {"id": "S2", "model": server.name("gone")}))
    assert [asked.body["model"] for asked in server.asked] == ["gone"]


def test_a_model_that_goes_leaves_the_providers_others() -> None:
    def reply(asked: Asked) -> Reply:
        return _NO_MODEL if asked.body["model"] == "other-model" else works(asked)

    with serving(reply) as server:
        other = server.name("other-model")
        result = run_at(server, plan_of({"id": "S1"}, {"id": "S2", "model": other}))
    ends = {name: step.status for name, step in steps_of(result).items()}
    assert ends == {"S1": "succeeded", "S2": "failed"}
