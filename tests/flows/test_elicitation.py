"""What an MCP server asks its user in the middle of a call is a question of the run."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from eliciting_mcp_server import SERVER, eliciting_server
from mcp_http_server import served_app
from person_forms import form_part, refusal, shown_state, submit
from prefect.client.schemas.objects import State
from prefect.settings import get_current_settings
from prefect_swarm import override_models
from prefect_swarm.errors import AnsweredError
from prefect_swarm.flows import approval as asking
from prefect_swarm.flows.control import RunControl, controlled
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.prefect_io import suspend
from prefect_swarm.flows.python import swarm
from prefect_swarm.flows.resume import resume
from prefect_swarm.flows.swarm import swarm as swarm_flow
from prefect_swarm.plan.task_ir import TaskIR, parse_plan
from prefect_swarm.store.approvals import Approvals
from prefect_swarm.store.events import RunEvent
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


@pytest.fixture(params=["stdio", "http", "sse"])
def travel(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Travel]:
    if request.param == "stdio":
        yield Travel(tmp_path)
        return
    server, path = eliciting_server(tmp_path / "notes"), "sse"
    if request.param == "sse":
        app = server.sse_app()
    else:
        app, path = server.streamable_http_app(), "mcp"
    with served_app(app) as address:
        yield Travel(tmp_path, url=f"{address}/{path}")


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


def test_what_is_declined_is_said_to_the_server_and_why_to_the_model(stdio: Travel) -> None:
    with override_models(worker=calling(ROME)):
        error = stdio.left()
        answer(error, verdict="rejected", why="too far")
        result = go_on(error)
    assert "not booked: decline" in (result.answer or "")
    assert "The user declined: too far" in (result.answer or "")
    assert stdio.did[-1] == "decline Rome"


def test_who_is_there_answers_in_the_run_and_nothing_is_asked_twice(stdio: Travel) -> None:
    with override_models(worker=calling(ROME)), answering(seats(3)) as asked:
        result = stdio.begin()
    assert "booked 3 to Rome, meal none" in (result.answer or "")
    assert len(asked) == 1
    assert len(result.steps[0].attempts) == 1


def test_what_does_not_fit_is_refused_and_asked_as_before(stdio: Travel) -> None:
    with override_models(worker=calling(ROME)):
        error = stdio.left()
        for content in (None, {"seats": 12}, {"seats": "2"}, {"seats": 2, "meal": "x"}, {"x": 1}):
            with pytest.raises(AnsweredError, match="can't be approved so"):
                answer(error, content=content)
        with pytest.raises(RunWaitingError) as again:
            go_on(error)
    assert again.value.questions == error.questions


def test_the_same_question_once_more_in_a_call_is_another_one(stdio: Travel) -> None:
    wanted = iter((3, 4, 6))

    def choose(question: Question) -> Answer:
        return seats(next(wanted))(question)

    with override_models(worker=calling([("insist", {})])), answering(choose) as asked:
        result = stdio.begin()
    assert "6 after 3" in (result.answer or "")
    assert [question.id.rpartition("#")[2] for question in asked[1:]] == ["2", "3"]


def test_an_approved_call_that_asks_is_not_approved_once_more(stdio: Travel) -> None:
    with override_models(worker=calling(ROME)), answering(_any) as asked:
        result = stdio.begin(approve=("tools",))
    assert "booked 2 to Rome" in (result.answer or "")
    assert [question.asked for question in asked] == ["call", "elicitation"]


def _any(question: Question) -> Answer:
    content: Any = {"seats": 2} if question.fields else None
    return Answer(question=question.id, verdict="approved", content=content)


def test_other_calls_of_the_answer_are_made_once(stdio: Travel) -> None:
    with override_models(worker=calling([*ROME, ("slow", {})])), answering(seats(2)):
        result = stdio.begin()
    assert "slow is done" in (result.answer or "")
    assert stdio.did.count("begun slow") == 1


@pytest.mark.parametrize("number", [2, 3])
def test_calls_that_ask_in_parallel_get_their_own_answers(stdio: Travel, number: int) -> None:
    towns = {"Rome": 1, "Oslo": 2, "Bern": 3}
    calls = [("book", {"to": town}) for town in [*towns][:number]]

    def choose(question: Question) -> Answer:
        return seats(next(n for town, n in towns.items() if f"to {town}?" in question.text))(
            question
        )

    with override_models(worker=calling(calls)), answering(choose) as asked:
        result = stdio.begin()
    booked = [each for each in stdio.did if each.startswith("booked")]
    assert sorted(booked) == sorted(f"booked {town} {towns[town]}" for town in [*towns][:number])
    assert len(asked) == number
    assert result.status == "completed"


def test_a_newer_session_asks_by_the_result_of_the_call(travel: Travel) -> None:
    with override_models(worker=calling([("board", {"to": "Oslo"})])):
        error = travel.left()
        assert error.questions[0].title.startswith("travel asks S1: How many board to Oslo?")
        answer(error, content={"seats": 4})
        result = go_on(error)
    assert "boarded 4 to Oslo" in (result.answer or "")
    assert travel.did == ["boarded Oslo 4"]


def test_an_address_to_open_is_declined_and_the_model_reads_why(stdio: Travel) -> None:
    with override_models(worker=calling([("visit", {})])):
        result = stdio.begin()
    assert "only forms are shown" in (result.answer or "")
    assert "abc" not in (result.answer or "")


def test_where_nothing_is_asked_for_an_approval_is_enough(stdio: Travel) -> None:
    with override_models(worker=calling([("confirm", {})])), answering(_any) as asked:
        result = stdio.begin()
    assert "user says accept" in (result.answer or "")
    assert asked[0].fields == ()
    assert "\u202e" not in asked[0].text
    assert asked[0].text.startswith("```")


def test_it_is_answered_in_the_form_of_the_prefect_ui(
    stdio: Travel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suspend, "FORM_LOOK_S", 0.02)

    async def person(flow_run_id: UUID) -> None:
        state = await shown_state(flow_run_id)
        description = await form_part(state, flow_run_id, "description")
        assert "How do you want to fly to Rome?" in description
        schema = await form_part(state, flow_run_id, "schema")
        [decision] = (name for name in schema["properties"] if name.startswith("decision"))
        refused = await refusal(flow_run_id, **{decision: "approve"})
        assert "'input_seats' is a required property" in refused
        await submit(flow_run_id, **{decision: "approve", "input_seats": 5, "input_meal": "meat"})

    async def attended() -> State[Any]:
        began: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        def handle(event: RunEvent) -> None:
            if not began.done():
                began.set_result(event.run)

        with controlled(RunControl(waits=True, listener=handle)):
            flow: Any = swarm_flow("Book", plan=plan(), options=stdio.options(), return_state=True)
            run = asyncio.create_task(flow)
        try:
            flow_run_id = UUID(RunFolder.find(await began).about().flow_run_id)
            await asyncio.wait_for(person(flow_run_id), 60)
            return await asyncio.wait_for(run, 60)
        finally:
            run.cancel()

    with override_models(worker=calling(ROME)):
        state = asyncio.run(attended())
    assert state.name == "Completed"
    assert stdio.did[-1] == "booked Rome 5"


def test_a_run_that_is_killed_while_a_person_thinks_asks_the_same_and_no_more(
    stdio: Travel, tmp_path: Path
) -> None:
    path = tmp_path / "plan.json"
    path.write_text(plan().model_dump_json(by_alias=True))
    api = get_current_settings().api.url
    assert api is not None
    process = subprocess.Popen(
        [sys.executable, "-c", _WAITS, str(stdio.mcp), str(path)],
        env={**os.environ, "PREFECT_API_URL": api},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    run_id = process.stdout.readline().strip()
    process.kill()
    process.communicate()
    run = RunFolder.find(run_id)
    [question] = Approvals(run).pending()
    Approvals(run).answer(seats(2)(question))
    with override_models(worker=calling(ROME)):
        result = asyncio.run(resume(run_id))
    assert "booked 2 to Rome" in (result.answer or "")
    assert Approvals(run).questions() == (question,)


_WAITS = """
import asyncio, sys
from pathlib import Path
from prefect_swarm import SwarmOptions, load_plan, override_models
from prefect_swarm.flows.control import RunControl, controlled
from prefect_swarm.flows.python import swarm
from pydantic_ai.messages import ModelResponse, ToolCallPart
from pydantic_ai.models.function import FunctionModel

async def ask(run, questions):
    print(run.run_id, flush=True)
    await asyncio.Event().wait()

model = FunctionModel(lambda *_: ModelResponse([ToolCallPart("book", {"to": "Rome"})]))
with override_models(worker=model), controlled(RunControl(ask_person=ask)):
    options = SwarmOptions(mcp=sys.argv[1], memory=False)
    asyncio.run(swarm("Book", plan=load_plan(Path(sys.argv[2])), options=options))
"""
