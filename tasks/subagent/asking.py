"""Ask a model what a request says, and say in our own errors what a provider answers instead."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

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
    UserPromptPart,
)
from pydantic_ai.models import Model

from ...blocks.answers.provider_errors import words_of
from ...blocks.limiter.faults import fault_of
from ...blocks.local import local_model
from ...blocks.preflight import refusal
from ...blocks.traced import tracing_of
from ...errors import (
    ContextTooSmallError,
    EmptyOutputError,
    RefusedError,
    SwarmError,
    UnavailableError,
)
from .answer_checks import GO_ON
from .request import SubagentRequest, prompt_of
from .request_settings import settings_of

__all__ = ["ask", "own_errors"]

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
    messages = _conversation(request, is_local=is_local)
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


def _conversation(request: SubagentRequest, *, is_local: bool) -> list[ModelMessage]:
    """Return the messages; a model file goes on with an answer itself, others are asked to."""
    asked = ModelRequest(
        parts=[UserPromptPart(prompt_of(request))], instructions=request.instructions
    )
    if not request.begun or is_local:
        return [asked]
    goes_on = ModelRequest(parts=[UserPromptPart(GO_ON)], instructions=request.instructions)
    return [asked, ModelResponse([TextPart(request.begun)]), goes_on]


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
