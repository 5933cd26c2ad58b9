"""A run from Python as an async iterator of its events, with the text of its steps."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from flow_runs import UNEVEN, plan_of
from prefect_swarm.errors import InputError
from prefect_swarm.flows.control import RunControl, controlled
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.python import stream, swarm
from prefect_swarm.store.events import FinishedEvent, RunEvent, TextEvent
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.result import RunFailedError, SwarmResult
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel
from run_events import kept_events
from scripted import Script

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

STREAMED = SwarmOptions(stream_text=True)


async def pieces(_: list[ModelMessage], __: AgentInfo) -> AsyncIterator[str]:
    for piece in ("Tea ", "is ", "hot."):
        yield piece


async def collected(plan_steps: int, model: FunctionModel, options: SwarmOptions) -> list[RunEvent]:
    plan = plan_of(*UNEVEN[:plan_steps])
    return [
        event async for event in stream(plan.objective, plan=plan, options=options, model=model)
    ]


def test_it_yields_what_the_folder_keeps_with_the_text_of_each_step() -> None:
    events = asyncio.run(collected(4, FunctionModel(stream_function=pieces), STREAMED))
    last = events[-1]
    assert isinstance(last, FinishedEvent)
    assert (last.status, last.answer) == ("completed", "Tea is hot.")
    assert events == kept_events(last.run)
    texts = {
        step["id"]: "".join(
            event.text
            for event in events
            if isinstance(event, TextEvent) and event.step == step["id"]
        )
        for step in UNEVEN
    }
    assert set(texts.values()) == {"Tea is hot."}


@pytest.mark.parametrize("options", [STREAMED, SwarmOptions()], ids=["asked", "not asked"])
def test_a_model_that_cannot_stream_or_is_not_asked_to_has_no_texts(options: SwarmOptions) -> None:
    events = asyncio.run(collected(1, Script(lambda _: "Tea is hot.").model(), options))
    assert not any(isinstance(event, TextEvent) for event in events)
    assert isinstance(events[-1], FinishedEvent)
    assert events[-1].answer == "Tea is hot."


def test_the_same_is_counted_with_texts_and_without() -> None:
    async def run_with(options: SwarmOptions) -> SwarmResult:
        model = TestModel(custom_output_text="Tea is hot.")
        plan = plan_of(*UNEVEN)
        return await swarm(plan.objective, plan=plan, options=options, model=model)

    with_texts, without = (asyncio.run(run_with(o)) for o in (STREAMED, SwarmOptions()))
    assert any(isinstance(event, TextEvent) for event in kept_events(with_texts.run_id))
    assert with_texts.answer == without.answer == "Tea is hot."
    assert with_texts.cost == without.cost
    assert [len(step.attempts) for step in with_texts.steps] == [1, 1, 1, 1]


def test_an_error_before_the_run_is_raised() -> None:
    async def read() -> None:
        async for _ in stream("  "):
            pass

    with pytest.raises(InputError, match="empty"):
        asyncio.run(read())


def test_a_failed_run_tells_its_end_and_then_raises() -> None:
    events: list[RunEvent] = []

    async def read() -> None:
        plan = plan_of({"id": "S1"})
        model = Script(lambda _: "").model()
        with controlled(RunControl(listener=events.append)):
            async for _ in stream(plan.objective, plan=plan, model=model):
                pass

    with pytest.raises(RunFailedError):
        asyncio.run(read())
    assert isinstance(events[-1], FinishedEvent)
    assert events[-1].status == "failed"


def test_closing_the_stream_cancels_the_run() -> None:
    script = Script(together=9)  # No request is ever answered.

    async def leave() -> str:
        plan = plan_of({"id": "S1"})
        events = stream(plan.objective, plan=plan, model=script.model())
        async for event in events:
            if event.kind == "started":
                await events.aclose()
                return event.run
        raise AssertionError("it never started")

    name = asyncio.run(leave())
    assert RunFolder.find(name).result() is None
    last = kept_events(name)[-1]
    assert isinstance(last, FinishedEvent)
    assert last.status == "cancelled"


def test_a_reader_that_takes_nothing_before_the_run_is_over_does_not_hold_it_up() -> None:
    script = Script()

    async def read() -> str:
        plan = plan_of(*UNEVEN)
        events = stream(plan.objective, plan=plan, model=script.model())
        over = asyncio.Event()
        control = RunControl(lambda event: over.set() if event.kind == "finished" else None)
        with controlled(control):
            await anext(events)
        await over.wait()
        return [event async for event in events][-1].kind

    assert asyncio.run(asyncio.wait_for(read(), 120)) == "finished"
