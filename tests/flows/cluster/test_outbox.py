"""What a worker says of its attempts: in order, bounded where it may be, and answered."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from prefect_swarm.errors import BudgetExceededError
from prefect_swarm.flows.cluster.outbox import Outbox
from prefect_swarm.flows.cluster.payload import (
    Called,
    Message,
    MessageBatch,
    Said,
    Took,
    Wants,
)
from prefect_swarm.store.attempt import ToolCall, Usage
from prefect_swarm.tasks.context import AttemptBudget
from toolset_calls import in_loop

CALL = Called(key="k", call=ToolCall(ordinal=1, toolset="t", tool="t", outcome="started"))


class Line:
    """An outbox, and what it sent."""

    def __init__(self) -> None:
        self.sent: list[Message] = []
        self.outbox = Outbox("tcp://oak", self._send)

    def _send(self, text: str) -> None:
        self.sent += MessageBatch.model_validate_json(text).items

    @property
    def text(self) -> str:
        return "".join(each.text for each in self.sent if isinstance(each, Said))


@in_loop
async def test_pieces_of_text_are_sent_as_one_between_other_messages() -> None:
    line = Line()
    for message in (
        Said(key="k", text="a"),
        Said(key="k", text="b"),
        CALL,
        Said(key="k", text="c"),
    ):
        line.outbox.put(message)
    assert line.sent == []
    line.outbox.flush()
    assert line.sent == [Said(key="k", text="ab"), CALL, Said(key="k", text="c")]


@in_loop
async def test_messages_are_sent_by_themselves_after_a_moment() -> None:
    line, sent = Line(), asyncio.Event()
    line.outbox.send = lambda _: sent.set()
    line.outbox.put(CALL)
    await sent.wait()


@in_loop
async def test_text_that_nobody_reads_is_dropped_and_calls_are_not() -> None:
    line = Line()
    for _ in range(100):
        line.outbox.put(Said(key="k", text="x" * 10_000))
        line.outbox.put(CALL)
        line.outbox.flush()
    assert len(line.text) < 300_000
    assert line.sent.count(CALL) == 100
    line.outbox.free(len(line.text))
    line.outbox.put(Said(key="k", text="again"))
    line.outbox.flush()
    assert line.text.endswith("xagain")
    assert len(line.text) < 400_000


@in_loop
async def test_what_an_attempt_took_is_sent_with_its_end() -> None:
    line, budget = Line(), AttemptBudget()
    line.outbox.budgets["k"] = budget
    budget.taken = Usage(requests=2)
    line.outbox.end("k")
    line.outbox.flush()
    assert line.sent == [Took(key="k", usage=Usage(requests=2))]


@pytest.mark.parametrize("problem", ["", "Too much."])
@in_loop
async def test_a_request_waits_until_the_run_says_that_it_can_afford_it(problem: str) -> None:
    line = Line()
    asking: asyncio.Task[Any] = asyncio.create_task(line.outbox.extend("k", Usage(), 7))
    await asyncio.sleep(0)
    (wanted,) = line.sent
    assert isinstance(wanted, Wants)
    line.outbox.reply("k", wanted.number + 1, "", "")
    await asyncio.sleep(0)
    assert not asking.done()
    for _ in range(2):
        line.outbox.reply("k", wanted.number, problem, "Raise it.")
    if problem:
        with pytest.raises(BudgetExceededError, match="Too much"):
            await asking
    else:
        await asking
