"""From a request of pydantic-ai to the engine's."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import cast

from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings

from ....errors import InputError
from ...profile import Profile
from ..api import GenerateRequest
from ..messages import to_chat
from ..schemas import schema_grammar
from ..tools.render import Style
from ..tools.turn import turn_grammar
from .offered import OfferedTools
from .settings import LlamaCppSettings

__all__ = ["to_request"]


def to_request(
    messages: Sequence[ModelMessage],
    instructions: str,
    settings: ModelSettings,
    parameters: ModelRequestParameters,
    limits: Profile,
    offered: OfferedTools,
    style: Style,
) -> GenerateRequest:
    """Make the engine's request.

    Args:
        messages: The history.
        instructions: What stands before it.
        settings: The request's settings, over the model's.
        parameters: What the answer may be.
        limits: What an answer may take where the settings don't say.
        offered: The tools that the model reads about.
        style: How the model writes calls.

    Raises:
        InputError: It holds more than text, a value is out of range, or no grammar can be made.
    """
    given = cast("LlamaCppSettings", settings)
    defaults = GenerateRequest
    turn = turn_grammar(
        offered.tools,
        style,
        callable_names=offered.names,
        forced=offered.forced,
        # A forced call is a single one unless somebody wants several.
        several=given.get("parallel_tool_calls", not offered.forced),
        answer=given.get("llamacpp_grammar") or _answer_grammar(given, parameters),
        begun=given.get("llamacpp_begun", ""),
    )
    return GenerateRequest(
        messages=to_chat(messages, instructions),
        tools=offered.tools,
        max_tokens=given.get("max_tokens", limits.max_output_tokens or defaults.max_tokens),
        may_shorten="max_tokens" not in given,
        temperature=given.get("temperature", defaults.temperature),
        top_p=given.get("top_p", defaults.top_p),
        top_k=given.get("top_k", defaults.top_k),
        repeat_penalty=given.get("llamacpp_repeat_penalty", defaults.repeat_penalty),
        seed=given.get("seed"),
        stop=tuple(given.get("stop_sequences", ())),
        grammar=turn.grammar,
        leaves_text=turn.leaves_text,
        begun=given.get("llamacpp_begun", ""),
        watch=given.get("llamacpp_watch"),
        priority=given.get("llamacpp_priority", 0.0),
        deadline=_deadline(given),
    )


def _deadline(given: LlamaCppSettings) -> float | None:
    seconds = given.get("timeout")
    return time.monotonic() + seconds if isinstance(seconds, int | float) else None


def _answer_grammar(given: LlamaCppSettings, parameters: ModelRequestParameters) -> str | None:
    """What an answer is held to; what it allows beyond a schema is for the caller to refuse."""
    if parameters.output_object is not None:
        return schema_grammar(json.dumps(parameters.output_object.json_schema))
    if (schema := given.get("llamacpp_json_schema")) is None:
        return None
    try:
        return schema_grammar(schema)
    except InputError:
        # Without a grammar the prompt still has the schema in words.
        return None
