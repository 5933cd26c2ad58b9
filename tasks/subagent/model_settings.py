"""How a model is asked to sample an answer. Pure."""

from __future__ import annotations

from typing import cast

from pydantic_ai.settings import ThinkingLevel

from ...blocks.llama.model import LlamaCppSettings
from .early_abort import watch
from .request import SubagentRequest

__all__ = ["settings_of"]


def settings_of(request: SubagentRequest, *, is_local: bool) -> LlamaCppSettings:
    """Return the settings of a request; a model that isn't local reads the common ones.

    A provider is sent nothing that nobody set. A local model writes JSON and answers of a given
    form under a grammar.
    """
    settings = LlamaCppSettings(llamacpp_watch=watch(request.output))
    if request.seed_is_set or is_local:
        settings["seed"] = request.seed
    if request.max_output_tokens is not None:
        settings["max_tokens"] = request.max_output_tokens
    if request.top_p is not None:
        settings["top_p"] = request.top_p
    if request.thinking is not None:
        settings["thinking"] = cast("ThinkingLevel", request.thinking)
    if request.priority:
        settings["llamacpp_priority"] = request.priority
    if request.output != "text":
        # Code has to say its names again and again: of 26 small functions, eight samples each, the
        # embedded model gets 14 right without a penalty and 9 with it.
        settings["llamacpp_repeat_penalty"] = 1.0
    if request.grammar:
        settings["llamacpp_grammar"] = request.grammar
    elif request.output == "json" and request.output_schema:
        settings["llamacpp_json_schema"] = request.output_schema
    if request.temperature is not None:
        settings["temperature"] = request.temperature
    return settings
