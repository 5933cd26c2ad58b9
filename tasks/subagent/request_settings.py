"""Settings of a subagent's request: sampling, form of the output, limits. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import cast

from pydantic_ai.settings import ThinkingLevel

from ...models.llama.asking import LlamaCppSettings
from ...plan.output import Form, Output
from .answer import watch
from .request import SubagentRequest

__all__ = ["form_grammar", "output_requirements", "settings_of"]


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


_FORMS: dict[Form, str] = {
    "one_line": "Answer with one line.",
    "number": "Answer with one number, a unit at most beside it.",
    "yes_no": "Begin the answer with yes or no.",
    "list": "Answer with a list, each entry on a line of its own behind `- `.",
    "table": "Answer with a Markdown table.",
}


def output_requirements(output: Output) -> tuple[str, ...]:
    """Return a sentence for each bound of an output beyond its kind and schema."""
    sentences = [
        f"For example, `{example.call}` gives {_value(example.gives)}."
        for example in output.examples
    ]
    if output.form:
        sentences.append(_FORMS[output.form])
    if output.sections:
        sentences.append(f"Use these headings, in this order: {', '.join(output.sections)}.")
    if output.min_words is not None:
        sentences.append(f"Write at least {output.min_words} words.")
    if output.max_words is not None:
        sentences.append(f"Write at most {output.max_words} words.")
    if output.citations:
        sentences.append("Cite what you read by its name in square brackets, such as [S1].")
    return tuple(sentences)


def _value(value: object) -> str:
    return (
        f"`{value!r}`" if isinstance(value, str | int | float | bool) else f"`{json.dumps(value)}`"
    )


_LINE = r"[^\n\r]"
_GRAMMARS: Mapping[Form, str] = MappingProxyType(
    {
        "one_line": rf"root ::= {_LINE}+",
        "number": r'root ::= "-"? [0-9]{1,15} ("." [0-9]{1,15})?',
        "yes_no": rf'root ::= ("Yes" | "yes" | "No" | "no") ([.,] {_LINE}*)?',
        "list": r'root ::= entry ("\n" entry)*' + "\n" + rf'entry ::= "- " {_LINE}+',
    }
)
"""Each admits only what the `form` gate lets pass. A table is left to the model."""


def form_grammar(output: Output) -> str:
    """Return GBNF for the form that an output has to have, "" where it has none to be held to."""
    return _GRAMMARS.get(output.form, "") if output.form else ""
