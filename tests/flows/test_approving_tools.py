"""Calls of tools that act: a person is asked about each, and it is made once."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager

import pytest
from prefect_swarm import override_models, override_toolsets
from prefect_swarm.flows import approval as asking
from prefect_swarm.flows.control import RunControl, controlled
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.python import swarm
from prefect_swarm.flows.resume import resume
from prefect_swarm.flows.stored_plan import paid_again
from prefect_swarm.plan.task_ir import TaskIR, parse_plan
from prefect_swarm.store.approvals import Approvals
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.protocol import RunStore
from prefect_swarm.store.question import Answer, RunWaitingError, Verdict
from prefect_swarm.store.result import SwarmResult
from prefect_swarm.toolsets.catalogue import marked
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.toolsets import FunctionToolset

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

Sent = list[str]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "LOOK_S", 0.02)


def plan() -> TaskIR:
    agents = [{"name": "Clerk", "system_prompt": "You write letters.", "tools": ["post"]}]
    step = {"id": "S1", "agent": "Clerk", "prompt": "Write to Ann."}
    return parse_plan({"objective": "Write", "agents": agents, "steps": [step]})


def sending(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    """Send two letters in one answer, and then say so."""
    if any(isinstance(part, ToolReturnPart) for message in messages for part in message.parts):
        return ModelResponse([TextPart("Both are sent.")])
    return ModelResponse([ToolCallPart("send", {"to": "Ann"}), ToolCallPart("send", {"to": "Bob"})])


@contextmanager
def post() -> Generator[Sent]:
    """A toolset with a tool that acts; what it sent is kept."""
    sent, tools = Sent(), FunctionToolset[None]()

    def send(to: str) -> str:
        """Send a letter."""
        sent.append(to)
        return f"sent to {to}"

    tools.add_function(send, metadata=marked(acting=True))
    with override_models(worker=FunctionModel(sending)), override_toolsets(post=tools):
        yield sent


def left() -> RunWaitingError:
    options = SwarmOptions(approve=("tools",), memory=False)
    with pytest.raises(RunWaitingError) as caught:
        asyncio.run(swarm("Write", plan=plan(), options=options))
    return caught.value


def answer(error: RunWaitingError, *verdicts: Verdict) -> None:
    approvals = Approvals(RunFolder.find(error.run_id))
    for question, verdict in zip(error.questions, verdicts, strict=False):
        approvals.answer(Answer(question=question.id, verdict=verdict, why="not yet"))


def go_on(error: RunWaitingError) -> SwarmResult:
    return asyncio.run(resume(error.run_id))


def test_calls_of_a_tool_that_acts_are_made_once_when_all_are_approved() -> None:
    with post() as sent:
        error = left()
        assert sent == []
        assert len(error.questions) == 2
        assert '"to": "Ann"' in error.questions[0].text
        answer(error, "approved")
        with pytest.raises(RunWaitingError) as again:
            go_on(error)
        assert again.value.questions == error.questions[1:]
        assert sent == []
        answer(again.value, "approved")
        result = go_on(error)
    assert (result.status, result.answer) == ("completed", "Both are sent.")
    assert sorted(sent) == ["Ann", "Bob"]
    assert len(result.steps[0].attempts) == 1


def test_a_rejected_call_is_not_made_and_the_model_reads_why() -> None:
    with post() as sent:
        error = left()
        answer(error, "approved", "rejected")
        result = go_on(error)
    assert result.status == "completed"
    assert sent == ["Ann"]
    made, refused = result.steps[0].attempts[0].calls
    assert (made.outcome, refused.outcome) == ("returned", "refused")
    assert "A person decided against this call. not yet" in refused.result


def test_a_run_that_lives_makes_the_call_as_soon_as_it_is_approved() -> None:
    async def approve(run: RunStore, questions: tuple[object, ...]) -> None:
        approvals = Approvals(run)
        for question in approvals.pending():
            approvals.answer(Answer(question=question.id, verdict="approved"))

    options = SwarmOptions(approve=("tools",), memory=False)
    with post() as sent, controlled(RunControl(ask_person=approve)):
        result = asyncio.run(swarm("Write", plan=plan(), options=options))
    assert result.status == "completed"
    assert sorted(sent) == ["Ann", "Bob"]


def test_what_a_put_aside_attempt_was_answered_is_not_paid_for_again() -> None:
    with post():
        run = RunFolder.find(left().run_id)
        assert asyncio.run(paid_again(run)) == ()
        (journal,) = (run.folder / "calls").iterdir()
        journal.unlink()
        assert asyncio.run(paid_again(run)) == ("S1",)
