"""A step whose agent has tools waits for the plan: what a tool does can't be undone."""

from __future__ import annotations

from typing import Any

import pytest
from prefect_swarm import override_toolsets
from provider_runs import planned, serving
from pydantic_ai.toolsets import FunctionToolset
from streamed_plans import AGENTS, LAST_PIECES, OBJECTIVE, TASKS, Streaming, kinds, steps_asked

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")


def test_a_step_whose_agent_has_tools_is_not_asked_ahead() -> None:
    shopper = {"name": "Shopper", "system_prompt": "You look prices up.", "tools": ["shop"]}
    tasks: list[dict[str, Any]] = [{**TASKS[0], "agent": "Shopper"}, *TASKS[1:]]
    plan = {"create_subagent": [*AGENTS, shopper], "assign_task": tasks}
    reply = Streaming(plan, waits_before=LAST_PIECES + 2)
    with serving(reply) as server, override_toolsets(shop=FunctionToolset[None]()):
        result = planned(server, OBJECTIVE)
    assert result.status == "completed"
    assert len(steps_asked(server.asked)) == len(TASKS)
    happened = kinds(result)
    assert happened.index(("started", "S2")) < happened.index(("planned", ""))
    assert happened.index(("planned", "")) < happened.index(("started", "S1"))
