"""Parts of a model's name."""

from __future__ import annotations

import pytest
from prefect_swarm.errors import InputError
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.models.names import (
    is_variable,
    model_names,
    refuse_secrets,
    servers_of,
    with_key,
)

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


SECRET_NAMES = (
    "openai:big@https://user:hunter2@host.example/v1",
    "openai:big@https://hunter2@host.example/v1",
    "openai:big@user:hunter2@host.example/v1",
    "openai:big@https://user:hunter2/3@host.example/v1",
    "openai:big@https://user:a,b:hunter2@host.example/v1",
    "openai:big@https://user:a, b:hunter2@host.example/v1",
    "openai:big@https://host.example/v1?api_key=hunter2",
    "openai:big@https://host.example/v1?key=hunter2#KEY",
    "openai:big@https://host.example/v1#sk-hunter2",
    "openai:big@https://host.example/v1#gsk_hunter2hunter2hunter2",
    "openai:big@https://host.example/v1#AKIAIOSFODNN7HUNTER2",
    "openai:big@https://host.example/v1#access_token=hunter2",
    "openai:big@ftp://user:hunter2@host.example/v1",
    "anthropic:small,openai:big@https://user:hunter2@host.example/v1",
    "https://user:hunter2@host.example/v1",
)


@pytest.mark.attack("private")
@pytest.mark.parametrize("name", SECRET_NAMES)
def test_a_password_or_key_in_a_name_is_refused_and_not_repeated(name: str) -> None:
    with pytest.raises(InputError) as caught:
        refuse_secrets(name)
    assert "hunter2" not in f"{caught.value.problem} {caught.value.fix}".lower()
    assert "#VARIABLE" in caught.value.fix


@pytest.mark.parametrize(
    "name",
    [
        "demo",
        "openai:gpt-5",
        f"{MINE}#MY_KEY_2",
        f"{MINE},openai:gpt-5",
        "llamacpp:/models/a@b#1.gguf",
        "block:swarm-model/mine",
        "python:scripted#12ab34cd",
        "openai:big@http://[::1]:8000/v1?max_tokens=5",
        "bedrock:us.anthropic.claude@latest",
    ],
)
def test_a_name_without_a_secret_is_taken(name: str) -> None:
    refuse_secrets(name)


def test_a_key_is_no_variable() -> None:
    taken = ("KEY", "OPENAI_API_KEY", "_x", "TEAM_2_KEY", "my_local_server_key_2")
    assert all(map(is_variable, taken))
    keys = ("sk-abc", "hf_abcdefghij0123456789", "0123456789abcdef", "", "A B")
    assert not any(map(is_variable, keys))


@pytest.mark.attack("private")
def test_a_server_is_shown_without_who_asks_it() -> None:
    assert servers_of("openai:m@https://user:hunter2@mine.example/v1") == {"https://mine.example"}
