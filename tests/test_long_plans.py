"""A plan of more steps than any run has is refused in a time that grows as it does."""

from __future__ import annotations

from typing import Any

import pytest
from growth import growth
from prefect_swarm.plan.task_ir import TaskIR
from prefect_swarm.tasks.subagent.answer import abort_reason
from pydantic import ValidationError


def plan(steps: int, before: int) -> dict[str, Any]:
    return {
        "objective": "Compare",
        "agents": [{"name": "Reader", "system_prompt": "You read."}],
        "steps": [
            {
                "id": f"S{n}",
                "agent": "Reader",
                "prompt": "Read",
                "depends_on": [f"S{m}" for m in range(max(1, n - before), n)],
            }
            for n in range(1, steps + 1)
        ],
    }


def refuse(written: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="steps are more than the limit"):
        TaskIR.model_validate(written)


@pytest.mark.attack("load")
@pytest.mark.parametrize("before", [0, 1, 20], ids=["none", "chain", "many"])
def test_a_plan_of_ten_thousand_steps_is_refused_fast(before: int) -> None:
    refuse(plan(10_000, before))
    assert growth(lambda n: refuse(plan(n, before)), 500) < 9


@pytest.mark.attack("load")
@pytest.mark.parametrize("text", ["\n", "word ", "a line of text\n", "```\n", "f("])
def test_a_look_at_a_text_that_is_written_costs_the_same_however_long_it_is(text: str) -> None:
    short, long = (abort_reason(text * n + "end", "json") for n in (10_000, 40_000))
    assert short == long
    assert growth(lambda n: abort_reason(text * n + "end", "text"), 10_000, below=3) < 3
