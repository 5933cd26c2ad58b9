"""A model that is given in Python is known by a name."""

from __future__ import annotations

import re

from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.models.names import model_names, register_model, registered_model
from pydantic_ai import Agent
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.test import TestModel


def named(name: str) -> TestModel:
    return TestModel(model_name=name)


def test_a_name_says_what_it_stands_for() -> None:
    assert re.fullmatch(r"python:gpt-5#[0-9a-f]{8}", register_model(named("gpt-5")))
    assert register_model(Agent(named("gpt-5"), name="Reader")).startswith("python:Reader#")
    assert register_model(Agent(named("gpt-5"))).startswith("python:agent#")


def test_a_name_leads_back_to_its_model_alone() -> None:
    first, second = named("gpt-5"), named("gpt-5")
    assert registered_model(register_model(first)) is first
    assert registered_model(register_model(second)) is second


def test_a_name_is_one_whatever_the_model_is_called() -> None:
    several = FallbackModel(named("llama3:8b"), named("qwen:7b"))
    for model in (several, named("a, demo"), Agent(name="Reads, openai:gpt-5")):
        name = register_model(model)
        assert model_names(name) == (name,)
        assert model_names(f"{name},openai:gpt-5") == (name, "openai:gpt-5")


def test_options_keep_names_which_json_can_hold() -> None:
    model, agent = named("gpt-5"), Agent(named("gpt-5"))
    options = SwarmOptions(worker=model, orchestrator=agent)
    stored = options.model_dump_json()
    assert SwarmOptions.model_validate_json(stored) == options
    assert options.model_of("worker") == register_model(model)
    assert options.model_of("orchestrator") == register_model(agent)
    assert options.model_of("coder") == "demo"


def test_options_print_a_models_name() -> None:
    model = named("gpt-5")
    assert f"worker={register_model(model)!r}" in repr(SwarmOptions(worker=model))


def test_a_given_models_name_takes_no_key() -> None:
    model = named("gpt-5@http://localhost:8000/v1")
    options = SwarmOptions(model=model, key_env="MY_KEY")
    assert registered_model(options.model_of("worker")) is model
