"""One request to a model: its settings, and what goes wrong with it in our own errors.

Settings are sampling, the form of the output, and limits.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import cast

from pydantic_ai.direct import model_request
from pydantic_ai.exceptions import (
    ContentFilterError,
    FallbackExceptionGroup,
    ModelAPIError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelRequestRejectedError,
    UnexpectedModelBehavior,
)
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.models import Model
from pydantic_ai.settings import ThinkingLevel

from ...errors import (
    ContextTooSmallError,
    EmptyOutputError,
    RefusedError,
    SwarmError,
    UnavailableError,
)
from ...metrics.clock import Stretch
from ...models.answers.provider_errors import words_of
from ...models.limiter import fault_of
from ...models.llama.asking import LlamaCppSettings
from ...models.remote import tracing_of
from ...models.resolve import local_model, refusal
from ...plan.output import Form, Output
from .answer import GO_ON, watch
from .content import content_of
from .request import SubagentRequest

__all__ = [
    "ask",
    "form_grammar",
    "output_requirements",
    "own_errors",
    "queue_s_of",
    "settings_of",
    "waits_of",
]


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
    if output.only:
        sentences.append(f"Change only {', '.join((*output.only, *output.may_change))}.")
    if output.kind == "patch" and not output.may_change:
        sentences.append("Leave the tests that there are as they are; you may add new ones.")
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


_REJECTED = (ModelRequestRejectedError, ModelHTTPError)


async def ask(model: Model, request: SubagentRequest) -> tuple[list[ModelMessage], ModelResponse]:
    """Ask once, as a pydantic-ai agent does that has no tools and no typed output.

    An `Agent` would send the same request, for 3 ms of CPU more: half a Prefect task run.

    Returns:
        What was sent, and the answer.

    Raises:
        SwarmError: The model can't be asked, or its answer is none.
    """
    is_local = local_model(model) is not None
    settings = settings_of(request, is_local=is_local)
    content = await asyncio.to_thread(content_of, model, request)
    messages = _conversation(request, content, is_local=is_local)
    if request.begun and is_local:
        settings["llamacpp_begun"] = request.begun
    with own_errors(model, request):
        response = await model_request(
            model, messages, model_settings=settings, instrument=tracing_of(model)
        )
    return messages, response


@contextmanager
def own_errors(model: Model, request: SubagentRequest) -> Generator[None]:
    """Say in our own errors what goes wrong inside while a model is asked.

    Raises:
        SwarmError: The model can't be asked, or its answer is none.
    """
    try:
        yield
    except FallbackExceptionGroup as group:
        raise _of_all(model, request, group.exceptions) from group
    except (ModelAPIError, UnexpectedModelBehavior) as error:
        raise _translated(model, request, error) from error


def _conversation(
    request: SubagentRequest, content: str | list[UserContent], *, is_local: bool
) -> list[ModelMessage]:
    """Return the messages; a model file goes on with an answer itself, others are asked to."""
    asked = ModelRequest(parts=[UserPromptPart(content)], instructions=request.instructions)
    earlier: list[ModelMessage] = []
    for before in request.history:
        earlier.append(
            ModelRequest(parts=[UserPromptPart(before.asked)], instructions=request.instructions)
        )
        earlier.append(ModelResponse([TextPart(before.answered)]))
    if not request.begun or is_local:
        return [*earlier, asked]
    goes_on = ModelRequest(parts=[UserPromptPart(GO_ON)], instructions=request.instructions)
    return [*earlier, asked, ModelResponse([TextPart(request.begun)]), goes_on]


def _of_all(model: Model, request: SubagentRequest, errors: Sequence[Exception]) -> SwarmError:
    """Return one error for models that stand in for one another and all failed: the first's."""
    mine = [
        error if isinstance(error, SwarmError) else _translated(model, request, error)
        for error in errors
    ]
    first, *others = mine
    also = "".join(f" Then: {error.problem}" for error in others)
    return type(first)(f"{first.problem}{also}", first.fix)


def _translated(model: Model, request: SubagentRequest, error: Exception) -> SwarmError:
    match error:
        case ModelContextWindowExceededError():
            return ContextTooSmallError(
                f"The prompt of {request.step} does not fit {error.model_name}: {words_of(error)}.",
                "Set max_input_tokens or max_output_tokens, or use a model with a larger context "
                "or rate limit.",
            )
        case ModelAPIError() if fault_of(error) or isinstance(error, _REJECTED):
            refused = refusal(model, error)
            return UnavailableError(refused.problem, refused.fix)
        case ContentFilterError():
            return RefusedError(
                f"{model.model_name} refused {request.step}: {error.message}",
                "Ask differently, or use another model.",
            )
        case _:
            return EmptyOutputError(
                f"{model.model_name} gave {request.step} no usable answer: {error}",
                "Ask differently, or use another model.",
            )


_LEAST_S = 0.001
"""A shorter wait is none that anybody would look for."""


def queue_s_of(messages: Iterable[ModelMessage], since: float) -> float:
    """Return the seconds that requests waited for a local model's turn.

    Args:
        messages: A conversation; what an earlier process was answered doesn't count.
        since: When the attempt began, in seconds since the Unix epoch.
    """
    return sum(seconds for _, seconds in _turns(messages, since))


def waits_of(
    messages: Iterable[ModelMessage], providers: Sequence[tuple[float, float]], since: float
) -> tuple[Stretch, ...]:
    """Return an attempt's waits, without those too short to matter.

    Args:
        messages: Its conversation.
        providers: Begin and end of its waits for providers.
        since: When it began.
    """
    waits = [
        *(Stretch(kind="provider", started_at=begin, ended_at=end) for begin, end in providers),
        *(
            Stretch(kind="slot", started_at=asked_at, ended_at=asked_at + seconds)
            for asked_at, seconds in _turns(messages, since)
        ),
    ]
    return tuple(wait for wait in waits if wait.seconds >= _LEAST_S)


def _turns(messages: Iterable[ModelMessage], since: float) -> Iterable[tuple[float, float]]:
    """Yield when each request was asked, and how long it waited."""
    for message in messages:
        details = (isinstance(message, ModelResponse) and message.provider_details) or {}
        asked_at = float(details.get("asked_at") or since)
        if asked_at >= since and (seconds := float(details.get("queue_s") or 0.0)) > 0:
            yield asked_at, seconds
