"""Exploration before planning; a killed process costs no call twice."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from uuid import uuid4

import pytest
from forked import told_by_fork
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.tasks.context import task_context
from prefect_swarm.tasks.planner.conversation import exploration_request, notes_in
from prefect_swarm.tasks.planner.facts import notes_of
from prefect_swarm.tasks.subagent.request import (
    CallLimits,
    SubagentRequest,
    SubagentResult,
    tokens_of,
)
from prefect_swarm.tasks.subagent.tool_loop import ToolLoop
from prefect_swarm.toolsets.catalogue import Catalogue, ToolsetOverride, marked
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

CALLS = 4


def request(run: str = "run", calls: int = CALLS) -> SubagentRequest:
    return exploration_request(
        " Read the shelf\n",
        notes_of({"a.txt": "first line"}),
        run=run,
        model="test",
        tools=["shelf"],
        limits=CallLimits(timeout_s=5.0),
        calls=calls,
    )


def test_it_is_asked_for_the_objective_with_its_inputs_and_the_bound() -> None:
    asked = request()
    assert asked.prompt.startswith("Objective: Read the shelf\n\nInputs")
    assert "a.txt" in asked.prompt
    assert "At most 4 calls" in asked.instructions
    assert (asked.max_calls, asked.timeout_s, asked.tools) == (4, 5.0, ("shelf",))
    assert asked.looks_around


def test_a_step_of_a_plan_does_not_look_around() -> None:
    assert not request().model_copy(update={"step": "S1"}).looks_around


def test_notes_are_bounded_and_a_failure_has_none() -> None:
    made = SubagentResult(text="word " * 9_000, model="m", started_at=0.0, ended_at=1.0)
    assert 0 < tokens_of(notes_in(made)) <= 1500
    failed = made.model_copy(update={"category": "TIMEOUT"})
    assert notes_in(failed) == ""


def answers(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    read = [p.content for m in messages for p in m.parts if isinstance(p, ToolReturnPart)]
    if len(read) == CALLS:
        return ModelResponse([TextPart(",".join(without_marks(str(each)) for each in read))])
    return ModelResponse([ToolCallPart("count", {"n": len(read)}, f"call-{len(read)}")])


def killed_in_call(run: str, number: int) -> list[str]:
    """Look around in a process that is killed in a call; return what it wrote down."""

    def work(emit: Callable[[str], None]) -> None:
        async def count(n: int) -> str:
            emit(f"call {n}")
            if n == number:
                os.kill(os.getpid(), signal.SIGKILL)
            return f"<{n}>"

        tools = FunctionToolset[None]()
        tools.add_function(count, metadata=marked(idempotent=True))
        with task_context(toolsets=Catalogue.of([ToolsetOverride("shelf", tools)])):
            loop = ToolLoop(FunctionModel(answers), request(run), ModelSettings())
            emit(asyncio.run(loop.run()).text or "")

    return told_by_fork(work)


@pytest.mark.usefixtures("swarm_home")
@pytest.mark.parametrize("number", range(CALLS))
def test_a_killed_process_goes_on_after_the_last_call_that_ended(number: int) -> None:
    run = str(uuid4())
    assert killed_in_call(run, number) == [f"call {n}" for n in range(number + 1)]
    rest = [f"call {n}" for n in range(number, CALLS)]
    assert killed_in_call(run, -1) == [*rest, "<0>,<1>,<2>,<3>"]
    (journal,) = (RunFolder.of(run).folder / "calls").iterdir()
    assert journal.name.startswith("explore-")
