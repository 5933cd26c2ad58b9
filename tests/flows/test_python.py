"""A swarm from Python: in any event loop, with models as objects."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, assert_type
from uuid import UUID

import pytest
from flow_runs import plan_of
from prefect import flow
from prefect.client.orchestration import get_client
from prefect_swarm import (
    SwarmOptions,
    SwarmResult,
    override_models,
    resume,
    swarm,
    swarm_sync,
)
from prefect_swarm.errors import InputError, ModelError
from prefect_swarm.models import names
from prefect_swarm.models.names import RegisteredModel, register_model
from prefect_swarm.store.result import RunFailedError
from provider_server import Asked, ProviderServer, Reply, provider_server
from pydantic_ai import Agent
from pydantic_ai.models.fallback import FallbackModel
from python_models import connections_left, made_by_hand

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

PLAN = plan_of({"id": "S1"}, {"id": "S2", "depends_on": ["S1"]})
FORGETFUL = SwarmOptions(memory=False)
SERVED = ("strong-model", "small-model")


def works(asked: Asked) -> Reply:
    return Reply(f"A finding about {asked.prompt.splitlines()[-1]}.")


def by_name(server: ProviderServer) -> str:
    return server.name()


given_as = pytest.mark.parametrize("model_of", [by_name, made_by_hand])


async def run(
    model: RegisteredModel | str,
    *,
    worker: RegisteredModel | str | None = None,
    options: SwarmOptions = FORGETFUL,
) -> SwarmResult:
    return await swarm("Find out", plan=PLAN, options=options, model=model, worker=worker)


def two_at_once() -> Callable[[Asked], Reply]:
    """Answer the first step of two runs once both have asked."""
    both = threading.Barrier(2)

    def answer(asked: Asked) -> Reply:
        if asked.prompt == "do S1":
            both.wait(60)
        return works(asked)

    return answer


class TestEventLoops:
    @given_as
    def test_loop_after_loop_takes_the_same_model(
        self, model_of: Callable[[ProviderServer], RegisteredModel | str]
    ) -> None:
        with provider_server(works, models=SERVED) as server, connections_left(server) as left:
            model = model_of(server)
            results = [asyncio.run(run(model)) for _ in range(3)]
            assert [result.status for result in results] == ["completed"] * 3
            assert [asked.prompt.splitlines()[-1] for asked in server.asked] == [
                "do S1",
                "do S2",
            ] * 3
        assert left == []

    @given_as
    def test_a_loop_that_runs_already_takes_run_after_run(
        self, model_of: Callable[[ProviderServer], RegisteredModel | str]
    ) -> None:
        async def cells(model: RegisteredModel | str) -> list[SwarmResult]:
            return [await run(model), await run(model)]

        with provider_server(works, models=SERVED) as server, connections_left(server) as left:
            results = asyncio.run(cells(model_of(server)))
            assert [result.status for result in results] == ["completed"] * 2
            assert len(server.asked) == 4
        assert left == []

    @given_as
    def test_runs_of_a_loop_may_go_on_at_once(
        self, model_of: Callable[[ProviderServer], RegisteredModel | str]
    ) -> None:
        async def both(model: RegisteredModel | str) -> list[SwarmResult]:
            return [*await asyncio.gather(run(model), run(model))]

        with (
            provider_server(two_at_once(), models=SERVED) as server,
            connections_left(server) as left,
        ):
            results = asyncio.run(both(model_of(server)))
            assert [result.status for result in results] == ["completed"] * 2
            assert len(server.asked) == 4
        assert left == []

    def test_threads_have_loops_and_clients_of_their_own(self) -> None:
        with (
            provider_server(two_at_once(), models=SERVED) as server,
            connections_left(server) as left,
            ThreadPoolExecutor(2) as threads,
        ):
            running = [
                threads.submit(asyncio.run, run(model))
                for model in (server.name(), made_by_hand(server))
            ]
            results = [each.result() for each in running]
            assert [result.status for result in results] == ["completed"] * 2
            assert len(server.asked) == 4
        assert left == []

    def test_a_client_that_another_threads_run_uses_is_refused_at_once(self) -> None:
        begun, release = threading.Event(), threading.Event()

        def held(asked: Asked) -> Reply:
            begun.set()
            return Reply("found", hold=release)

        with provider_server(held, models=SERVED) as server, ThreadPoolExecutor(1) as threads:
            model = made_by_hand(server)
            first = threads.submit(asyncio.run, run(model))
            assert begun.wait(60)
            with pytest.raises(ModelError, match="another event loop"):
                asyncio.run(run(model))
            release.set()
            assert first.result().status == "completed"
            assert asyncio.run(run(model)).status == "completed"
            assert len(server.asked) == 4

    def test_a_swarm_may_be_a_subflow(self) -> None:
        @flow
        async def outer(model: str) -> str:
            return (await run(model)).flow_run_id

        with provider_server(works, models=SERVED) as server:
            flow_run_id = asyncio.run(outer(server.name()))
            assert len(server.asked) == 2

        async def parent() -> UUID | None:
            async with get_client() as client:
                return (await client.read_flow_run(UUID(flow_run_id))).parent_task_run_id

        assert asyncio.run(parent()) is not None


class Account:
    """Lets nothing be answered before it is topped up."""

    def __init__(self) -> None:
        self.is_full = False

    def __call__(self, asked: Asked) -> Reply:
        return works(asked) if self.is_full else Reply(status=401)


def failed_run(model: RegisteredModel | str, worker: RegisteredModel | None = None) -> str:
    """The name of a run that ends before anything is found, since its model is refused."""
    with pytest.raises(RunFailedError) as caught:
        asyncio.run(run(model, worker=worker))
    assert caught.value.result is not None
    return caught.value.result.run_id


class TestModelsAsObjects:
    def test_a_tiers_model_answers_the_steps_of_that_tier(self) -> None:
        with provider_server(works, models=SERVED) as server:
            worker = made_by_hand(server, "small-model")
            asyncio.run(run(server.name(), worker=worker))
            asyncio.run(run(server.name(), worker=server.name("small-model")))
            asyncio.run(run(server.name(), options=SwarmOptions(memory=False, worker=worker)))
            assert [asked.body["model"] for asked in server.asked] == ["small-model"] * 6

    def test_a_given_model_may_have_another_to_stand_in_for_it(self) -> None:
        def answer(asked: Asked) -> Reply:
            return Reply(status=401) if asked.body["model"] == "small-model" else works(asked)

        with provider_server(answer, models=SERVED) as server, connections_left(server) as left:
            models = [made_by_hand(server, name) for name in reversed(SERVED)]
            result = asyncio.run(run(FallbackModel(*models)))
            assert result.status == "completed"
        assert left == []

    def test_the_server_stores_the_name_that_stands_for_a_model(self) -> None:
        async def stored(flow_run_id: str) -> dict[str, Any]:
            async with get_client() as client:
                return (await client.read_flow_run(UUID(flow_run_id))).parameters

        with provider_server(works, models=SERVED) as server:
            model = made_by_hand(server)
            result = asyncio.run(run(model))
            options = asyncio.run(stored(result.flow_run_id))["options"]
        assert options["model"] == register_model(model)
        assert SwarmOptions.model_validate(options).model == options["model"]


class TestResuming:
    def test_a_run_goes_on_with_its_model_in_the_same_process(self) -> None:
        account = Account()
        with provider_server(account, models=SERVED) as server:
            name = failed_run(made_by_hand(server))
            account.is_full = True
            assert asyncio.run(resume(name)).status == "completed"

    def test_another_process_says_that_it_was_not_given_the_model(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with provider_server(Account(), models=SERVED) as server:
            name = failed_run(made_by_hand(server))
            monkeypatch.setattr(names, "_registered", {})
            with pytest.raises(ModelError, match="was given in Python, in another process"):
                asyncio.run(resume(name))

    @pytest.mark.parametrize("as_agent", [False, True], ids=["model", "agent"])
    def test_another_process_may_give_a_tier_its_model_again(
        self, monkeypatch: pytest.MonkeyPatch, as_agent: bool
    ) -> None:
        account = Account()
        with provider_server(account, models=SERVED) as server:
            name = failed_run(server.name(), worker=made_by_hand(server))
            monkeypatch.setattr(names, "_registered", {})
            account.is_full = True
            before = len(server.asked)
            again = made_by_hand(server, "small-model")
            with override_models(worker=Agent(again) if as_agent else again):
                result = asyncio.run(resume(name))
            assert result.status == "completed"
            models = [asked.body["model"] for asked in server.asked[before:]]
            assert models == ["small-model"] * 2


class TestTyping:
    def test_each_kind_of_argument_is_taken(self) -> None:
        async def call(server: ProviderServer) -> SwarmResult:
            return await swarm(
                PLAN.objective,
                plan=PLAN,
                options=FORGETFUL,
                model=server.name(),
                worker=made_by_hand(server),
                coder=Agent(made_by_hand(server)),
                architect=FallbackModel(made_by_hand(server), made_by_hand(server, "small-model")),
                orchestrator=Agent(made_by_hand(server), deps_type=int, output_type=list[int]),
                output_type=list[int],
            )

        with provider_server(lambda _: Reply("[1, 2]"), models=SERVED) as server:
            result = asyncio.run(call(server))
        assert_type(result, SwarmResult)
        assert result.output == [1, 2]


def test_code_that_is_not_async_runs_a_swarm_and_has_its_result() -> None:
    with provider_server(works, models=SERVED) as server:
        result = swarm_sync("Find out", plan=PLAN, options=FORGETFUL, model=by_name(server))
    assert_type(result, SwarmResult)
    assert result.status == "completed"
    assert result["S1"].output == "A finding about do S1."


def test_a_flow_that_is_not_async_runs_a_swarm_within_itself() -> None:
    @flow
    def outer(name: str) -> str:
        return swarm_sync("Find out", plan=PLAN, options=FORGETFUL, model=name).status

    with provider_server(works, models=SERVED) as server:
        assert outer(by_name(server)) == "completed"


def test_where_a_loop_runs_the_error_says_to_await() -> None:
    async def within() -> None:
        swarm_sync("Find out", plan=PLAN)

    with pytest.raises(InputError, match=r"event loop runs .* Write `await swarm\(…\)` there"):
        asyncio.run(within())
