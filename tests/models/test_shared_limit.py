"""Requests to a provider take slots of a limit that other processes share, on a real server."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import httpx
import pytest
from flow_runs import plan_of
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import (
    GlobalConcurrencyLimitCreate,
    GlobalConcurrencyLimitUpdate,
)
from prefect.settings import PREFECT_API_URL, PREFECT_CLIENT_MAX_RETRIES, temporary_settings
from prefect_swarm.errors import InputError, ServerError
from prefect_swarm.models.limited_model import LimitedModel, providers_of
from prefect_swarm.models.remote import remote_model
from prefect_swarm.models.request_context import SharedLimit, Waiting, request_context
from prefect_swarm.models.shared_limit import find_limits
from provider_runs import closed_port, run_at, serving, works
from provider_server import Asked, ProviderServer, Reply
from pydantic_ai.messages import ModelRequest, ModelResponse, UserPromptPart
from pydantic_ai.models import ModelRequestParameters

pytestmark = pytest.mark.usefixtures("prefect_server")


def limit_of(slots: int, **fields: Any) -> str:
    """Make a limit, and return its name."""
    name = f"limit-{uuid4().hex[:8]}"
    with get_client(sync_client=True) as client:
        client.create_global_concurrency_limit(
            GlobalConcurrencyLimitCreate(name=name, limit=slots, **fields)
        )
    return name


def taken(name: str) -> int:
    """Return how many slots of a limit are taken."""
    with get_client(sync_client=True) as client:
        return client.read_global_concurrency_limit_by_name(name).active_slots


def model_at(server: ProviderServer) -> LimitedModel:
    """Return a model of the server, that takes all requests at once for its own part."""
    model = LimitedModel(remote_model("openai:strong-model", base_url=server.url))
    model.limiter.open_to(20)
    return model


@asynccontextmanager
async def away() -> AsyncGenerator[None]:
    """A client of a server that can't be reached."""
    raise httpx.ConnectError("All connection attempts failed")
    yield


@asynccontextmanager
async def unconnected() -> AsyncGenerator[None]:
    """A client that can't connect at its beginning."""
    raise RuntimeError("Failed to reach API")
    yield


async def ask(model: LimitedModel, text: str) -> ModelResponse:
    request = ModelRequest([UserPromptPart(text)])
    return await model.request([request], None, ModelRequestParameters())


async def ask_all(
    model: LimitedModel, count: int, limits: dict[str, str], on_wait: Callable[[Any], None]
) -> list[ModelResponse]:
    with request_context(limits=await find_limits(limits), on_wait=on_wait):
        return await asyncio.gather(*(ask(model, f"do {number}") for number in range(count)))


def test_no_more_requests_are_under_way_than_the_limit_has_slots() -> None:
    name, hold, waits = limit_of(2), threading.Event(), list[Waiting]()

    def on_wait(wait: Waiting | None) -> None:
        if wait is not None:
            waits.append(wait)
        if len(waits) == 3:
            hold.set()

    with serving(lambda asked: Reply(works(asked).text, hold=hold)) as server:
        model = model_at(server)
        (provider,) = providers_of(model)
        asyncio.run(ask_all(model, 5, {provider: name}, on_wait))
    assert server.most_at_once == 2
    assert len(server.asked) == 5
    assert {(wait.provider, wait.why) for wait in waits} == {(provider, "its turn")}
    assert taken(name) == 0


def test_each_request_takes_a_slot_of_a_rate_that_comes_back_with_time() -> None:
    # None comes back while the test goes on.
    name = limit_of(9, slot_decay_per_second=1e-4)
    with serving(works) as server:
        model = model_at(server)
        (provider,) = providers_of(model)
        asyncio.run(ask_all(model, 3, {provider: name}, lambda _: None))
    assert taken(name) == 3


def test_a_request_that_is_cancelled_gives_its_slot_back() -> None:
    name, asked_for, hold = limit_of(1), threading.Event(), threading.Event()

    def reply(asked: Asked) -> Reply:
        asked_for.set()
        return Reply(works(asked).text, hold=hold)

    async def work(model: LimitedModel, provider: str) -> None:
        with request_context(limits=await find_limits({provider: name})):
            going = asyncio.create_task(ask(model, "do it"))
            await asyncio.to_thread(asked_for.wait)
            assert await asyncio.to_thread(taken, name) == 1
            going.cancel()
            with pytest.raises(asyncio.CancelledError):
                await going

    with serving(reply) as server:
        model = model_at(server)
        (provider,) = providers_of(model)
        asyncio.run(work(model, provider))
        hold.set()
    assert taken(name) == 0


def test_no_slot_is_held_while_a_refused_request_waits_to_be_sent_again() -> None:
    name, held = limit_of(1), list[int]()
    replies = iter([Reply(status=429, error={"message": "slow down"}), Reply("done")])
    with serving(lambda _: next(replies)) as server:
        model = model_at(server)
        (provider,) = providers_of(model)

        async def sleep(_: float) -> None:
            held.append(await asyncio.to_thread(taken, name))

        model.limiter._sleep = sleep
        model.limiter._clock = iter(range(0, 10_000, 100)).__next__
        asyncio.run(ask_all(model, 1, {provider: name}, lambda _: None))
    assert set(held) == {0}
    assert len(server.asked) == 2


@pytest.mark.parametrize("gone", ["limit", "server", "connection"])
def test_an_answer_is_not_lost_where_the_limit_or_its_server_goes_away(
    gone: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    name = limit_of(1)

    def lose() -> None:
        if gone == "limit":
            with get_client(sync_client=True) as client:
                client.delete_global_concurrency_limit_by_name(name)
        else:
            client_of = away if gone == "server" else unconnected
            monkeypatch.setattr("prefect.client.orchestration.get_client", client_of)

    def reply(asked: Asked) -> Reply:
        if len(server.asked) == 1:
            lose()
        return works(asked)

    async def work(model: LimitedModel, provider: str) -> list[ModelResponse]:
        with request_context(limits=await find_limits({provider: name})):
            return [await ask(model, "do 1"), await ask(model, "do 2")]

    with serving(reply) as server, caplog.at_level(logging.WARNING, "prefect_swarm.models"):
        model = model_at(server)
        (provider,) = providers_of(model)
        answers = asyncio.run(work(model, provider))
    assert len(answers) == 2
    assert f"without the concurrency limit {name}" in caplog.text


def test_a_run_takes_slots_by_its_option(swarm_home: object) -> None:
    name = limit_of(9, slot_decay_per_second=1e-4)
    with serving(works) as server:
        (provider,) = providers_of(model_at(server))
        plan = plan_of({"id": "S1"}, {"id": "S2"})
        result = run_at(server, plan, provider_limits={provider: name})
    assert result.status == "completed"
    assert taken(name) == len(server.asked) >= 2


def test_a_provider_that_no_model_asks_is_said(
    swarm_home: object, caplog: pytest.LogCaptureFixture
) -> None:
    with serving(works) as server:
        plan = plan_of({"id": "S1"})
        run_at(server, plan, provider_limits={"opnai": limit_of(1)})
    assert "No model of the run asks opnai" in caplog.text


def test_a_limit_has_to_be_there_switched_on_and_have_slots() -> None:
    off, empty = limit_of(1, active=False), limit_of(1)
    with get_client(sync_client=True) as client:
        client.update_global_concurrency_limit(empty, GlobalConcurrencyLimitUpdate(limit=0))
    for name, problem in (
        ("nowhere", "has no concurrency limit 'nowhere' for openai"),
        (off, "is switched off"),
        (empty, "has no slot"),
    ):
        with pytest.raises(InputError, match=problem):
            asyncio.run(find_limits({"openai": name}))


def test_a_server_that_is_away_is_an_error_before_anything_is_asked() -> None:
    api = f"http://127.0.0.1:{closed_port()}/api"
    with (
        temporary_settings({PREFECT_API_URL: api, PREFECT_CLIENT_MAX_RETRIES: 0}),
        pytest.raises(ServerError, match="can't be looked up"),
    ):
        asyncio.run(find_limits({"openai": "shared"}))


def test_limits_are_told_apart_by_whether_their_slots_come_back_with_time() -> None:
    at_once, rate = limit_of(3), limit_of(3, slot_decay_per_second=2.0)
    found = asyncio.run(find_limits({"a": at_once, "b": rate}))
    assert found == {"a": SharedLimit(at_once, is_rate=False), "b": SharedLimit(rate, is_rate=True)}
