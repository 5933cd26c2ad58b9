"""Finding out before a run starts whether its models are served."""

from __future__ import annotations

import asyncio
from typing import Any

from pydantic_ai.direct import model_request
from pydantic_ai.exceptions import ModelAPIError, ModelContextWindowExceededError
from pydantic_ai.messages import ModelRequest
from pydantic_ai.models import Model
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

from ..errors import ContextTooSmallError, ModelError, UnavailableError
from ..host.certificates import CA_FIX, certificate_problem
from ..host.url_secrets import masked_urls
from .agent import AgentModel
from .answers.provider_errors import words_of
from .limiter.faults import fault_of
from .limiter.model import provider_name

__all__ = ["check_served", "refusal"]

_TIMEOUT_S = 10.0


async def check_served(model: Model, *, probe: bool) -> None:
    """Ask a provider whether it takes the key and has the model; of several, one has to be served.

    What can't be found out so is left to the first request.

    Args:
        model: A model of any kind; a model file is not looked at.
        probe: Whether a request of one token may be sent where the provider doesn't list its
            models.

    Raises:
        ModelError: The provider refuses the key, has no such model or can't be reached; says it in
            the provider's words.
    """
    if isinstance(model, AgentModel):
        # A probe would run the agent, and its tools.
        model = model.wrapped
    if isinstance(model, FallbackModel):
        found = await asyncio.gather(
            *(check_served(each, probe=probe) for each in model.models), return_exceptions=True
        )
        if all(isinstance(outcome, ModelError) for outcome in found):
            raise next(outcome for outcome in found if isinstance(outcome, ModelError))
        return
    client: Any = getattr(_provider_model(model), "client", None)
    if client is not None and not await _is_listed(model, client) and probe:
        await _ask_for_a_token(model)


def refusal(model: Model, error: ModelAPIError) -> ModelError:
    """Return what to tell a user of a provider that refuses for good or can't be reached."""
    fault = fault_of(error)
    provider = provider_name(_provider_model(model))
    words = words_of(error)
    name = error.model_name or model.model_name
    if isinstance(error, ModelContextWindowExceededError):
        return ContextTooSmallError(
            f"The request does not fit {name} at {provider}: {words}.",
            "Give it less to read (max_input_tokens, fewer files), bound its answer "
            "(max_output_tokens), or use a model with a larger context or rate limit.",
        )
    if problem := certificate_problem(error):
        return ModelError(
            f"{provider} can't be asked for {model.model_name}: the certificate of its server "
            f"isn't accepted: {problem}.",
            CA_FIX,
        )
    match fault.kind if fault else "":
        case "denied":
            return ModelError(
                f"{provider} refuses {name}: {words}.",
                "Check the key and the account it belongs to.",
            )
        case "unknown":
            return ModelError(
                f"{provider} has no model {name!r}: {words}.",
                "Check the model's name and the address.",
            )
        case "busy" | "down" | "broken":
            return UnavailableError(
                f"{provider} can't serve {name}: {words}.",
                "Check that it is up, and its address.",
            )
        case _:
            return ModelError(
                f"{provider} refuses the request to {name}: {words}.",
                "Check the model's name and its settings.",
            )


async def _is_listed(model: Model, client: Any) -> bool:
    """Whether the provider's list of models says that it has this one."""
    try:
        import openai
    except ImportError:
        return False
    if not isinstance(client, openai.AsyncOpenAI):
        return False
    try:
        listed: object = await client.models.retrieve(model.model_name, timeout=_TIMEOUT_S)
    except openai.APITimeoutError:
        return False
    except openai.APIConnectionError as error:
        is_unknown = bool(certificate_problem(error))
        raise UnavailableError(
            f"{masked_urls(str(client.base_url))} can't be reached for {model.model_name}: "
            f"{error.__cause__ or error}.",
            CA_FIX if is_unknown else "Check the address, and that the server is up.",
        ) from None
    except (openai.OpenAIError, ValueError):
        # That route alone may refuse the key, or be a web page: a request for an answer finds out.
        return False
    return bool(getattr(listed, "id", None))


async def _ask_for_a_token(model: Model) -> None:
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            await model_request(
                model,
                [ModelRequest.user_text_prompt("Hi")],
                model_settings=ModelSettings(max_tokens=1),
            )
    except TimeoutError:
        return  # The first request finds out, with more patience.
    except ModelAPIError as error:
        fault = fault_of(error)
        if fault and fault.kind in ("denied", "unknown", "broken"):
            raise refusal(model, error) from None


def _provider_model(model: Model) -> Model:
    while isinstance(model, WrapperModel):
        model = model.wrapped
    return model
