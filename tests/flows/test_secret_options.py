"""Options with a password in a model's address are refused before anything stores them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from prefect_swarm.blocks import ModelProvider
from prefect_swarm.cli.command import failure_of
from prefect_swarm.cli.options import options_from
from prefect_swarm.errors import InputError
from prefect_swarm.flows.batch import swarm_batch
from prefect_swarm.flows.options import SwarmOptions, stored_options
from prefect_swarm.flows.python import swarm
from prefect_swarm.flows.swarm import swarm as swarm_flow
from prefect_swarm.models.remote import remote_model
from prefect_swarm.models.resolve import override_models, resolve_model
from prefect_swarm.store.event_log import from_line, to_line
from prefect_swarm.store.events import SpentEvent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

URL = "https://user:hunter2@host.example/v1"
NAME = f"openai:big@{URL}"


def by_hand() -> OpenAIChatModel:
    return OpenAIChatModel("big", provider=OpenAIProvider(base_url=URL, api_key="key"))


async def overridden() -> None:
    with override_models(worker=by_hand()):
        await resolve_model("demo", "worker")


WAYS: dict[str, Callable[[], Any]] = {
    "command": lambda: options_from({"model": NAME}),
    "command-tier": lambda: options_from({"orchestrator": NAME}),
    "command-key": lambda: options_from({"key_env": "sk-hunter2hunter2"}),
    "command-key-like-a-name": lambda: options_from({"key_env": "gsk_hunter2hunter2hunter2"}),
    "python": lambda: asyncio.run(swarm("Do it", model=NAME)),
    "flow": lambda: asyncio.run(swarm_flow("Do it", options=SwarmOptions(worker=NAME))),
    "batch": lambda: asyncio.run(swarm_batch("/a", "/b", options=SwarmOptions(coder=NAME))),
    "resolved": lambda: asyncio.run(resolve_model(NAME, "worker")),
    "model-of-python": lambda: asyncio.run(overridden()),
    "base-url": lambda: remote_model("openai:big", base_url=URL),
    "block": lambda: ModelProvider(model="openai:big", base_url=URL),
}


@pytest.mark.attack("private")
@pytest.mark.parametrize("way", WAYS)
def test_it_is_refused_and_not_repeated(
    way: str, swarm_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise AssertionError("a server is asked")

    monkeypatch.setattr("prefect_swarm.flows.prefect_io.schema_flow.ensure_server", fail)
    with pytest.raises(InputError) as caught:
        WAYS[way]()
    shown = json.dumps(failure_of(caught.value).to_json())
    assert "hunter2" not in shown
    assert not list(swarm_home.glob("runs/*"))


def test_the_options_of_an_older_run_can_be_read_and_changed() -> None:
    stored = stored_options({"model": NAME})
    with pytest.raises(InputError):
        stored.refuse_secrets()
    stored.model_copy(update={"model": "demo"}).refuse_secrets()


@pytest.mark.attack("private")
def test_an_older_runs_events_are_read_without_it() -> None:
    line = to_line(SpentEvent(model="MODEL")).replace("MODEL", NAME)
    event = from_line(line.encode())
    assert event is not None
    assert "hunter2" not in to_line(event)
    assert "host.example" in to_line(event)


@pytest.mark.attack("private")
@pytest.mark.parametrize("error", [InputError, RuntimeError])
def test_an_error_that_names_it_is_shown_without_it(error: type[Exception]) -> None:
    assert "hunter2" not in failure_of(error(f"{URL} can't be reached.")).problem
