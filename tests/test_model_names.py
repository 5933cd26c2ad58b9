"""What the name of a tier's model says."""

from __future__ import annotations

import pytest
from prefect_swarm.errors import InputError
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.model_names import model_names, servers_of, with_key

MINE = "openai:big@https://mine.example/v1"


def test_a_comma_ends_a_name_only_where_another_begins() -> None:
    assert model_names("openai:a,anthropic:b, demo") == ("openai:a", "anthropic:b", "demo")
    assert model_names("llamacpp:/models/a,b.gguf") == ("llamacpp:/models/a,b.gguf",)


def test_a_model_is_named_once() -> None:
    with pytest.raises(InputError, match="repeat"):
        model_names("openai:a,openai:a")


def test_a_servers_key_is_put_behind_its_names_alone() -> None:
    assert with_key(f"{MINE},openai:gpt-5", "KEY") == f"{MINE}#KEY,openai:gpt-5"
    assert with_key(f"{MINE}#OTHER", "KEY") == f"{MINE}#OTHER"
    assert with_key(MINE, None) == MINE


def test_a_server_is_a_scheme_and_a_host() -> None:
    assert servers_of(f"{MINE},openai:gpt-5") == {"https://mine.example"}


def test_a_plans_own_model_gets_the_key_at_the_servers_of_the_options_alone() -> None:
    options = SwarmOptions(model=MINE, key_env="KEY")
    assert options.model_of("worker") == f"{MINE}#KEY"
    small = MINE.replace("big", "small")
    assert options.named(small) == f"{small}#KEY"
    for elsewhere in ("openai:x@https://evil.example/v1", "openai:x@http://mine.example/v1"):
        assert options.named(elsewhere) == elsewhere
