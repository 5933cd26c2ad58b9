"""Requests ahead of a plan: how many at once, which first, and what becomes of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from prefect_swarm.flows import prestart as ahead_requests
from prefect_swarm.flows.bounds import Ledger
from prefect_swarm.flows.prestart import PrestartedRequests
from prefect_swarm.plan.schedule import ConcurrencyLimits
from prefect_swarm.store.accounts import Budget
from prefect_swarm.store.attempt import Usage
from prefect_swarm.store.events import RunEvent
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.tasks.subagent.request import SubagentRequest, SubagentResult


class Models:
    """Answers each request when it is let go, and knows what is asked at once."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.open: dict[str, asyncio.Event] = {}

    async def answer(self, request: SubagentRequest) -> SubagentResult:
        self.asked.append(request.step)
        self.open[request.step] = asyncio.Event()
        try:
            await self.open[request.step].wait()
        finally:
            del self.open[request.step]
        usage = Usage(requests=1, input_tokens=3, output_tokens=4)
        return SubagentResult(
            text=request.prompt, model="m", started_at=0.0, ended_at=1.0, usage=usage
        )


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> Models:
    models = Models()
    monkeypatch.setattr(ahead_requests, "answer", models.answer)
    return models


def request(step: str, priority: float = 1.0, prompt: str = "", key: str = "") -> SubagentRequest:
    return SubagentRequest(
        key=key,
        run="run",
        step=step,
        agent="Reader",
        attempt=1,
        tier="worker",
        model="m",
        instructions="",
        prompt=prompt or f"do {step}",
        priority=priority,
    )


@asynccontextmanager
async def opened(
    folder: Path, heard: list[RunEvent], at_once: int = 9
) -> AsyncGenerator[PrestartedRequests]:
    ahead = PrestartedRequests(
        RunFolder(folder), Ledger(Budget(), 0.0), ConcurrencyLimits(at_once), heard.append
    )
    try:
        yield ahead
    finally:
        await ahead.aclose()


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def test_no_more_are_asked_at_once_than_attempts_may_run_longest_path_first(
    models: Models, tmp_path: Path
) -> None:
    async def scene() -> None:
        async with opened(tmp_path, [], at_once=2) as ahead:
            first = [request("S1"), request("S2"), request("S3"), request("S4")]
            ahead.offer(first[:3])
            await settle()
            assert [*models.open] == ["S1", "S2"]
            # As more of the plan arrives, S4 turns out to begin the longest path.
            ahead.offer([*first[:3], request("S4", priority=3)])
            models.open["S1"].set()
            await settle()
            assert [*models.open] == ["S2", "S4"]

    asyncio.run(scene())


def test_a_step_that_is_written_otherwise_is_withdrawn_and_its_reservation_is_settled(
    models: Models, tmp_path: Path
) -> None:
    heard: list[RunEvent] = []

    async def scene() -> None:
        async with opened(tmp_path, heard) as ahead:
            ahead.offer([request("S1")])
            await settle()
            ahead.offer([request("S1", prompt="another")])
            await settle()
            assert len(ahead.ledger.accounts.settled) == 1
            assert request("S1").content_hash() not in ahead.answers

    asyncio.run(scene())
    assert models.asked == ["S1", "S1"]
    kinds = [event.kind for event in heard]
    assert kinds == ["ready", "started", "cancelled", "ready", "started"]


def test_an_answer_of_a_process_that_is_gone_is_taken_and_costs_nothing_more(
    models: Models, tmp_path: Path
) -> None:
    async def killed() -> None:
        async with opened(tmp_path, []) as ahead:
            ahead.offer([request("S1")])
            await settle()
            models.open["S1"].set()
            await settle()

    async def resumed() -> None:
        async with opened(tmp_path, []) as ahead:
            ahead.offer([request("S1")])
            planned = request("S1", key="run.plan.S1.1")
            assert ahead.take(planned)
            result = await ahead.answers[planned.content_hash()]
            ahead.ledger.settle(planned.key, result.usage)
            assert result.text == "do S1"
            assert ahead.ledger.accounts.usage == Usage()

    asyncio.run(killed())
    asyncio.run(resumed())
    assert models.asked == ["S1"]


def test_what_the_plan_does_not_need_ends_before_its_steps_start(
    models: Models, tmp_path: Path
) -> None:
    async def scene() -> None:
        async with opened(tmp_path, []) as ahead:
            ahead.offer([request("S1"), request("S2")])
            await settle()
            await ahead.settle_on([request("S2")])
            assert [*models.open] == ["S2"]
            assert ahead.under_way == {"S2"}
            assert not ahead.take(request("S1", key="k"))

    asyncio.run(scene())
