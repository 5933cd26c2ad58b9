"""Remote models, through pydantic-ai."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters, infer_model
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.instrumented import InstrumentationSettings, InstrumentedModel
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.settings import ModelSettings, merge_model_settings
from pydantic_ai.usage import RequestUsage
from pydantic_core import to_json

from ..errors import InputError, ModelError
from ..host.secrets import secret_in
from ..tracing import request_tracing
from .answers.reasoning import NO_TAGS
from .answers.usage import ESTIMATED, bound_answers
from .known_names import suggested_names
from .names import reads_text_alone

__all__ = [
    "MODEL_FORMS",
    "REQUESTS",
    "AgentModel",
    "LoopModels",
    "forget_all",
    "key_from",
    "model_of",
    "models_of_loop",
    "open_models",
    "remote_model",
    "tracing_of",
]


_NO_KEY = "no-key"
"""Sent as the key to a server that gets none, since clients require one."""

MODEL_FORMS = (
    "demo, llamacpp:PATH, block:TYPE/NAME, openai:NAME@http://host:port/v1 (with #VARIABLE behind "
    "it for a key in the environment), or a pydantic-ai name such as anthropic:claude-sonnet-4-5"
)
"""The forms a model's name may have, for messages."""


def remote_model(
    name: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    takes_pictures: bool | None = None,
) -> Model:
    """Make a client for a remote model; nothing is sent before its first request.

    Args:
        name: A pydantic-ai name such as `anthropic:claude-sonnet-4-5`. With a base URL,
            `openai:NAME`, or a NAME without a provider, speaks chat completions with an
            OpenAI-compatible server.
        base_url: Where the service is, if not where its provider says.
        api_key: Its key. Without it, the key in the provider's environment variable is sent to the
            provider's own hosts, and no key to any other.

    Raises:
        InputError: The name or the base URL is not valid.
        ModelError: The provider lacks a key or its package is not installed.
    """
    if base_url and (what := secret_in(base_url)):
        raise InputError(
            f"The base URL of the model {name!r} has {what}.",
            "Put the key into the block's API key, or into an environment variable that #VARIABLE "
            "behind the URL names.",
        )
    if base_url and not base_url.startswith(("http://", "https://")):
        raise InputError(
            f"The base URL {base_url!r} of the model {name!r} is not a web address.",
            "Write it like http://localhost:8000/v1.",
        )
    provider, _, model = name.partition(":")
    if name != "test" and not _is_provider(provider):
        if not base_url:
            offered = " or ".join(suggested_names(name))
            meant = f"Did you mean {offered}? Otherwise name" if offered else "Name"
            raise InputError(f"There is no model {name!r}.", f"{meant} {MODEL_FORMS}.")
        provider, model = "openai", name
    is_own = not base_url or _is_own_host(provider, base_url)
    key = api_key if is_own else api_key or _NO_KEY
    if base_url and provider in ("openai", "openai-chat"):
        made = _openai_compatible(model, base_url, key)
    else:
        made = _known_provider(name, base_url, key)
    _leave_retries_to_the_limiter(made)
    _note_sight(made, takes_pictures)
    _leave_reasoning_to_the_reader(made)
    bound_answers(made)
    return made if is_own and provider.startswith("openai") else _without_organization(made)


def key_from(variable: str, name: str) -> str:
    """The key of a model in an environment variable.

    Raises:
        ModelError: The variable is not set, or empty.
    """
    if not (key := os.environ.get(variable)):
        raise ModelError(
            f"The model {name!r} takes its key from the environment variable {variable}, which is "
            "not set.",
            f"Set {variable}, or name the right variable behind the #.",
        )
    return key


def _is_own_host(provider: str, base_url: str) -> bool:
    """Whether a URL is of the provider's own service, so that its key may be sent there."""
    from pydantic_ai.providers import infer_provider_class

    try:
        make: Any = infer_provider_class(provider)
        own = urlsplit(str(make(api_key=_NO_KEY).base_url))
    except Exception:  # noqa: BLE001 - without its package, a key or an address no host is its own
        return False
    url = urlsplit(base_url)
    host, own_host = url.hostname or "", own.hostname or ""
    is_below = host == own_host or host.endswith(f".{own_host}")
    return bool(own_host) and url.scheme == own.scheme and is_below


def _is_provider(name: str) -> bool:
    from pydantic_ai.providers import infer_provider_class

    try:
        infer_provider_class(name)
    except ValueError:
        return False
    except ImportError:
        pass  # A known provider whose package is not installed.
    return True


def _openai_compatible(model: str, base_url: str, api_key: str | None) -> Model:
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    if not model:
        raise InputError(
            f"No model is named for the server {base_url}.",
            "Write openai:NAME@http://host:port/v1.",
        )
    return OpenAIChatModel(model, provider=OpenAIProvider(base_url=base_url, api_key=api_key))


def _leave_retries_to_the_limiter(model: Model) -> None:
    client: Any = getattr(model, "client", None)
    if hasattr(client, "max_retries"):
        client.max_retries = 0


def _leave_reasoning_to_the_reader(model: Model) -> None:
    """Have tags of reasoning left in texts: of one that isn't closed the client keeps no trace."""
    vars(model)["profile"] = {**model.profile, "thinking_tags": NO_TAGS}


def _note_sight(model: Model, takes_pictures: bool | None) -> None:
    """Have a model's profile say whether it takes pictures, where anybody knows."""
    if takes_pictures is None and reads_text_alone(model.model_name):
        takes_pictures = False
    if takes_pictures is not None:
        # As if it had been made with this profile: models that are made of it have it, too.
        vars(model)["_profile"] = ModelProfile(supports_image_input=takes_pictures)
        vars(model).pop("profile", None)


def _without_organization(model: Model) -> Model:
    """Send no OpenAI organization and project, which the client reads from the environment."""
    client: Any = getattr(model, "client", None)
    if hasattr(client, "organization"):
        client.organization = client.project = None
    return model


def _known_provider(name: str, base_url: str | None, api_key: str | None) -> Model:
    from pydantic_ai.exceptions import UserError
    from pydantic_ai.providers import Provider, infer_provider, infer_provider_class

    arguments = {"base_url": base_url, "api_key": api_key}
    options = {key: value for key, value in arguments.items() if value}

    def make_provider(provider: str) -> Provider[Any]:
        return infer_provider_class(provider)(**options)

    try:
        return infer_model(name, make_provider if options else infer_provider)
    except UserError as error:
        reason, _, _ = str(error).partition(". ")
        if not reason.startswith("Set "):
            raise ModelError(f"The model {name!r} can't be used: {reason}.") from None
        raise ModelError(
            f"The model {name!r} has no key.",
            f"{reason}. Or put the key into a swarm-model block, or name another model.",
        ) from None
    except ImportError as error:
        raise ModelError(f"The model {name!r} can't be used: {error}.") from None
    except (TypeError, ValueError) as error:
        raise InputError(
            f"The provider of {name!r} can't be used with {' and '.join(options)}: {error}.",
            "Leave them out, or name another provider.",
        ) from None


@dataclass(slots=True, weakref_slot=True)
class LoopModels:
    """What was made for one loop.

    Attributes:
        made: Each model, under its name or the identity of the object that stands in for it.
        entered: The models whose clients are open.
        closing: Those whose clients are just being closed.
        users: Runs of the loop that use them.
    """

    made: dict[str | int, Model] = field(default_factory=dict[str | int, Model])
    entered: list[Model] = field(default_factory=list[Model])
    closing: list[Model] = field(default_factory=list[Model])
    users: int = 0
    stack: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def enter(self, model: Model) -> Model:
        """Open a model's client until the last run of the loop is over, and return the model.

        Raises:
            ModelError: A run of another loop has its client open, which serves one loop at a time.
        """
        if not self.users:
            return model
        with _lock:
            if any(model is known for known in self.entered):
                return model
            self._require_alone(model)
            self.entered.append(model)
        await self.stack.enter_async_context(model)
        return model

    async def close(self) -> None:
        """Close all clients; a run that begins meanwhile opens them anew."""
        stack, self.stack = self.stack, AsyncExitStack()
        with _lock:
            self.closing, self.entered = self.entered, []
            self.made.clear()
        try:
            await stack.aclose()
        finally:
            self.closing.clear()

    @property
    def in_use(self) -> list[Model]:
        """The models whose clients are open, or are just being closed."""
        return [*self.entered, *self.closing]

    def _require_alone(self, model: Model) -> None:
        mine = _providers(model)
        for loop, others in _by_loop.items():
            if others is self or not loop.is_running():
                continue
            taken = {provider for each in others.in_use for provider in _providers(each)}
            if not mine.isdisjoint(taken):
                raise ModelError(
                    f"The model {model.model_name} is in use by a run of another event loop.",
                    "Give each thread a model of its own, or name the model.",
                )


def _providers(model: Model) -> set[int]:
    """Return the identities of the providers that a model asks; they hold the clients."""
    if isinstance(model, FallbackModel):
        return {provider for each in model.models for provider in _providers(each)}
    if isinstance(model, WrapperModel):
        return _providers(model.wrapped)
    return set() if model.provider is None else {id(model.provider)}


# Put in and found by `models_of_loop`: task runs get a model's name, since Prefect stores their
# parameters; those of one loop find the same model here.
_by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, LoopModels] = WeakKeyDictionary()
# Loops of several threads meet here.
_lock = threading.Lock()


def models_of_loop() -> LoopModels:
    """Return the models of the running loop."""
    with _lock:
        return _by_loop.setdefault(asyncio.get_running_loop(), LoopModels())


def forget_all() -> None:
    """Drop every loop's models; those in use stay open until their runs are over."""
    with _lock:
        for models in _by_loop.values():
            models.made.clear()


@asynccontextmanager
async def open_models() -> AsyncGenerator[None]:
    """Keep the clients of this loop's models open inside; the last to leave closes them."""
    models = models_of_loop()
    models.users += 1
    try:
        yield
    finally:
        models.users -= 1
        if not models.users:
            await models.close()


REQUESTS = "agent_requests"
"""Where the details of an answer say how many requests the agent made for it."""


def model_of(agent: Agent[Any, Any]) -> Model:
    """Return an agent's own model.

    Raises:
        InputError: It has none, or one of an unknown name.
        ModelError: The provider of its model lacks a key or its package is not installed.
    """
    model = agent.model
    if model is None:
        raise InputError(
            f"The agent {agent.name or 'without a name'} has no model.", "Give it a model."
        )
    return model if isinstance(model, Model) else remote_model(model)


class AgentModel(WrapperModel):
    """Answers a request with a whole run of an agent; plans are written by its model alone."""

    def __init__(self, agent: Agent[Any, Any], model: Model) -> None:
        """Take an agent, and the model that it is to ask."""
        super().__init__(model)
        self._agent = agent

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Run the agent on the last message; what goes before is its history.

        Raises:
            ModelAPIError: The model can't be asked.
            UnexpectedModelBehavior: The agent came to no answer.
        """
        if model_request_parameters.output_object is not None:
            own = self._agent.model_settings
            base = None if callable(own) else own
            settings = merge_model_settings(base, model_settings)
            return await self.wrapped.request(messages, settings, model_request_parameters)
        *history, last = messages
        result = await self._agent.run(
            _prompt(last),
            message_history=history or None,
            instructions=last.instructions if isinstance(last, ModelRequest) else None,
            model=self._traced(),
            model_settings=model_settings,
        )
        usage = result.usage
        estimated = usage.details.get(ESTIMATED, 0)
        output: Any = result.output
        return ModelResponse(
            parts=[TextPart(output if isinstance(output, str) else to_json(output).decode())],
            usage=RequestUsage(
                input_tokens=usage.input_tokens,
                output_tokens=usage.output_tokens,
                cache_read_tokens=usage.cache_read_tokens,
                cache_write_tokens=usage.cache_write_tokens,
                details={ESTIMATED: estimated} if estimated else {},
            ),
            model_name=self.wrapped.model_name,
            provider_name=self.wrapped.system,
            finish_reason=result.response.finish_reason,
            provider_details={REQUESTS: usage.requests},
        )

    def _traced(self) -> Model:
        """Return the model, with what has the agent's run, requests and tools traced."""
        settings = request_tracing()
        return self.wrapped if settings is None else InstrumentedModel(self.wrapped, settings)


def _prompt(message: ModelMessage) -> str:
    parts = message.parts if isinstance(message, ModelRequest) else ()
    return "\n\n".join(str(part.content) for part in parts if isinstance(part, UserPromptPart))


def tracing_of(model: Model) -> InstrumentationSettings | bool | None:
    """Return what `model_request` is to be given as `instrument`.

    An agent's run has spans of its own for the requests that it makes, with their tokens.
    """
    return False if isinstance(model, AgentModel) else request_tracing()
