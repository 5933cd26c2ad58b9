"""The orchestrator looks around with tools before it plans."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from flow_runs import task_runs
from prefect_swarm import override_models, override_toolsets
from prefect_swarm.errors import InputError, NoPlanError
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.resume import resume
from prefect_swarm.flows.swarm import swarm
from prefect_swarm.plan.task_ir import TaskIR
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.result import SwarmResult
from prefect_swarm.toolsets.catalogue import marked
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.tools import Tool
from pydantic_ai.toolsets import FunctionToolset
from quoted_texts import without_marks

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

PLAN = {
    "create_subagent": [{"name": "Reader", "system_prompt": "You read."}],
    "assign_task": [
        {
            "id": 1,
            "agent": "Reader",
            "prompt": "Read it",
            "depends_on": [],
            "output": {"kind": "text"},
        }
    ],
}


@dataclass
class Orchestrator:
    """Calls `count` as often as it may, at most `wanted` times, then notes, then plans."""

    wanted: int = 2
    tool: str = "count"
    notes: str = "There are {found}."
    offered: list[str] = field(default_factory=list)
    asked_to_look: int = 0
    read: list[str] = field(default_factory=list)

    def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if info.output_tools:
            self.read.append(_texts(messages))
            return ModelResponse([ToolCallPart(info.output_tools[0].name, PLAN)])
        self.asked_to_look += 1
        self.offered = sorted(tool.name for tool in info.function_tools)
        found = _results(messages)
        may = (info.model_settings or {}).get("tool_choice") != "none"
        if len(found) < self.wanted and may and self.tool in self.offered:
            return ModelResponse([ToolCallPart(self.tool, {"what": f"kind {len(found)}"})])
        return ModelResponse([TextPart(self.notes.format(found=found))])


def _texts(messages: list[ModelMessage]) -> str:
    parts = (part for message in messages for part in message.parts)
    return "\n".join(str(part.content) for part in parts if isinstance(part, UserPromptPart))


def _results(messages: list[ModelMessage]) -> list[Any]:
    parts = (part for message in messages for part in message.parts)
    return [without_marks(str(part.content)) for part in parts if isinstance(part, ToolReturnPart)]


def counting(count: Callable[..., Any], **metadata: bool) -> FunctionToolset[None]:
    return FunctionToolset([Tool(count, name="count", metadata=marked(**metadata))])


def three(what: str) -> str:
    return f"3 of {what}"


@contextmanager
def having(orchestrator: Orchestrator, **toolsets: FunctionToolset[None]) -> Generator[None]:
    worker = FunctionModel(lambda _messages, _info: ModelResponse([TextPart("done")]))
    model = FunctionModel(orchestrator)
    with override_models(worker=worker, orchestrator=model), override_toolsets(**toolsets):
        yield


def run(plan: TaskIR | None = None, **options: Any) -> SwarmResult:
    objective = plan.objective if plan else "Read the shelf"
    given = SwarmOptions(memory=False, **options)
    return asyncio.run(swarm(objective, plan=plan, options=given))


def test_it_makes_so_many_calls_and_plans_by_what_it_noted() -> None:
    orchestrator = Orchestrator(wanted=9)
    with having(orchestrator, shelf=counting(three)):
        result = run(explore=2)
    explored = result.planning.explored
    assert explored is not None
    assert [call.result for call in explored.calls] == ["3 of kind 0", "3 of kind 1"]
    assert explored.notes == "There are ['3 of kind 0', '3 of kind 1']."
    assert "Your notes are quoted" in orchestrator.read[0]
    assert "“There are ('3 of kind 0', '3 of kind 1').”" in orchestrator.read[0]


def test_the_limit_of_calls_of_an_attempt_holds_for_it_too() -> None:
    with having(Orchestrator(wanted=9), shelf=counting(three)):
        result = run(explore=5, tool_limits={"calls": 1})
    assert result.planning.explored
    assert len(result.planning.explored.calls) == 1


def test_what_it_takes_is_in_the_planning_and_in_the_cost_of_the_run() -> None:
    with having(Orchestrator(), shelf=counting(three)):
        result = run(explore=2)
    assert result.planning.explored
    assert result.planning.explored.usage.requests == 3
    assert result.planning.usage.requests == 4
    attempts = sum(attempt.usage.requests for step in result.steps for attempt in step.attempts)
    assert result.cost.calls == 4 + attempts


def test_its_calls_are_told_journaled_and_a_task_run_of_their_own() -> None:
    with having(Orchestrator(wanted=1), shelf=counting(three)):
        result = run(explore=3)
    folder = RunFolder.of(result.flow_run_id)
    heard = [line for line in folder.lines("events.jsonl") if line["kind"] in ("exploring", "tool")]
    assert [(line["kind"], line.get("outcome")) for line in heard] == [
        ("exploring", None),
        ("tool", "started"),
        ("tool", "returned"),
    ]
    assert {(line["step"], line["attempt"]) for line in heard} == {("", 0)}
    assert heard[0]["calls"] == 3
    (journal,) = (folder.folder / "calls").iterdir()
    assert journal.name.startswith("explore-")
    names = task_runs(result.flow_run_id, least=3)
    assert "Orchestrator, explore" in names
    assert "Plan, orchestrator" in names


def test_it_is_offered_only_tools_that_change_nothing() -> None:
    orchestrator = Orchestrator(wanted=1)
    shelf = FunctionToolset[None](
        [Tool(three, name="count"), Tool(three, name="sell", metadata=marked(acting=True))]
    )
    with having(orchestrator, shelf=shelf):
        run(explore=3, toolsets=("shelf",))
    assert orchestrator.offered == ["count"]


def test_a_person_is_not_asked_about_it() -> None:
    with having(Orchestrator(wanted=1), shelf=counting(three)):
        result = run(explore=1, approve=("tools",))
    assert result.status == "completed"


def test_without_tools_it_is_refused_before_a_model_is_asked() -> None:
    orchestrator = Orchestrator()
    with having(orchestrator), pytest.raises(InputError, match="no tools to explore with"):
        run(explore=1, toolsets=())
    assert orchestrator.asked_to_look == 0
    assert orchestrator.read == []


def test_a_plan_that_is_given_needs_no_look() -> None:
    orchestrator = Orchestrator()
    plan = TaskIR.from_items("Read {item}", ["a", "b"])
    with having(orchestrator, shelf=counting(three)):
        result = run(plan, explore=2)
    assert orchestrator.offered == []
    assert result.planning.explored is None


def test_without_explore_the_planner_is_asked_as_ever() -> None:
    orchestrator = Orchestrator()
    with having(orchestrator, shelf=counting(three)):
        result = run()
    assert orchestrator.asked_to_look == 0
    assert result.planning.explored is None
    assert "notes" not in orchestrator.read[0]


def test_a_look_that_comes_to_nothing_costs_the_plan_its_notes_alone() -> None:
    orchestrator = Orchestrator(wanted=1, notes="")
    with having(orchestrator, shelf=counting(three)):
        result = run(explore=1)
    assert result.status == "completed"
    assert result.planning.explored
    assert result.planning.explored.notes == ""
    assert result.planning.explored.problem
    assert "notes" not in orchestrator.read[0]


def test_a_look_that_the_budget_has_no_room_for_is_not_made() -> None:
    orchestrator = Orchestrator()
    with having(orchestrator, shelf=counting(three)), pytest.raises(Exception, match="tokens"):
        run(explore=1, max_tokens=20)
    assert orchestrator.asked_to_look == 0


def test_a_run_that_is_resumed_after_its_look_makes_no_second_one() -> None:
    made: list[str] = []

    def count(what: str) -> str:
        made.append(what)
        return f"3 of {what}"

    class Refusing(Orchestrator):
        def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            if info.output_tools and not self.read:
                self.read.append("")
                return ModelResponse([TextPart("I can't help with that.")])
            return super().__call__(messages, info)

    orchestrator = Refusing(wanted=1)
    with having(orchestrator, shelf=counting(count)):
        with pytest.raises(NoPlanError):
            run(explore=1)
        (folder,) = RunFolder.of("x").folder.parent.iterdir()
        result = asyncio.run(resume(folder.name))
    assert made == ["kind 0"]
    assert orchestrator.asked_to_look == 2
    assert result.planning.explored
    assert result.planning.explored.notes == "There are ['3 of kind 0']."
    assert "There are" in orchestrator.read[1]


def test_what_was_found_is_kept_before_the_plan_is_asked_for() -> None:
    found: list[dict[str, Any]] = []

    class Broken(Orchestrator):
        def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            if info.output_tools:
                (path,) = RunFolder.of("x").folder.parent.glob("*/explored.json")
                found.append(json.loads(path.read_text()))
            return super().__call__(messages, info)

    with having(Broken(wanted=1), shelf=counting(three)):
        run(explore=1)
    assert found[0]["exploration"]["notes"] == "There are ['3 of kind 0']."
    assert found[0]["task_run"]
