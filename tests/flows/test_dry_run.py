"""In a dry run tools that act write down what they were to do, and nothing is done."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from flow_runs import plan_of
from ledger import Ledger, booking, plan_of_calls
from prefect_swarm import SwarmOptions, override_toolsets
from prefect_swarm.flows.dry_run import DryRun, dry_run
from prefect_swarm.plan.task_ir import TaskIR
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.toolsets import FunctionToolset

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")


def tried(ledger: Ledger, plan: TaskIR, **options: Any) -> DryRun:
    with override_toolsets(ledger=ledger.toolset()):
        return asyncio.run(dry_run(plan, SwarmOptions(memory=False, **options)))


def calls(done: DryRun) -> list[tuple[str, str, str]]:
    return [(each.call.step, each.call.words, each.undo) for each in done.calls]


def test_calls_are_written_down_with_what_would_undo_them() -> None:
    ledger = Ledger()
    strict = booking("S2", "S1", amount=2, note={"$output": "S1/id"}, undo=False)
    strict["call"]["expect"] = {"at": "/amount", "under": 6}
    done = tried(ledger, plan_of_calls(booking("S1", amount=1), strict))
    assert done.result.status == "completed", done.result.problem
    assert ledger.calls == []
    assert calls(done) == [
        (
            "S1",
            'ledger.post {"amount": 1}',
            'ledger.reverse {"booking": "(what S1 returns at /id)"}',
        ),
        ("S2", 'ledger.post {"amount": 2, "note": "(what S1 returns at /id)"}', ""),
    ]


def test_a_value_that_only_the_call_would_return_fits_any_parameter() -> None:
    ledger = Ledger()
    after = booking("S2", "S1", amount={"$output": "S1/amount"})
    done = tried(ledger, plan_of_calls(booking("S1", amount=1), after))
    assert done.result.status == "completed", done.result.problem
    assert len(done.calls) == 2


def test_an_argument_that_does_not_fit_is_found() -> None:
    ledger = Ledger()
    done = tried(ledger, plan_of_calls(booking("S1", amount=1), booking("S2", amount="much")))
    assert "'much' is not of type 'integer'" in done.result.problem
    # It failed, so that what was done would be undone.
    assert [words for _, words, _ in calls(done)] == [
        'ledger.post {"amount": 1}',
        'ledger.reverse {"booking": "(what S1 returns at /id)"}',
    ]
    assert ledger.calls == []


def test_instances_are_written_down_each_with_its_item() -> None:
    each = booking("S1", amount={"$item": ""}) | {"for_each": {"items": [1, 2]}}
    done = tried(Ledger(), plan_of_calls(each))
    assert sorted(words for _, words, _ in calls(done)) == [
        'ledger.post {"amount": 1}',
        'ledger.post {"amount": 2}',
    ]


def test_tools_that_read_are_called_and_those_of_an_agent_are_written_down() -> None:
    read: list[str] = []

    def balance(of: str) -> str:
        """Look up a balance."""
        read.append(of)
        return "3"

    reads = FunctionToolset[None]([balance])

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        made = sum(isinstance(message, ModelResponse) for message in messages)
        wanted = [("balance", {"of": "rent"}), ("post", {"amount": 3})]
        if made < len(wanted):
            name = next(t.name for t in info.function_tools if t.name.endswith(wanted[made][0]))
            return ModelResponse([ToolCallPart(name, wanted[made][1])])
        return ModelResponse([TextPart("Rent is booked.")])

    ledger = Ledger()
    agents = [{"name": "Clerk", "system_prompt": "You book.", "tools": ["ledger", "reads"]}]
    plan = plan_of({"id": "S1", "agent": "Clerk", "prompt": "Book the rent."}, agents=agents)
    with override_toolsets(reads=reads):
        done = tried(ledger, plan, model=FunctionModel(answer))
    assert done.result.status == "completed", done.result.problem
    assert (read, ledger.calls) == (["rent"], [])
    assert calls(done) == [("S1", 'ledger.post {"amount": 3, "note": ""}', "")]


def test_nobody_is_asked_and_it_counts_for_no_procedure() -> None:
    plan = plan_of_calls(booking("S1", amount=1)).model_copy(update={"procedure": "weekly@1"})
    done = tried(Ledger(), plan, approve=("acting", "tools", "plan"))
    assert done.result.status == "completed"
    assert done.result.plan.procedure == ""
    assert done.result.plan.objective.startswith("Dry run: ")
