"""Settings of pydantic-ai in a request to the engine."""

from __future__ import annotations

import time
from typing import Any

from prefect_swarm.models.llama.api import GenerateRequest
from prefect_swarm.models.llama.asking import offered_tools, to_request
from prefect_swarm.models.names import EMBEDDED
from pydantic_ai.messages import ModelRequest, UserPromptPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings


def request_of(**settings: Any) -> GenerateRequest:
    given, parameters = ModelSettings(**settings), ModelRequestParameters()
    messages = [ModelRequest(parts=[UserPromptPart("Hello")])]
    offered = offered_tools(given, parameters)
    return to_request(messages, "", given, parameters, EMBEDDED, offered, "plain")


def test_its_place_in_the_line_is_the_settings() -> None:
    assert request_of(llamacpp_priority=2.5).priority == 2.5
    assert request_of().priority == 0


def test_its_deadline_is_so_many_seconds_from_now() -> None:
    before = time.monotonic()
    deadline = request_of(timeout=60).deadline
    assert deadline is not None
    assert before + 60 <= deadline <= time.monotonic() + 60
    assert request_of().deadline is None
