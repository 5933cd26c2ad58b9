"""Models by their names, as settings and plans write them."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic_ai.direct import model_request
from pydantic_ai.exceptions import ModelAPIError, ModelContextWindowExceededError
from pydantic_ai.messages import ModelRequest
from pydantic_ai.models import Model
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

from ..data_types import specified
from ..errors import (
    ContextTooSmallError,
    InputError,
    ModelError,
    StepTimeoutError,
    UnavailableError,
)
from ..host.network import CA_FIX, certificate_problem
from ..host.secrets import masked_urls, secret_in
from ..host.system import require_llama_cpp
from .answers.provider_errors import words_of
from .limited_model import LimitedModel, provider_name
from .limiter import ALONE, WITH_FALLBACK, Patience, fault_of
from .names import (
    FREE,
    PYTHON,
    Price,
    Profile,
    RegisteredModel,
    look_up,
    model_names,
    refuse_secrets,
    registered_model,
)
from .remote import (
    MODEL_FORMS,
    AgentModel,
    forget_all,
    key_from,
    model_of,
    models_of_loop,
    remote_model,
)
from .request_context import current_request, request_context

if TYPE_CHECKING:
    from .llama.model import LlamaCppModel

__all__ = [
    "MODEL_FORMS",
    "check_served",
    "forget_models",
    "local_model",
    "override_models",
    "planner_adapter_of",
    "price_of",
    "profile_of",
    "refusal",
    "resolve_model",
    "takes_pictures",
]


def local_model(model: Model) -> LlamaCppModel | None:
    """Return the model file that a model is or wraps; None if it asks a provider."""
    while isinstance(model, WrapperModel):
        model = model.wrapped
    from .llama.model import LlamaCppModel

    return model if isinstance(model, LlamaCppModel) else None


@contextmanager
def override_models(
    *,
    worker: RegisteredModel | None = None,
    coder: RegisteredModel | None = None,
    architect: RegisteredModel | None = None,
    orchestrator: RegisteredModel | None = None,
) -> Generator[None]:
    """Put a model or an agent in a tier's place for the code inside, whatever the settings name.

    Example:
        ```python
        with override_models(worker=TestModel(), orchestrator=my_model):
            await swarm("...")
        ```
    """
    models = specified(worker=worker, coder=coder, architect=architect, orchestrator=orchestrator)
    with request_context(overrides={**current_request().overrides, **models}):
        yield


async def resolve_model(name: str, tier: str) -> Model:
    """The model of a name, made once for this event loop.

    Requests to a provider go through its limiter. Where the name has several models, the first one
    serves, and the next one where that one can't.

    Args:
        name: One of `MODEL_FORMS`, or several of them with commas between.
        tier: The tier it is for; a model that `override_models` gave it comes first.

    Raises:
        InputError: The name has none of the forms, or is local and llama.cpp is not installed.
        ModelError: It is well-formed, but the file, block, key or package is missing, or a run of
            another event loop is using it.
    """
    models = models_of_loop()
    override = current_request().overrides.get(tier)
    # What is made holds the override, whose identity is therefore its own for as long.
    key = name if override is None else id(override)
    if key not in models.made:
        try:
            made = await _make_models(name) if override is None else _limited(override)
        except ModelError as error:
            raise type(error)(f"Tier {tier}: {error.problem}", error.fix) from None
        except InputError as error:
            raise InputError(f"Tier {tier}: {error.problem}", error.fix) from None
        # Two calls may have made it at the same time; all use the first.
        models.made.setdefault(key, made)
    return await models.enter(models.made[key])


def planner_adapter_of(name: str) -> Path | None:
    """The adapter that the model of a name plans with, as far as its name tells.

    None for a remote model, a block, and a model that can't be loaded.
    """
    kind, _, path = name.partition(":")
    try:
        if name == "demo" or (kind == "llamacpp" and path):
            return _local_model(path or None).planner_adapter
    except (InputError, ModelError):
        pass  # `resolve_model` reports what is wrong.
    return None


def forget_models() -> None:
    """Drop all models, so that edited blocks are read again."""
    forget_all()


async def _make_models(text: str) -> Model:
    refuse_secrets(text)
    names = model_names(text)
    if len(names) == 1:
        return _limited(await _make_model(names[0]))
    made = [await _make_model(name) for name in names]
    patient = [_limited(model, WITH_FALLBACK) for model in made[:-1]]
    return FallbackModel(
        *patient, _limited(made[-1]), fallback_on=(ModelAPIError, ModelError, StepTimeoutError)
    )


async def _make_model(name: str) -> RegisteredModel:
    if name == "demo":
        return _local_model(None)
    if name.startswith(PYTHON):
        return registered_model(name)
    kind, _, rest = name.partition(":")
    if kind == "llamacpp" and rest:
        return _local_model(rest)
    if kind == "block":
        return await _load_from_block(rest)
    model, at, base_url = name.partition("@")
    if at and "://" in base_url:
        base_url, _, variable = base_url.partition("#")
        key = key_from(variable, name) if variable else None
        return remote_model(model, base_url=base_url, api_key=key)
    return remote_model(name)


def _limited(model: RegisteredModel, patience: Patience = ALONE) -> Model:
    """Send what asks a provider through the provider's limiter."""
    if not isinstance(model, Model):
        return AgentModel(model, _limited(model_of(model), patience))
    if isinstance(model, FallbackModel):
        return _with_limited(model)
    if isinstance(model, LimitedModel) or local_model(model):
        return model
    if what := secret_in(str(model.base_url or "")):
        # pydantic-ai writes the address into each answer.
        raise InputError(
            f"The address of the model {model.model_name!r} has {what}.",
            "Give its key to its provider, as api_key.",
        )
    return LimitedModel(_readable(model), patience)


def _readable(model: Model) -> Model:
    """Return a model that reads what compatible servers send, if it asks one."""
    if not type(model).__module__.startswith("pydantic_ai.models.openai"):
        return model
    from .answers.compatible import compatible

    return compatible(model)


def _with_limited(model: FallbackModel) -> FallbackModel:
    """Return a model of Python's that asks several in turn, each through its limiter."""
    *first, last = model.models
    limited = copy(model)
    limited.models = [*(_limited(each, WITH_FALLBACK) for each in first), _limited(last)]
    # The identity of what was given stands for this one.
    vars(limited)["original"] = model
    return limited


def _local_model(path: str | None) -> LlamaCppModel:
    from .llama.gguf import demo_model_path
    from .llama.model import LlamaCppModel

    require_llama_cpp(demo=path is None)
    return LlamaCppModel(path or demo_model_path())


async def _load_from_block(reference: str) -> Model:
    from prefect.blocks.core import Block, UnknownBlockType

    slug, _, block_name = reference.partition("/")
    if not slug or not block_name:
        raise InputError(
            f"The model block:{reference} is not a block's name.",
            "Write block:TYPE/NAME, such as block:llama-cpp/my-model.",
        )
    try:
        block: Any = await Block.aload(reference)
    except (ValueError, UnknownBlockType) as error:
        raise ModelError(
            f"There is no model block:{reference}: {error}.",
            f"Create the block {block_name!r} in the Prefect UI, or see `prefect block ls`.",
        ) from None
    if not callable(getattr(block, "get_model", None)):
        raise InputError(
            f"The block {reference} is not a model.", "Name a llama-cpp or swarm-model block."
        )
    return block.get_model()


def takes_pictures(model: Model) -> bool:
    """Say whether a model can be shown pictures: no model file can.

    Of a provider's models pydantic-ai knows which can't, and of some the name says it; a
    swarm-model block and a model given in Python say it themselves. Of models that stand in for
    one another each has to.
    """
    if isinstance(model, FallbackModel):
        return all(map(takes_pictures, model.models))
    return local_model(model) is None and bool(model.profile.get("supports_image_input", True))


def profile_of(model: Model) -> Profile:
    """Return a model's profile.

    A model file's follows from the file and the machine. A provider's has no bound of ours but
    what fits its context, where pydantic-ai knows that: three quarters of it are for what a step
    reads. Of models that stand in for one another the smallest context counts, and the first one's
    figures else.
    """
    if isinstance(model, FallbackModel):
        first, *others = map(profile_of, model.models)
        every = (first, *others)
        read = [each.max_input_tokens for each in every if each.max_input_tokens]
        sizes = [each.context_tokens for each in every if each.context_tokens]
        smallest = {
            "max_input_tokens": min(read, default=None),
            "context_tokens": min(sizes, default=None),
        }
        return first.model_copy(update={**smallest, "takes_pictures": takes_pictures(model)})
    if (local := local_model(model)) is not None:
        return local.limits.model_copy(update={"takes_pictures": False})
    context = model.context_window
    return Profile(
        context_tokens=context,
        max_input_tokens=context * 3 // 4 if context else None,
        takes_pictures=takes_pictures(model),
    )


def price_of(model: Model) -> Price | None:
    """Return the price of a model, the highest where several stand in for one another.

    None where the table doesn't have it.
    """
    if isinstance(model, FallbackModel):
        prices = [price_of(each) for each in model.models]
        known = [price for price in prices if price is not None]
        if len(known) < len(prices):
            return None
        return Price(max(p.input_usd for p in known), max(p.output_usd for p in known))
    if local_model(model) is not None:
        return FREE
    return look_up(model.model_name, model.system, model.base_url)


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
