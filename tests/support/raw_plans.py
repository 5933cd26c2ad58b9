"""Plans as they are written, before anything is checked."""

from __future__ import annotations

from typing import Any

import pytest
from prefect_swarm.errors import PlanError
from prefect_swarm.plan.task_ir import PlanRules, parse_plan

__all__ = ["plan", "problem", "step"]


def step(number: int, *needs: int, **fields: Any) -> dict[str, Any]:
    given = {"id": f"S{number}", "agent": "Ann", "prompt": f"Do part {number}"}
    return given | {"depends_on": [f"S{needed}" for needed in needs]} | fields


def plan(*steps: dict[str, Any], **fields: Any) -> dict[str, Any]:
    agents = [{"name": "Ann", "system_prompt": "You are careful."}]
    return {"objective": "Do it", "agents": agents, "steps": list(steps or [step(1)])} | fields


def problem(data: object, rules: PlanRules | None = None) -> str:
    with pytest.raises(PlanError) as caught:
        parse_plan(data, rules)
    return caught.value.problem
