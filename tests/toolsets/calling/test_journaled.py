"""What an answer's calls come to where a person has to agree to them."""

from __future__ import annotations

import asyncio
from uuid import uuid4

import pytest
from prefect_swarm.approvals.question import Answer
from prefect_swarm.approvals.store import Approvals
from prefect_swarm.errors import ApprovalNeededError
from prefect_swarm.runs import RunFolder
from prefect_swarm.toolsets.calling.journaled import JournaledCalls
from prefect_swarm.toolsets.calling.verdict import AttemptRules
from prefect_swarm.toolsets.journal.file import CallJournal
from prefect_swarm.toolsets.limits import ToolLimits
from prefect_swarm.toolsets.marks import marked
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolCallPart
from pydantic_ai.tools import ToolDefinition

pytestmark = pytest.mark.usefixtures("swarm_home")

MESSAGES: list[ModelMessage] = [
    ModelRequest([]),
    ModelResponse([ToolCallPart("send", {"to": "Ada"}, "c1")]),
]
TOOLS = {"send": ("mail", "mail", ToolDefinition(name="send", metadata=marked(acting=True)))}


@pytest.fixture
def run() -> RunFolder:
    return RunFolder.of(str(uuid4()))


def called(run: RunFolder) -> str:
    """What the model reads, in a process that has just begun to work on the attempt."""
    calls = JournaledCalls(
        run=run,
        step="S1",
        attempt=1,
        tag="S1.1-0",
        journal=CallJournal(run, "S1.1", "0"),
        limits=ToolLimits(),
        rules=AttemptRules(50, asks=True),
    )

    async def send() -> str:
        return "sent"

    return asyncio.run(calls.call(MESSAGES, 0, TOOLS, send))


def asked(run: RunFolder) -> tuple[str, ...]:
    with pytest.raises(ApprovalNeededError) as caught:
        called(run)
    return caught.value.questions


def test_a_call_that_acts_waits_until_a_person_has_agreed(run: RunFolder) -> None:
    assert asked(run) == asked(run) == ("S1.1-0.1",)
    Approvals(run).answer(Answer(question="S1.1-0.1", verdict="approved"))
    assert called(run) == "sent"


def test_a_call_that_a_person_refuses_is_not_made_and_the_model_reads_why(run: RunFolder) -> None:
    asked(run)
    Approvals(run).answer(Answer(question="S1.1-0.1", verdict="rejected", why="Not to Ada."))
    with pytest.raises(ToolFailed, match=r"decided against this call\. Not to Ada\."):
        called(run)


def test_a_question_that_an_edited_plan_took_back_is_asked_again_and_nobody_has_refused(
    run: RunFolder,
) -> None:
    asked(run)
    approvals = Approvals(run)
    (question,) = approvals.pending()
    approvals.withdraw(question)
    assert asked(run) == ("S1.1-0.1#2",)
    approvals.answer(Answer(question="S1.1-0.1#2", verdict="approved"))
    assert called(run) == "sent"
