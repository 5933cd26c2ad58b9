"""What an MCP server asks its user in the middle of a call is a question of the run."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from eliciting_mcp_server import SERVER, eliciting_server
from mcp_http_server import served_app
from prefect_swarm import override_models
from prefect_swarm.flows import approval as asking
from prefect_swarm.flows.control import RunControl, controlled
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.python import swarm
from prefect_swarm.flows.resume import resume
from prefect_swarm.plan.task_ir import TaskIR, parse_plan
from prefect_swarm.store.approvals import Approvals
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.protocol import RunStore
from prefect_swarm.store.question import Answer, Question, RunWaitingError
from prefect_swarm.store.result import SwarmResult
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

Calls = Sequence[tuple[str, dict[str, Any]]]
ROME: Calls = [("book", {"to": "Rome"})]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "LOOK_S", 0.02)


def plan() -> TaskIR:
    agents = [{"name": "Agent", "system_prompt": "You book.", "tools": ["travel"]}]
    step = {"id": "S1", "agent": "Agent", "prompt": "Book a flight."}
    return parse_plan({"objective": "Book", "agents": agents, "steps": [step]})


def calling(calls: Calls) -> FunctionModel:
    """A model that makes calls in one answer, and then repeats what they gave."""

    def answer(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        parts = [part for message in messages for part in message.parts]
        results = [part.model_response_str() for part in parts if isinstance(part, ToolReturnPart)]
        if results:
            return ModelResponse([TextPart(" | ".join(results))])
        return ModelResponse([ToolCallPart(tool, arguments) for tool, arguments in calls])

    return FunctionModel(answer)


class Travel:
    """The server, and what it did."""

    def __init__(self, folder: Path, **entry: Any) -> None:
        self.notes = folder / "notes"
        self.mcp = folder / "tools.json"
        own = {"command": sys.executable, "args": [str(SERVER), str(self.notes)]}
        self.mcp.write_text(json.dumps({"mcpServers": {"travel": entry or own}}))

    @property
    def did(self) -> list[str]:
        return self.notes.read_text().splitlines() if self.notes.exists() else []

    def options(self, **options: Any) -> SwarmOptions:
        return SwarmOptions(mcp=str(self.mcp), memory=False, **options)

    def begin(self, **options: Any) -> SwarmResult:
        return asyncio.run(swarm("Book", plan=plan(), options=self.options(**options)))

    def left(self, **options: Any) -> RunWaitingError:
        with pytest.raises(RunWaitingError) as caught:
            self.begin(**options)
        return caught.value


@pytest.fixture(params=["stdio", "http"])
def travel(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Travel]:
    if request.param == "stdio":
        yield Travel(tmp_path)
        return
    app = eliciting_server(tmp_path / "notes").streamable_http_app()
    with served_app(app) as address:
        yield Travel(tmp_path, url=f"{address}/mcp")


@pytest.fixture
def stdio(tmp_path: Path) -> Travel:
    return Travel(tmp_path)


def answer(error: RunWaitingError, number: int = 0, **fields: Any) -> None:
    question = error.questions[number]
    fields = {"verdict": "approved", **fields}
    Approvals(RunFolder.find(error.run_id)).answer(Answer(question=question.id, **fields))


def go_on(error: RunWaitingError) -> SwarmResult:
    return asyncio.run(resume(error.run_id))


@contextmanager
def answering(choose: Callable[[Question], Answer]) -> Generator[list[Question]]:
    """A person who is there, and answers each question as it comes."""
    asked: list[Question] = []

    async def ask(run: RunStore, _: tuple[Question, ...]) -> None:
        for question in Approvals(run).pending():
            asked.append(question)
            Approvals(run).answer(choose(question))

    with controlled(RunControl(ask_person=ask)):
        yield asked


def seats(number: int) -> Callable[[Question], Answer]:
    return lambda asked: Answer(question=asked.id, verdict="approved", content={"seats": number})


def test_the_run_waits_and_the_call_is_made_again_with_what_was_filled_in(travel: Travel) -> None:
    with override_models(worker=calling(ROME)):
        error = travel.left()
        [question] = error.questions
        assert question.asked == "elicitation"
        assert question.title == "travel asks S1: How do you want to fly to Rome?"
        assert '"to": "Rome"' in question.text
        assert [field.name for field in question.fields] == ["seats", "meal", "window"]
        assert set(travel.did) == {"begun Rome"}
        answer(error, content={"seats": 2, "meal": "meat"})
        result = go_on(error)
    assert result.status == "completed"
    assert "booked 2 to Rome, meal meat" in (result.answer or "")
    assert [each for each in travel.did if each != "begun Rome"] == ["booked Rome 2"]
    [attempt] = result.steps[0].attempts
    assert [call.outcome for call in attempt.calls] == ["returned"]
