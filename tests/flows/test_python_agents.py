"""Agents in a model's place: their tools, settings and instructions are used."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from flow_runs import plan_of
from prefect_swarm import SwarmOptions, SwarmResult, TaskIR, swarm
from prefect_swarm.errors import InputError, ModelError
from prefect_swarm.store.result import RunFailedError
from provider_server import Asked, ProviderServer, Reply, provider_server
from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.settings import ModelSettings
from python_models import made_by_hand

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

PLAN = plan_of({"id": "S1"})
DRAFT: dict[str, Any] = {
    "create_subagent": [{"name": "Reader", "system_prompt": "You read."}],
    "assign_task": [
        {"agent": "Reader", "prompt": "Find it out"},
        {"agent": "Reader", "prompt": "Find something else"},
    ],
}
SERVED = ("strong-model",)
ONCE = SwarmOptions(memory=False, max_attempts=1)


class Thermometer:
    """A tool that keeps what it is asked."""

    def __init__(self) -> None:
        self.cities: list[str] = []

    def temperature(self, city: str) -> str:
        """Read the temperature of a city."""
        self.cities.append(city)
        return f"21 degrees in {city}"


def offered(asked: Asked) -> list[str]:
    return [tool["function"]["name"] for tool in asked.body.get("tools") or []]


def results_of_tools(asked: Asked) -> list[str]:
    return [message["content"] for message in asked.body["messages"] if message["role"] == "tool"]


def looks_up(asked: Asked) -> Reply:
    """Call the tool, and answer from its result."""
    if "temperature" not in offered(asked):
        return Reply("no tool")
    found = results_of_tools(asked)
    return Reply(f"It is {found[0]}.") if found else Reply(tool_args={"city": "Oslo"})


def run(
    agent: Agent[Any, Any],
    server: ProviderServer,
    *,
    plan: TaskIR | None = PLAN,
    options: SwarmOptions = ONCE,
    orchestrator: Agent[Any, Any] | None = None,
) -> SwarmResult:
    swarming = swarm(
        "Find out",
        plan=plan,
        options=options,
        model=server.name(),
        worker=agent,
        orchestrator=orchestrator,
    )
    return asyncio.run(swarming)


class TestAsWorker:
    @pytest.fixture
    def tool(self) -> Thermometer:
        return Thermometer()

    def agent(self, server: ProviderServer, tool: Thermometer) -> Agent[None, str]:
        return Agent(
            made_by_hand(server),
            instructions="Use the thermometer.",
            tools=[tool.temperature],
            model_settings=ModelSettings(temperature=0.3, max_tokens=77),
        )

    def test_its_tool_is_called_and_what_it_gives_is_sent_back(self, tool: Thermometer) -> None:
        with provider_server(looks_up, models=SERVED) as server:
            result = run(self.agent(server, tool), server)
            first, second = server.asked
        assert tool.cities == ["Oslo"]
        assert offered(first) == ["temperature"]
        assert results_of_tools(second) == ["21 degrees in Oslo"]
        assert result.answer == "It is 21 degrees in Oslo."

    def test_both_instructions_are_sent(self, tool: Thermometer) -> None:
        with provider_server(looks_up, models=SERVED) as server:
            run(self.agent(server, tool), server)
            texts = "\n".join(server.asked[0].texts)
        assert "Use the thermometer." in texts
        assert "You read closely." in texts
        assert "do S1" in texts

    def test_its_settings_are_sent_where_the_run_sets_none(self, tool: Thermometer) -> None:
        options = SwarmOptions(memory=False, max_output_tokens=55)
        with provider_server(looks_up, models=SERVED) as server:
            run(self.agent(server, tool), server, options=options)
            body = server.asked[0].body
        assert body["temperature"] == 0.3
        assert body.get("max_completion_tokens", body.get("max_tokens")) == 55

    def test_all_its_requests_are_counted(self, tool: Thermometer) -> None:
        with provider_server(looks_up, models=SERVED) as server:
            result = run(self.agent(server, tool), server)
        (attempt,) = result.steps[0].attempts
        usage = attempt.usage
        assert (usage.requests, usage.input_tokens, usage.output_tokens) == (2, 200, 100)
        assert result.cost.calls == 2

    def test_it_is_not_run_to_find_out_whether_its_model_is_served(self, tool: Thermometer) -> None:
        with provider_server(looks_up) as server:
            run(self.agent(server, tool), server)
            asked = [offered(each) for each in server.asked if each.prompt == "Hi"]
        assert tool.cities == ["Oslo"]
        assert asked
        assert not any(asked)

    def test_a_tool_that_breaks_fails_the_step_and_says_why(self) -> None:
        def temperature(city: str) -> str:
            """Read the temperature of a city."""
            raise ConnectionError(f"no thermometer in {city}")

        with provider_server(looks_up, models=SERVED) as server:
            agent = Agent(made_by_hand(server), tools=[temperature])
            with pytest.raises(RunFailedError, match="no thermometer in Oslo"):
                run(agent, server)

    def test_what_has_a_type_becomes_json(self) -> None:
        class Weather(BaseModel):
            city: str
            degrees: int

        def report(asked: Asked) -> Reply:
            return Reply(tool_args={"city": "Oslo", "degrees": "21"})

        with provider_server(report, models=SERVED) as server:
            result = run(Agent(made_by_hand(server), output_type=Weather), server)
        assert json.loads(result.answer) == {"city": "Oslo", "degrees": 21}

    def test_an_answer_that_is_cut_off_is_gone_on_with(self) -> None:
        def cut(asked: Asked) -> Reply:
            if len(asked.texts) > 2:
                return Reply("the second half.")
            return Reply("It begins with the first half and ", finish_reason="length")

        with provider_server(cut, models=SERVED) as server:
            options = SwarmOptions(memory=False)
            result = run(Agent(made_by_hand(server)), server, options=options)
        assert result.answer == "It begins with the first half and the second half."


class TestWithoutAModel:
    def test_an_agent_without_a_model_is_refused(self) -> None:
        with provider_server(looks_up) as server, pytest.raises(InputError) as caught:
            run(Agent(name="Reader"), server)
        assert caught.value.problem == "Tier worker: The agent Reader has no model."

    def test_an_agent_whose_model_lacks_a_key_says_so(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        agent = Agent("openai:gpt-5", defer_model_check=True)
        with (
            provider_server(looks_up) as server,
            pytest.raises(ModelError, match=r"Tier worker: .*OPENAI_API_KEY"),
        ):
            run(agent, server)


class TestAsOrchestrator:
    def test_its_model_is_asked_for_the_plan_without_its_tools(self) -> None:
        tool = Thermometer()

        def answer(asked: Asked) -> Reply:
            if offered(asked) == ["write_plan"]:
                return Reply(tool_args=DRAFT)
            return looks_up(asked)

        with provider_server(answer, models=SERVED) as server:
            agent = Agent(
                made_by_hand(server),
                instructions="Use the thermometer.",
                tools=[tool.temperature],
                model_settings=ModelSettings(temperature=0.3),
            )
            worker = Agent(made_by_hand(server))
            result = run(worker, server, orchestrator=agent, plan=None)
            plan = server.asked[0]
        assert offered(plan) == ["write_plan"]
        assert "Use the thermometer." not in "\n".join(plan.texts)
        assert plan.body["temperature"] == 0.3
        assert [step.prompt for step in result.plan.steps] == ["Find it out", "Find something else"]
        assert result.answer == "It is 21 degrees in Oslo."
        assert tool.cities == ["Oslo"]
