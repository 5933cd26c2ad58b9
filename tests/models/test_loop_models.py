"""Each event loop has models of its own, whose clients close with the last run of the loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from prefect_swarm.blocks import override_models, resolve_model
from prefect_swarm.errors import ModelError
from prefect_swarm.models.limited_model import LimitedModel
from prefect_swarm.models.names import register_model
from prefect_swarm.models.remote import open_models
from pydantic_ai import Agent
from pydantic_ai.models import Model
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.providers.openai import OpenAIProvider
from typing_extensions import override

REMOTE = "openai:strong-model@http://127.0.0.1:9/v1"


class Counting(TestModel):
    """Counts how often its client is opened and closed."""

    opened = 0
    closed = 0

    @override
    async def __aenter__(self) -> Counting:
        self.opened += 1
        return self

    @override
    async def __aexit__(self, *error: object) -> None:
        self.closed += 1


def made_by_hand() -> OpenAIChatModel:
    provider = OpenAIProvider(base_url="http://127.0.0.1:9/v1", api_key="sk-test")
    return OpenAIChatModel("strong-model", provider=provider)


def is_closed(model: Model) -> bool:
    assert isinstance(model, LimitedModel)
    assert isinstance(model.wrapped, OpenAIChatModel)
    return model.wrapped.client.is_closed()


def test_a_client_is_open_until_the_run_is_over() -> None:
    async def look() -> tuple[bool, bool]:
        async with open_models():
            model = await resolve_model(REMOTE, "worker")
            within = is_closed(model)
        return within, is_closed(model)

    assert asyncio.run(look()) == (False, True)


def test_the_last_of_several_runs_closes_it() -> None:
    async def look() -> list[bool]:
        seen: list[bool] = []
        async with open_models():
            async with open_models():
                model = await resolve_model(REMOTE, "worker")
            seen.append(is_closed(model))
            assert await resolve_model(REMOTE, "coder") is model
        return [*seen, is_closed(model)]

    assert asyncio.run(look()) == [False, True]


def test_a_run_that_breaks_closes_it_too() -> None:
    mine = Counting()

    async def fail() -> None:
        async with open_models():
            await resolve_model(register_model(mine), "worker")
            raise LookupError

    with pytest.raises(LookupError):
        asyncio.run(fail())
    assert (mine.opened, mine.closed) == (1, 1)


def test_the_next_run_of_the_loop_has_another_client() -> None:
    async def look() -> list[bool]:
        models: list[Model] = []
        for _ in range(2):
            async with open_models():
                models.append(await resolve_model(REMOTE, "worker"))
                assert not is_closed(models[-1])
        return [models[0] is models[1], *map(is_closed, models)]

    assert asyncio.run(look()) == [False, True, True]


@pytest.mark.parametrize("as_agent", [False, True], ids=["model", "agent"])
def test_an_override_is_opened_once_however_often_it_is_asked_for(as_agent: bool) -> None:
    mine = Counting()

    async def ask() -> None:
        async with open_models():
            found = [await resolve_model("demo", "worker") for _ in range(3)]
            assert found[0] is found[1] is found[2]

    with override_models(worker=Agent(mine) if as_agent else mine):
        asyncio.run(ask())
    assert (mine.opened, mine.closed) == (1, 1)


@contextmanager
def used_in_another_loop(model: Model) -> Generator[None]:
    """Have a run of another thread keep a model open inside."""
    opened, release = threading.Event(), threading.Event()

    async def hold() -> None:
        async with open_models():
            await resolve_model(register_model(model), "worker")
            opened.set()
            await asyncio.to_thread(release.wait, 60)

    with ThreadPoolExecutor(1) as threads:
        holding = threads.submit(asyncio.run, hold())
        try:
            assert opened.wait(60)
            yield
        finally:
            release.set()
            holding.result()


async def use(model: Model) -> None:
    async with open_models():
        await resolve_model(register_model(model), "worker")


def test_a_client_serves_loops_one_after_the_other() -> None:
    model = made_by_hand()
    with used_in_another_loop(model), pytest.raises(ModelError, match="another event loop"):
        asyncio.run(use(model))
    asyncio.run(use(model))


def test_several_models_of_one_client_count_as_one() -> None:
    provider = OpenAIProvider(base_url="http://127.0.0.1:9/v1", api_key="sk-test")
    large, small = (OpenAIChatModel(name, provider=provider) for name in ("large", "small"))
    with (
        used_in_another_loop(large),
        pytest.raises(ModelError, match="The model fallback:test,small is in use"),
    ):
        asyncio.run(use(FallbackModel(TestModel(), small)))


def test_what_has_no_client_serves_loops_at_once() -> None:
    model = TestModel()
    with used_in_another_loop(model):
        asyncio.run(use(model))


def test_a_name_is_made_into_a_model_for_each_loop() -> None:
    async def look() -> Model:
        async with open_models():
            return await resolve_model(REMOTE, "worker")

    with ThreadPoolExecutor(1) as threads:
        assert asyncio.run(look()) is not threads.submit(asyncio.run, look()).result()
