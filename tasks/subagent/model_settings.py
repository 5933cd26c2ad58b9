"""How a model is asked to sample an answer. Pure."""

from __future__ import annotations

from ...blocks.llama.model import LlamaCppSettings
from .early_abort import watch
from .request import Assignment

__all__ = ["settings_of"]


def settings_of(assignment: Assignment) -> LlamaCppSettings:
    """Return the settings of an assignment's call; a model that isn't local reads the common ones.

    JSON and answers of a given form are written under a grammar.
    """
    settings = LlamaCppSettings(
        max_tokens=assignment.max_output_tokens,
        seed=assignment.seed,
        llamacpp_watch=watch(assignment.output),
    )
    if assignment.output != "text":
        # Code has to say its names again and again: of 26 small functions, eight samples each, the
        # embedded model gets 14 right without a penalty and 9 with it.
        settings["llamacpp_repeat_penalty"] = 1.0
    if assignment.grammar:
        settings["llamacpp_grammar"] = assignment.grammar
    elif assignment.output == "json" and assignment.output_schema:
        settings["llamacpp_json_schema"] = assignment.output_schema
    if assignment.temperature is not None:
        settings["temperature"] = assignment.temperature
    return settings
