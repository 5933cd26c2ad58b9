"""Steps that act and that nothing undoes are found at any depth, and named."""

from __future__ import annotations

from typing import Any

from ledger import booking, plan_of_calls
from prefect_swarm.plan.compile import CompiledPlan, compile_plan
from prefect_swarm.plan.irreversible import (
    IrreversibleStep,
    find_irreversible,
    irreversible_words,
)
from prefect_swarm.plan.task_ir import parse_plan

ACTING = {"ledger": ("post", "reverse"), "mail": ("send",)}


def plan_of_agents(tools: list[str], *steps: dict[str, Any]) -> CompiledPlan:
    agents = [{"name": "Clerk", "system_prompt": "You post.", "tools": tools}]
    return compile_plan(parse_plan({"objective": "Post", "agents": agents, "steps": [*steps]}))


def test_a_call_that_acts_is_found_unless_it_names_an_undo() -> None:
    plan = compile_plan(plan_of_calls(booking("S1", amount=1), booking("S2", undo=False, amount=2)))
    assert find_irreversible(plan.steps, ACTING) == (
        IrreversibleStep("S2", ("ledger.post",), True),
    )


def test_a_call_of_a_tool_that_only_reads_is_not() -> None:
    plan = compile_plan(plan_of_calls(booking("S1", undo=False, amount=1)))
    assert find_irreversible(plan.steps, {"ledger": ("reverse",)}) == ()


def test_an_agent_may_call_each_tool_that_acts() -> None:
    step = {"id": "S1", "agent": "Clerk", "prompt": "Post it."}
    found = find_irreversible(plan_of_agents(["ledger"], step).steps, ACTING)
    assert found == (IrreversibleStep("S1", ("ledger.post", "ledger.reverse"), False),)
    assert irreversible_words(found) == (
        "Nothing undoes what these steps do: S1 (may call ledger.post, ledger.reverse)."
    )


def test_an_agent_without_tools_that_act_is_not_found() -> None:
    step = {"id": "S1", "agent": "Clerk", "prompt": "Look it up."}
    assert find_irreversible(plan_of_agents(["web"], step).steps, ACTING) == ()


def test_steps_inside_steps_are_found_by_their_ids_in_the_run() -> None:
    inner = {"plan": {"steps": [booking("S1", undo=False, amount=1)]}}
    plan = compile_plan(plan_of_calls({"id": "S2", **inner}))
    assert [each.step for each in find_irreversible(plan.steps, ACTING)] == ["S2.S1"]


def test_long_lists_are_shown_in_part_and_counted() -> None:
    steps = [IrreversibleStep(f"S{number}", ("mail.send",), True) for number in range(1, 9)]
    assert irreversible_words(steps, most=2) == (
        "Nothing undoes what these steps do: S1 (mail.send), S2 (mail.send) and 6 more steps."
    )
    many = [IrreversibleStep("S1", ("a.b", "a.c", "a.d"), False)]
    assert irreversible_words(many, most=2).endswith("S1 (may call a.b, a.c and 1 more tool).")


def test_of_no_steps_nothing_is_said() -> None:
    assert irreversible_words(()) == ""
