"""A run's pages, graph and time show the turns of its orchestrator."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from flow_runs import task_runs
from prefect.client.schemas.objects import TaskRunResult
from prefect_swarm.report.page import RunView
from prefect_swarm.report.run_html import folder_html
from prefect_swarm.report.stored_view import view_of
from prefect_swarm.store.result import SwarmResult
from prefect_swarm.store.runs import find_run
from provider_runs import planned, serving
from provider_server import Asked, Reply

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

OBJECTIVE = "Which harbour of the ledger has the most cranes?"
PLAN: dict[str, Any] = {
    "create_subagent": [{"name": "Reader", "system_prompt": "You read ledgers."}],
    "assign_task": [
        {"agent": "Reader", "prompt": "Name the harbours.", "depends_on": []},
        {"agent": "Reader", "prompt": "Explain cranes.", "depends_on": []},
    ],
}
TURNS: dict[int, Any] = {
    2: {
        "assign_task": [{"agent": "Reader", "prompt": "Count in Ghent.", "depends_on": []}],
        "look_after": [3],
    },
    3: "Ghent.",
}


def reply(asked: Asked) -> Reply:
    if "write_plan" in json.dumps(asked.body.get("tools") or ""):
        return Reply(tool_args={**PLAN, "look_after": [1, 2]})
    if found := re.search(r"^Turn (\d+)\.", asked.prompt, re.MULTILINE):
        turn = TURNS[int(found[1])]
        return Reply(turn if isinstance(turn, str) else json.dumps(turn))
    return Reply(f"Found: {asked.prompt.splitlines()[-1]}")


def answer_at_once(asked: Asked) -> Reply:
    if "write_plan" in json.dumps(asked.body.get("tools") or ""):
        return Reply(tool_args=PLAN)
    return Reply("Ghent.")


def run_in_turns() -> tuple[SwarmResult, RunView]:
    with serving(reply) as server:
        result = planned(server, OBJECTIVE, turns=6)
    assert result.status == "completed", result.problem
    return result, view_of(find_run(result.run_id))


def test_a_run_shows_its_turns_and_what_waiting_for_the_orchestrator_cost() -> None:
    result, view = run_in_turns()
    second, third = view.turns
    assert (second.number, second.cause, second.steps) == (2, "over", ("S3",))
    assert (third.number, third.finished) == (3, True)
    assert view.began_at < second.began_at < third.began_at
    assert second.tokens > 0
    assert [view.turn_of(name) for name in ("S1", "S2", "S3")] == [1, 1, 2]
    document = folder_html(find_run(result.run_id))
    assert "Assigned in turn 2 of the orchestrator." in document
    assert "assigned S3" in document
    assert result.time is not None
    kinds = result.time.seconds
    assert kinds["orchestrator"] > 0
    assert kinds["answer"] > 0
    # What ended last before the turn is what the step of that turn had waited for.
    assert result.time.path[-1] == "S3"
    assert len(result.time.path) == 2


def test_in_prefect_a_step_of_a_later_turn_comes_after_that_turn() -> None:
    result, _ = run_in_turns()
    runs = task_runs(result.flow_run_id, least=6)
    edges = runs["S3, Reader, attempt 1"].task_inputs["wait_for"]
    before = {str(item.id) for item in edges if isinstance(item, TaskRunResult)}
    assert before == {str(runs["Turn 2, orchestrator"].id)}


@pytest.mark.parametrize("turns", [1, 6])
def test_a_run_without_a_second_turn_has_an_answer_and_no_wait_for_the_orchestrator(
    turns: int,
) -> None:
    with serving(answer_at_once) as server:
        result = planned(server, OBJECTIVE, turns=turns)
    assert result.time is not None
    assert result.time.seconds["answer"] > 0
    assert "orchestrator" not in result.time.seconds
