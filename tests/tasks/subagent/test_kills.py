"""Killed in the middle of its calls, an attempt goes on: no finished call is made twice."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from forked import told_by_fork
from prefect_swarm.errors import UncertainCallError
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.tasks.context import task_context
from prefect_swarm.tasks.subagent.request import SubagentRequest
from prefect_swarm.tasks.subagent.tool_loop import ToolLoop
from prefect_swarm.toolsets.catalogue import Catalogue, ToolsetOverride, marked
from prefect_swarm.toolsets.journal import Committed, read_entries
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.settings import ModelSettings
from pydantic_ai.toolsets import FunctionToolset
from quoted_texts import without_marks

pytestmark = pytest.mark.usefixtures("swarm_home")

TURNS, AT_ONCE = 4, 2
ALL = TURNS * AT_ONCE


def request(run_id: str) -> SubagentRequest:
    return SubagentRequest(
        key=f"{run_id}.0123456789abcdef.S1.1",
        run=run_id,
        step="S1",
        agent="Clerk",
        attempt=1,
        tier="worker",
        model="test",
        instructions="You count.",
        prompt="Count.",
        tools=("counter",),
    )


def answers(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    """Calls whose ids are all equal, as some providers give them."""
    read = [p for m in messages for p in m.parts if isinstance(p, ToolReturnPart)]
    if len(read) == ALL:
        return ModelResponse(
            [TextPart(",".join(without_marks(str(part.content)) for part in read))]
        )
    numbers = range(len(read), len(read) + AT_ONCE)
    return ModelResponse([ToolCallPart("count", {"n": n}, "call_0") for n in numbers])


def counter(emit: Any, *, idempotent: bool) -> FunctionToolset[None]:
    tools = FunctionToolset[None]()

    async def count(n: int) -> str:
        emit(f"begun {n}")
        await asyncio.sleep(0)
        emit(f"made {n}")
        return f"<{n}>"

    tools.add_function(count, metadata=marked(idempotent=idempotent))
    return tools


async def attempt(run_id: str, emit: Any, *, idempotent: bool) -> str:
    source = ToolsetOverride("counter", counter(emit, idempotent=idempotent))
    with task_context(toolsets=Catalogue.of([source])):
        response = await ToolLoop(FunctionModel(answers), request(run_id), ModelSettings()).run()
    return response.text or ""


def killed_after(run_id: str, messages: int, *, idempotent: bool) -> list[str]:
    """Run the attempt in a process that is killed after so many messages; return what it told."""
    left = messages

    def work(write: Callable[[str], None]) -> None:
        def emit(text: str) -> None:
            nonlocal left
            write(text)
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

        try:
            emit(f"answer {asyncio.run(attempt(run_id, emit, idempotent=idempotent))}")
        except UncertainCallError as error:
            write(f"uncertain {error}")

    return told_by_fork(work)


def committed(run_id: str) -> set[int]:
    run = RunFolder.of(run_id)
    entries = [
        entry
        for path in (run.folder / "calls").glob("*.jsonl")
        for entry in read_entries(run.lines(f"calls/{path.name}"))
    ]
    return {entry.key.ordinal - 1 for entry in entries if isinstance(entry, Committed)}


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1, 16))
def test_killed_at_any_moment_no_finished_call_is_made_again(run_id: str, first: int) -> None:
    begun: Counter[str] = Counter()
    kills, answer = [first, 2], ""
    while not answer:
        finished = committed(run_id)
        lines = killed_after(run_id, kills.pop(0) if kills else 10_000, idempotent=True)
        begun.update(line for line in lines if line.startswith("begun"))
        assert not finished & {int(line.split()[1]) for line in lines if line.startswith("begun")}
        answer = next((line for line in lines if line.startswith("answer")), "")
    assert answer == f"answer {','.join(f'<{n}>' for n in range(ALL))}"
    assert set(begun) == {f"begun {n}" for n in range(ALL)}


@pytest.mark.slow
@pytest.mark.parametrize("first", [1, 2, 5, 7])
def test_a_call_that_may_have_been_made_is_not_made_again_by_itself(
    run_id: str, first: int
) -> None:
    lines = killed_after(run_id, first, idempotent=False)
    begun = {int(line.split()[1]) for line in lines if line.startswith("begun")}
    assert begun - committed(run_id)
    (uncertain,) = killed_after(run_id, 10_000, idempotent=False)
    assert uncertain.startswith("uncertain S1 had begun call ")
    assert "nothing says whether it was made" in uncertain
