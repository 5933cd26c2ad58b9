"""A provider that gives each call the same id: every call is asked about, made and shown."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Generator
from contextlib import contextmanager

import pytest
from prefect_swarm import override_toolsets
from prefect_swarm.flows import approval as asking
from prefect_swarm.flows.options import Approve, SwarmOptions
from prefect_swarm.flows.python import swarm
from prefect_swarm.flows.resume import resume
from prefect_swarm.plan.task_ir import parse_plan
from prefect_swarm.report.lines import call_lines
from prefect_swarm.store.approvals import Approvals
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.question import Answer, RunWaitingError
from prefect_swarm.store.result import SwarmResult
from prefect_swarm.toolsets.catalogue import marked
from provider_server import Asked, Reply, provider_server
from pydantic_ai.toolsets import FunctionToolset

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

PLAN = parse_plan(
    {
        "objective": "Take notes",
        "agents": [{"name": "Clerk", "system_prompt": "You take notes.", "tools": ["desk"]}],
        "steps": [{"id": "S1", "agent": "Clerk", "prompt": "Note one and two."}],
    }
)
WANTED = [("add_note", {"text": "one"}), ("add_note", {"text": "two"}), ("wipe", {})]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "LOOK_S", 0.02)


def reply(name: str, asked: Asked) -> Reply:
    """Want a call of each kind, an answer each, under the same id; then say so."""
    results = [message for message in asked.body["messages"] if message["role"] == "tool"]
    if len(results) == len(WANTED):
        return Reply("It is done.")
    tool, arguments = WANTED[len(results)]
    return answering(name, [(tool, json.dumps(arguments))])


def answering(name: str, wanted: list[tuple[str, str]]) -> Reply:
    """An answer that wants calls, all under the same id."""
    functions = [{"name": tool, "arguments": arguments} for tool, arguments in wanted]
    calls = [{"id": name, "type": "function", "function": function} for function in functions]
    message = {"role": "assistant", "content": None, "tool_calls": calls}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    usage = {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}
    head = {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "usage": usage}
    return Reply(raw=json.dumps({**head, "choices": [choice]}).encode())


@contextmanager
def desk() -> Generator[list[str]]:
    """A toolset whose tools act; what they did is kept."""
    done: list[str] = []
    tools = FunctionToolset[None]()

    def add_note(text: str) -> str:
        done.append(f"noted {text}")
        return done[-1]

    def wipe() -> str:
        done.append("wiped")
        return done[-1]

    tools.add_function(add_note, metadata=marked(acting=True))
    tools.add_function(wipe, metadata=marked(acting=True))
    with override_toolsets(desk=tools):
        yield done


def go(model: str, run_id: str = "", approve: tuple[Approve, ...] = ("tools",)) -> SwarmResult:
    if run_id:
        return asyncio.run(resume(run_id))
    options = SwarmOptions(model=model, approve=approve, memory=False)
    return asyncio.run(swarm("Take notes", plan=PLAN, options=options))


@pytest.mark.parametrize("name", ["call_0", "", "add_note"])
def test_one_approval_lets_no_other_call_through(name: str) -> None:
    with provider_server(lambda asked: reply(name, asked)) as server, desk() as done:
        run_id = ""
        for number in range(len(WANTED)):
            with pytest.raises(RunWaitingError) as caught:
                go(server.name(), run_id)
            assert len(done) == number
            run_id = caught.value.run_id
            (question,) = caught.value.questions
            assert f"**{WANTED[number][0]}**" in question.text
            Approvals(RunFolder.find(run_id)).answer(
                Answer(question=question.id, verdict="approved")
            )
        result = go(server.name(), run_id)
    assert result.answer == "It is done."
    assert done == ["noted one", "noted two", "wiped"]


@pytest.mark.parametrize("approving", [(), ("tools",)], ids=["", "approve"])
def test_a_tool_that_needs_approval_is_called_once_a_person_agreed(
    approving: tuple[Approve, ...],
) -> None:
    done: list[str] = []
    tools = FunctionToolset[None]()

    def add_note(text: str) -> str:
        done.append(text)
        return f"noted {text}"

    tools.add_function(add_note, requires_approval=True)
    with provider_server(lambda asked: reply("", asked)) as server, override_toolsets(desk=tools):
        run_id = ""
        for text in ("one", "two"):
            with pytest.raises(RunWaitingError) as caught:
                go(server.name(), run_id, approving)
            assert text not in done
            run_id = caught.value.run_id
            (question,) = caught.value.questions
            Approvals(RunFolder.find(run_id)).answer(
                Answer(question=question.id, verdict="approved")
            )
        go(server.name(), run_id)
    assert done == ["one", "two"]


def test_an_invalid_call_is_shown_and_needs_no_approval() -> None:
    wanted = [("add_note", '{"text": "one"}'), ("add_note", '{"txt": 1}'), ("tear", "{}")]

    def batch(asked: Asked) -> Reply:
        if any(message["role"] == "tool" for message in asked.body["messages"]):
            return Reply("It is done.")
        return answering("call_0", wanted)

    with provider_server(batch) as server, desk() as done:
        with pytest.raises(RunWaitingError) as caught:
            go(server.name())
        (question,) = caught.value.questions
        run_id = caught.value.run_id
        Approvals(RunFolder.find(run_id)).answer(Answer(question=question.id, verdict="approved"))
        result = go(server.name(), run_id)
    assert done == ["noted one"]
    calls = result.steps[0].attempts[0].calls
    assert [(call.tool, call.outcome) for call in calls] == [
        ("add_note", "returned"),
        ("add_note", "refused"),
        ("tear", "refused"),
    ]
    assert "Field required" in calls[1].result
    assert "Unknown tool" in calls[2].result


def test_all_calls_are_shown() -> None:
    with provider_server(lambda asked: reply("call_0", asked)) as server, desk() as done:
        result = go(server.name(), approve=())
    assert len(done) == 3
    lines = call_lines(result.steps[0].attempts[0].calls)
    assert [line.partition(" returned")[0] for line in lines] == [
        'call 1: add_note({"text": "one"})',
        'call 2: add_note({"text": "two"})',
        "call 3: wipe({})",
    ]
