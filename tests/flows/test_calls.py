"""Steps that are calls: made once, without a model, with values of earlier outputs."""

from __future__ import annotations

import re
from typing import Any

import pytest
from flow_runs import run, steps_of
from ledger import Ledger, booking, plan_of_calls
from prefect_swarm import override_toolsets
from prefect_swarm.errors import PlanError
from prefect_swarm.plan.task_ir import TaskIR
from prefect_swarm.store.result import RunFailedError, SwarmResult

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")


def run_with(ledger: Ledger, plan: TaskIR, **options: Any) -> SwarmResult:
    with override_toolsets(ledger=ledger.toolset()):
        return run(plan, memory=False, **options)


def test_a_call_has_its_arguments_from_earlier_outputs_and_takes_nothing() -> None:
    ledger = Ledger()
    later = booking("S2", "S1", amount={"$output": "S1/amount"}, note={"$output": "S1/id"})
    result = run_with(ledger, plan_of_calls(booking("S1", amount=5), later))
    assert ledger.calls == ["post 5", "post 5 B1"]
    assert (result.status, result.answer) == ("completed", '{"id":"B2","amount":5}')
    assert (result.cost.calls, result.cost.tokens) == (0, 0)
    [attempt] = steps_of(result)["S2"].attempts
    assert [(call.tool, call.arguments) for call in attempt.calls] == [
        ("post", '{"amount": 5, "note": "B1"}')
    ]
    assert result.undone == ()


def test_it_is_made_for_each_item_with_values_of_the_item() -> None:
    ledger = Ledger()
    rows = [{"sum": 1, "for": "tea"}, {"sum": 2, "for": "milk"}]
    step = booking("S1", undo=False, amount={"$item": "/sum"}, note={"$item": "/for"})
    result = run_with(ledger, plan_of_calls(step | {"for_each": {"items": rows}}))
    assert sorted(ledger.calls) == ["post 1 tea", "post 2 milk"]
    assert result.status == "completed"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"amount": -1}, "post of ledger failed: no amount is below 0"),
        ({"amount": "much"}, "post of ledger failed: .*valid integer"),
        ({"amount": {"$output": "S1/none"}}, "the output of S1 has nothing at /none"),
    ],
)
def test_one_that_fails_is_not_made_again(arguments: dict[str, Any], why: str) -> None:
    ledger = Ledger()
    plan = plan_of_calls(
        booking("S1", amount=5, undo=False), booking("S2", "S1", undo=False, **arguments)
    )
    result = run_with(ledger, plan)
    assert ledger.calls == ["post 5"]
    assert result.status == "partial"
    assert re.search(why, result.problem)


def test_a_result_that_is_not_what_the_plan_expects_fails() -> None:
    ledger = Ledger()
    step = booking("S1", amount=5)
    step["call"]["expect"] = {"at": "/amount", "over": 10}
    with pytest.raises(RunFailedError, match="the plan expects: /amount"):
        run_with(ledger, plan_of_calls(step))


def test_a_tool_that_is_not_there_is_named_with_those_that_are() -> None:
    step = booking("S1", amount=5, undo=False)
    step["call"]["tool"] = "pay"
    with pytest.raises(RunFailedError, match=r"no tool pay.* post, reverse"):
        run_with(Ledger(), plan_of_calls(step))


def test_a_toolset_that_is_not_there_is_refused_before_anything_runs() -> None:
    with pytest.raises(PlanError, match="unknown toolset 'ledger'"):
        run(plan_of_calls(booking("S1", amount=5)), memory=False)
