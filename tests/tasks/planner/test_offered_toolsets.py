"""A planner is shown the toolsets that agents may have, and may write no others."""

from __future__ import annotations

import json
from typing import Any

import pytest
from grammar_reader import GrammarReader
from prefect_swarm.errors import PlanError
from prefect_swarm.plan.task_ir import PlanRules
from prefect_swarm.tasks.planner.conversation import instructions
from prefect_swarm.tasks.planner.facts import (
    PlanningFacts,
    TierFact,
    ToolFact,
    ToolsetFact,
    toolset_fact,
)
from prefect_swarm.tasks.planner.facts_text import facts_text
from prefect_swarm.tasks.planner.grammar import plan_grammar, plan_shape
from prefect_swarm.tasks.planner.planned import WrittenPlan, plan_schema
from prefect_swarm.tasks.planner.task import PlanRequest, _key
from pydantic_ai.tools import ToolDefinition

NOTHING = PlanRules(max_steps=3, toolsets=frozenset())
OFFERED = NOTHING._replace(toolsets=frozenset({"time", "web"}))
TIERS = (TierFact(tiers=("worker",), model="m"),)
TIME = ToolsetFact(
    name="time",
    about="What time it is.",
    tools=(ToolFact(name="time_now", about="Give the time."), ToolFact(name="time_zones")),
    more_tools=3,
)


def plan(**agent: Any) -> dict[str, Any]:
    return {
        "create_subagent": [{"name": "A", "system_prompt": "You look.", "tier": "worker", **agent}],
        "assign_task": [{"agent": "A", "prompt": "Look", "depends_on": []}],
    }


def test_a_toolset_is_shown_with_its_tools_between_gates_and_personas() -> None:
    text = facts_text(PlanningFacts(tiers=TIERS, toolsets=(TIME,))).text
    assert text.endswith(
        "Toolsets that agents may have, and their tools; what these say is their makers':\n"
        "- time: “What time it is.”\n"
        "  time_now: “Give the time.”\n"
        "  time_zones\n"
        "  and 3 more"
    )


def test_of_a_toolset_that_has_no_room_the_names_are_shown() -> None:
    many = tuple(ToolFact(name=f"t{n}", about="x" * 100) for n in range(12))
    facts = PlanningFacts(toolsets=(ToolsetFact(name="big", tools=many),))
    text = facts_text(facts, 150).text
    assert "- big (t0, t1, " in text
    assert "xxx" not in text


def test_without_toolsets_nothing_is_said_of_them() -> None:
    assert "oolset" not in facts_text(PlanningFacts(tiers=TIERS)).text
    assert instructions(NOTHING) == instructions(PlanRules(max_steps=3))
    assert plan_shape(NOTHING) == plan_shape(PlanRules(max_steps=3))
    assert plan_grammar(NOTHING) == plan_grammar(PlanRules(max_steps=3))
    assert "tools" not in json.dumps(plan_schema(inputs=True))


def test_the_schema_has_the_names_that_there_are() -> None:
    schema = plan_schema(inputs=False, toolsets=frozenset({"web", "time"}))
    tools = schema["$defs"]["Subagent"]["properties"]["tools"]
    assert tools["items"]["enum"] == ["time", "web"]


def test_planners_are_told_to_give_the_fewest() -> None:
    text = instructions(OFFERED)
    assert text.startswith(instructions(NOTHING))
    assert "Give each the fewest" in text
    assert text.endswith("Toolsets there are: time, web.")
    assert '"tools"' in plan_shape(OFFERED)


@pytest.mark.parametrize(
    ("rules", "agent", "admitted"),
    [
        (OFFERED, {"tools": ["time"]}, True),
        (OFFERED, {"tools": ["web", "time"]}, True),
        (OFFERED, {}, True),
        (OFFERED, {"tools": ["documents"]}, False),
        (NOTHING, {"tools": ["time"]}, False),
        (NOTHING, {}, True),
    ],
)
def test_a_model_file_writes_no_other_name(
    rules: PlanRules, agent: dict[str, Any], *, admitted: bool
) -> None:
    text = json.dumps(plan(**agent))
    assert GrammarReader().accepts(plan_grammar(rules), text) is admitted


def test_what_is_written_is_the_agents() -> None:
    written = WrittenPlan.model_validate(plan(tools=["time"])).plan("Look", OFFERED)
    assert written.agents[0].tools == ("time",)
    with pytest.raises(PlanError, match="unknown toolset 'documents'; there are time, web"):
        WrittenPlan.model_validate(plan(tools=["documents"])).plan("Look", OFFERED)


def test_what_is_shown_of_a_toolset_is_bounded() -> None:
    tools = {f"t{n}": ToolDefinition(name=f"t{n}", description="long " * 200) for n in range(20)}
    fact = toolset_fact("big", "about " * 100, tools)
    assert (len(fact.tools), fact.more_tools) == (12, 8)
    assert max(len(fact.about), *(len(tool.about) for tool in fact.tools)) <= 160


def key(facts: PlanningFacts | None, **changes: Any) -> str:
    request = PlanRequest(run="r", objective="o", model="m", max_steps=3, facts=facts, **changes)
    # Prefect hands the context over, which the key doesn't depend on.
    return _key(None, {"request": request.model_dump(mode="json")})  # pyright: ignore[reportArgumentType]


def test_the_key_hangs_on_the_toolsets_that_a_plan_may_name() -> None:
    described_anew = TIME.model_copy(update={"about": "says what time it is, anywhere"})
    with_time = key(PlanningFacts(tiers=TIERS, toolsets=(TIME,)))
    assert with_time != key(PlanningFacts(tiers=TIERS))
    assert with_time == key(PlanningFacts(tiers=TIERS, toolsets=(described_anew,)))


def test_what_the_memory_knew_that_day_is_not_in_the_key() -> None:
    assert key(PlanningFacts(tiers=TIERS)) == key(PlanningFacts()) == key(None)
    assert key(None, notes="the shop is closed") == key(None)


def test_what_is_asked_is_in_the_key() -> None:
    assert key(None) == "r.plan.a0f3753ce5d43d2f"
    assert len({key(None), key(None, seed=1), key(None, begun="1."), key(None, tier="coder")}) == 4
