"""An agent answers in a model's place, and plans as its model does."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest
from prefect_swarm.errors import InputError, ModelError
from prefect_swarm.models.remote import AgentModel, model_of
from prefect_swarm.tasks.task_runs import usage_of
from pydantic_ai import Agent
from pydantic_ai.direct import model_request
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings

PLAN = ModelRequestParameters(output_object=OutputObjectDefinition(json_schema={}))


@dataclass
class Recorder:
    """Gives these answers in turn, and keeps what it is asked."""

    answers: list[ModelResponse]
    asked: list[list[ModelMessage]] = field(default_factory=list[list[ModelMessage]])
    infos: list[AgentInfo] = field(default_factory=list[AgentInfo])

    def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        # The agent goes on with the same list.
        self.asked.append([*messages])
        self.infos.append(info)
        return self.answers[len(self.asked) - 1]


def weigh(thing: str) -> str:
    """Weigh a thing."""
    return f"{thing} weighs 2 kg"


def asking(
    agent: Agent[None, str],
    *messages: ModelMessage,
    parameters: ModelRequestParameters | None = None,
) -> ModelResponse:
    model = AgentModel(agent, model_of(agent))
    asked = model_request(
        model,
        messages,
        model_settings=ModelSettings(max_tokens=9),
        model_request_parameters=parameters,
    )
    return asyncio.run(asked)


def user(text: str, instructions: str | None = None) -> ModelRequest:
    return ModelRequest([UserPromptPart(text)], instructions=instructions)


def test_what_goes_before_the_last_message_is_its_history() -> None:
    recorder = Recorder([ModelResponse([TextPart("and four")])])
    agent = Agent(FunctionModel(recorder))
    answer = asking(agent, user("count"), ModelResponse([TextPart("one")]), user("go on"))
    assert answer.text == "and four"
    (asked,) = recorder.asked
    assert [type(message) for message in asked] == [ModelRequest, ModelResponse, ModelRequest]


def test_its_own_instructions_and_those_of_the_request_are_sent() -> None:
    recorder = Recorder([ModelResponse([TextPart("yes")])])
    agent = Agent(FunctionModel(recorder), instructions="You weigh.")
    asking(agent, user("Is it heavy?", instructions="Be brief."))
    assert (recorder.infos[0].instructions or "").split("\n\n") == ["You weigh.", "Be brief."]


def test_the_settings_of_the_request_come_before_its_own() -> None:
    recorder = Recorder([ModelResponse([TextPart("yes")])])
    settings = ModelSettings(max_tokens=5, temperature=0.5)
    asking(Agent(FunctionModel(recorder), model_settings=settings), user("Is it heavy?"))
    assert recorder.infos[0].model_settings == {"max_tokens": 9, "temperature": 0.5}


def test_its_answer_counts_every_request_it_made() -> None:
    call = ModelResponse([ToolCallPart("weigh", {"thing": "A brick"})])
    recorder = Recorder([call, ModelResponse([TextPart("2 kg")], finish_reason="length")])
    answer = asking(Agent(FunctionModel(recorder), tools=[weigh]), user("How heavy is a brick?"))
    assert usage_of([answer]).requests == 2
    assert answer.finish_reason == "length"


def test_a_plan_is_its_models_with_its_settings_and_without_its_tools() -> None:
    recorder = Recorder([ModelResponse([TextPart("a plan")])])
    settings = ModelSettings(temperature=0.5)
    agent = Agent(
        FunctionModel(recorder), tools=[weigh], instructions="You weigh.", model_settings=settings
    )
    asking(agent, user("Plan", instructions="You plan."), parameters=PLAN)
    (info,) = recorder.infos
    assert info.function_tools == []
    assert info.instructions == "You plan."
    assert info.model_settings == {"max_tokens": 9, "temperature": 0.5}


def test_its_model_is_the_object_that_it_was_given() -> None:
    mine = TestModel()
    assert model_of(Agent(mine)) is mine


def test_its_models_name_is_looked_up_as_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = Agent("openai:gpt-5", defer_model_check=True)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    assert model_of(agent).model_name == "gpt-5"
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(ModelError, match="OPENAI_API_KEY"):
        model_of(agent)


def test_without_a_model_it_is_refused() -> None:
    with pytest.raises(InputError, match="The agent without a name has no model"):
        model_of(Agent())
