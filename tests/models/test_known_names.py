"""A model that is named without its provider is offered behind it."""

from __future__ import annotations

import pytest
from prefect_swarm.errors import InputError
from prefect_swarm.models.known_names import names_like
from prefect_swarm.models.remote import remote_model

KNOWN = (
    "anthropic:claude-a",
    "anthropic:claude-b",
    "gateway/openai:gpt-4",
    "hoster:claude-a",
    "hoster:gpt-4",
    "hoster:llama-3",
    "openai-chat:gpt-4",
    "openai:gpt-4",
    "openai:gpt-4-mini",
    "test",
)


@pytest.mark.parametrize(
    ("name", "offered"),
    [
        ("gpt-4", ("openai:gpt-4",)),
        ("GPT-9", ("openai:gpt-9",)),
        ("claude-a", ("anthropic:claude-a",)),
        ("claude-c", ("anthropic:claude-c",)),
        ("llama-3", ("hoster:llama-3",)),
        ("opnai:gpt-9", ("openai:gpt-9",)),
        ("nothing-like-it", ()),
        ("", ()),
        ("42", ()),
        ("zzz:gpt-4", ()),
    ],
)
def test_who_makes_a_model_is_offered(name: str, offered: tuple[str, ...]) -> None:
    assert names_like(name, KNOWN) == offered


def test_the_error_offers_the_name_with_its_provider() -> None:
    with pytest.raises(
        InputError, match=r"There is no model 'gpt-5'\. Did you mean openai:gpt-5\?"
    ):
        remote_model("gpt-5")
