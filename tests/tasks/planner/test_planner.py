"""A model decides which planner it has, whatever it is wrapped in."""

from __future__ import annotations

import asyncio
import json

from prefect_swarm.models.remote import AgentModel
from prefect_swarm.tasks.planner.conversation import PlanContext
from prefect_swarm.tasks.planner.planners import StructuredPlanner
from prefect_swarm.tasks.planner.task import planner_for
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel
from scripted_local import ScriptedModel

PLAN = {
    "create_subagent": [{"name": "Pilot", "system_prompt": "You know harbours."}],
    "assign_task": [{"agent": "Pilot", "prompt": "Walk the harbour."}],
}


def test_an_agent_on_a_model_file_plans_under_the_grammar_without_its_instructions() -> None:
    model = ScriptedModel(json.dumps(PLAN))
    agent = Agent(model, instructions="Answer like a captain.")
    planner = planner_for(AgentModel(agent, model))
    draft = asyncio.run(planner.plan("Say what the harbour needs", PlanContext()))
    assert [step.prompt for step in draft.plan.steps] == ["Walk the harbour."]
    assert "captain" not in model.prompts[0]
    assert "llamacpp_grammar" in model.settings_of_requests[0]


def test_an_agent_on_a_providers_model_plans_by_a_tool() -> None:
    model = TestModel()
    assert isinstance(planner_for(AgentModel(Agent(model), model)), StructuredPlanner)
