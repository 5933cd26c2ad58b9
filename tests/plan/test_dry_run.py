"""What calls return that a dry run writes down in place of making them."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from ledger import booking, plan_of_calls
from prefect_swarm.plan.call import PlannedCall, filled_call
from prefect_swarm.plan.dry_run import DryPlan, dry_plan, plain_id
from prefect_swarm.plan.output import StepOutput
from prefect_swarm.plan.pointers import pointer_of
from prefect_swarm.plan.task_ir import parse_plan

ACTING = {"ledger": ("post", "reverse")}


def dry(*steps: dict[str, Any]) -> DryPlan:
    return dry_plan(plan_of_calls(*steps), ACTING)


def reading(step: str, *needs: str, **arguments: Any) -> dict[str, Any]:
    call = {"toolset": "ledger", "tool": "balance", "arguments": arguments}
    return {"id": step, "depends_on": [*needs], "output": {"kind": "json"}, "call": call}


def test_a_call_returns_each_value_that_another_one_takes_of_it() -> None:
    after = booking("S2", "S1", amount={"$output": "S1/total/net"}, undo=False)
    made = dry(booking("S1", amount=1), after)
    assert json.loads(made.results["S1"]) == {
        "id": "(what S1 returns at /id)",
        "total": {"net": "(what S1 returns at /total/net)"},
    }
    assert "(what S1 returns at /id)" in made.marks


def test_its_undo_has_these_values_too() -> None:
    made = dry(booking("S1", amount=1), booking("S2", amount=2, undo=False))
    assert made.undo == {"S1": 'ledger.reverse {"booking": "(what S1 returns at /id)"}'}


def test_nothing_is_asked_of_the_result_of_a_call_that_acts() -> None:
    strict = booking("S1", amount=1)
    strict["call"]["expect"] = {"at": "/amount", "under": 6}
    strict["output"]["schema"] = {"type": "object", "required": ["amount"]}
    (step,) = dry(strict).plan.steps
    assert step.call is not None
    assert (step.call.expect, step.output.json_schema) == (None, None)


def test_a_call_that_reads_is_as_it_was_unless_it_needs_what_another_returns() -> None:
    needs = reading("S3", "S1", of={"$output": "S1/id"})
    made = dry(booking("S1", amount=1), reading("S2", of="rent"), needs)
    assert {*made.results} == {"S1", "S3"}


def test_steps_inside_steps_are_written_down_by_their_ids_in_the_plan() -> None:
    inner = {"id": "S1", "plan": {"steps": [booking("S1", amount=1, undo=False)]}, "pool": "gpu"}
    made = dry(inner)
    assert {*made.results} == {"S1.S1"}
    assert made.plan.steps[0].pool is None
    assert [plain_id(name) for name in ("S1[7].S1", "S2r3", "S1-undo")] == [
        "S1.S1",
        "S2",
        "S1-undo",
    ]


names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=4)


@given(st.lists(st.lists(names, min_size=1, max_size=3).map(pointer_of), max_size=5))
def test_every_value_that_is_taken_is_there(pointers: list[str]) -> None:
    taken = {"all": [{"$output": f"S1{pointer}"} for pointer in pointers]}
    steps = booking("S1", amount=1, undo=False), reading("S2", "S1", **taken)
    made = dry_plan(parse_plan({"objective": "o", "steps": [*steps]}), ACTING)
    call = PlannedCall.model_validate(steps[1]["call"])
    output = StepOutput(name="S1", kind="json", text=made.results["S1"])
    assert len(filled_call(call, [output], None).arguments["all"]) == len(pointers)
