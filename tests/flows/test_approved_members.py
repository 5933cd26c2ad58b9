"""Approvals in plans with members: each counts for the item that was shown, whatever its number."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from prefect_swarm import fork, override_models, override_toolsets, resume
from prefect_swarm.errors import AnsweredError
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.python import swarm
from prefect_swarm.plan.task_ir import TaskIR, parse_plan
from prefect_swarm.store.approvals import Approvals
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.question import MOST_STORED, Answer, Question, RunWaitingError
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
from scripted import Script, scripted

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

LIST = {"kind": "json", "schema": {"type": "array"}}


def plan_of(*steps: dict[str, Any]) -> TaskIR:
    """A plan whose steps are done by one agent."""
    agents = [{"name": "Clerk", "system_prompt": "You work."}]
    filled = [{**({} if "plan" in step else {"agent": "Clerk"}), **step} for step in steps]
    return parse_plan({"objective": "Find out", "agents": agents, "steps": filled})


def over(*items: str, prompt: str = "read {item}", **fields: Any) -> TaskIR:
    """A plan with a step that is approved for each of its items."""
    each = {"id": "S1", "prompt": prompt, "for_each": {"items": list(items)}, "approval": True}
    return plan_of({**each, **fields})


def waiting(go_on: Callable[[], Any]) -> str:
    """Let a run go on until it waits for a person; return its id."""
    with pytest.raises(RunWaitingError) as caught:
        asyncio.run(go_on())
    return caught.value.run_id


def begun(plan: TaskIR, *approve: Any) -> str:
    options = SwarmOptions(approve=approve or ("steps",), memory=False)
    return waiting(lambda: swarm(plan.objective, plan=plan, options=options))


def pending(name: str) -> tuple[Question, ...]:
    return Approvals(RunFolder.find(name)).pending()


def asks(name: str) -> list[str]:
    """Return the steps that a person is asked about and hasn't decided."""
    return sorted(question.step for question in pending(name))


def approve(name: str, *steps: str) -> None:
    for question in pending(name):
        if question.step in steps:
            answer = Answer(question=question.id, verdict="approved")
            Approvals(RunFolder.find(name)).answer(answer)


def edit(name: str, plan: TaskIR) -> None:
    approvals = Approvals(RunFolder.find(name))
    question = Question(id="edit", asked="plan", subject="edit", title="An edit")
    data = plan.model_dump(mode="json")
    approvals.answer(Answer(question=approvals.ask(question).id, verdict="edited", plan=data))


def went_on(name: str) -> None:
    """Resume a run that waits again."""
    assert waiting(lambda: resume(name)) == name


def finished(name: str) -> SwarmResult:
    return asyncio.run(resume(name))


def asked(script: Script) -> list[str]:
    """Return what was asked since this was called last, without quotation marks."""
    found = sorted(prompt.strip().splitlines()[-1] for prompt in script.prompts)
    script.prompts.clear()
    return [line.translate({ord(mark): None for mark in "“”"}) for line in found]


@pytest.mark.parametrize("items", [("new", "a", "b"), ("b", "a"), ("b",)])
def test_an_approval_does_not_count_for_another_item_that_has_the_number_now(
    items: Sequence[str],
) -> None:
    with scripted(Script()) as script:
        name = begun(over("a", "b"))
        assert asks(name) == ["S1[1]", "S1[2]"]
        approve(name, "S1[1]")
        edit(name, over(*items))
        went_on(name)
        assert asks(name) == [f"S1[{number}]" for number, _ in enumerate(items, 1)]
        assert asked(script) == []
        approve(name, *asks(name))
        assert finished(name).status == "completed"
    assert asked(script) == sorted(f"read {item}" for item in items)


def test_an_approval_counts_for_its_item_where_that_has_its_number_still() -> None:
    with scripted(Script()) as script:
        name = begun(over("a", "b"))
        approve(name, "S1[1]")
        edit(name, over("a", "new", "b"))
        went_on(name)
        assert (asks(name), asked(script)) == (["S1[2]", "S1[3]"], ["read a"])


def test_an_approval_counts_for_its_item_though_the_prompt_names_none() -> None:
    def found(*items: str) -> TaskIR:
        inputs = {"list.json": json.dumps([*items])}
        step = over(prompt="read it").steps[0].model_dump(mode="json", exclude_unset=True)
        step["for_each"] = {"items": "list.json"}
        return parse_plan({**plan_of(step).model_dump(mode="json"), "inputs": inputs})

    with scripted(Script()) as script:
        name = begun(found("a", "b"))
        approve(name, "S1[1]")
        edit(name, found("b", "a"))
        went_on(name)
        assert asks(name) == ["S1[1]", "S1[2]"]
    assert asked(script) == []


def test_a_fork_asks_about_each_instance_itself() -> None:
    with scripted(Script()) as script:
        source = begun(over("a", "b"))
        approve(source, "S1[1]")
        went_on(source)
        assert asked(script) == ["read a"]
        approve(source, "S1[2]")
        name = waiting(lambda: fork(source, plan=over("new", "a", "b")))
        assert asks(name) == ["S1[1]", "S1[3]"]
    assert asked(script) == []


@pytest.mark.parametrize(
    "last",
    [
        {"prompt": "judge {item}", "for_each": {"items": "S1"}},
        {"prompt": "judge {item}", "for_each": {"items": ["x"]}, "depends_on": ["S1"]},
        {"prompt": "judge {round}", "repeat": {"until": {"is": "-"}}, "depends_on": ["S1"]},
        {
            "plan": {
                "steps": [{"id": "S1", "agent": "Clerk", "prompt": "judge", "approval": True}]
            },
            "depends_on": ["S1"],
        },
    ],
    ids=["follower", "instance", "round", "inner step"],
)
def test_a_member_that_reads_something_else_is_asked_about_again(last: dict[str, Any]) -> None:
    inside = {} if "plan" in last else {"approval": True}

    def plan(prompt: str) -> TaskIR:
        first = {"id": "S1", "prompt": prompt, "for_each": {"items": ["a"]}}
        return plan_of(first, {"id": "S2", **inside, **last})

    with scripted(Script()) as script:
        name = begun(plan("read {item}"))
        (before,) = asks(name)
        approve(name, before)
        edit(name, plan("skim {item}"))
        went_on(name)
        assert asks(name) == [before]
    assert asked(script) == ["read a", "skim a"]


def test_a_question_about_a_plan_inside_a_step_shows_its_steps() -> None:
    agents = [{"name": "Judge", "system_prompt": "You are strict."}]
    inner = {"agents": agents, "steps": [{"id": "S1", "agent": "Judge", "prompt": "judge {item}"}]}
    each = {"id": "S1", "plan": inner, "for_each": {"items": ["a"]}, "approval": True}
    with scripted(Script()):
        name = begun(plan_of(each))
    (question,) = pending(name)
    assert question.title == "S1[1] (a), before it begins"
    assert question.text.startswith("S1[1].\n\n")
    for words in ("S1[1].S1", "judge {item}", "You are strict.", "Its item: a"):
        assert words in question.text


@pytest.mark.parametrize("prompt", ["read it", "read {item.text}"])
def test_a_question_shows_the_whole_item(prompt: str) -> None:
    items = [{"title": "Paper a", "text": "long " * 200}, {"title": "Paper b", "text": "brief"}]
    plan = plan_of(
        {"id": "S1", "prompt": "list", "output": LIST},
        {
            "id": "S2",
            "prompt": prompt,
            "for_each": {"items": "S1", "at": ""},
            "approval": True,
        },
    )
    with scripted(Script(lambda _: json.dumps(items))):
        name = begun(plan)
    first, second = sorted(pending(name), key=lambda question: question.step)
    assert "Paper a" in first.title
    assert "Paper b" in second.title
    assert first.text.count("long") == 200
    assert "brief" in second.text


def test_an_instance_whose_item_is_too_long_to_be_shown_is_only_rejected() -> None:
    long = json.dumps([{"title": "long", "text": "w" * MOST_STORED}])
    plan = plan_of(
        {"id": "S1", "prompt": "list", "output": LIST},
        {"id": "S2", "prompt": "read it", "for_each": {"items": "S1", "at": ""}, "approval": True},
    )
    with scripted(Script(lambda _: long)) as script:
        name = begun(plan)
        script.prompts.clear()
        (question,) = pending(name)
        assert question.left_out
        assert len(question.text) == MOST_STORED
        with pytest.raises(AnsweredError, match="can't be shown whole"):
            approve(name, "S2[1]")
        went_on(name)
    assert script.prompts == []


def test_more_items_than_were_approved_are_asked_about_again() -> None:
    def plan(prompt: str) -> TaskIR:
        for_each = {"items": "S1", "at": "", "max_items": 1, "too_many": "ask"}
        return plan_of(
            {"id": "S1", "prompt": prompt, "output": LIST},
            {"id": "S2", "prompt": "read {item}", "for_each": for_each},
        )

    def reply(prompt: str) -> str:
        found = {"few": ["a", "b"], "many": ["a", "b", "c"]}
        return json.dumps(found.get(prompt.split()[0], []))

    with scripted(Script(reply)) as script:
        name = begun(plan("few"), "plan")
        approve(name, "")
        went_on(name)
        (question,) = pending(name)
        assert question.title == "S2 has 2 items, and max_items is 1"
        approve(name, "S2")
        edit(name, plan("many"))
        script.prompts.clear()
        went_on(name)
        (question,) = pending(name)
        assert question.title == "S2 has 3 items, and max_items is 1"
        assert not any("read" in prompt for prompt in script.prompts)
        approve(name, "S2")
        assert finished(name).status == "completed"


# --- tools --------------------------------------------------------------------------------------


def sending(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    """Call the tool once, with the same arguments for each item."""
    if any(isinstance(part, ToolReturnPart) for message in messages for part in message.parts):
        return ModelResponse([TextPart("done")])
    return ModelResponse([ToolCallPart("publish", {})])


def test_a_call_that_was_approved_for_an_item_is_not_made_for_another() -> None:
    published: list[str] = []
    tools = FunctionToolset[None]()

    def publish() -> str:
        """Publish what was read."""
        published.append("it")
        return "published"

    tools.add_function(publish, metadata=marked(acting=True))

    def plan(*items: str) -> TaskIR:
        data = over(*items, approval=False).model_dump(mode="json")
        data["agents"][0]["tools"] = ["press"]
        return parse_plan(data)

    model = FunctionModel(sending)
    with override_models(worker=model, orchestrator=model), override_toolsets(press=tools):
        name = begun(plan("a", "b"), "tools")
        assert asks(name) == ["S1[1]", "S1[2]"]
        approve(name, "S1[1]")
        edit(name, plan("b", "a"))
        went_on(name)
        assert (asks(name), published) == (["S1[1]", "S1[2]"], [])
        approve(name, *asks(name))
        assert finished(name).status == "completed"
    assert published == ["it", "it"]
