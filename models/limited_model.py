"""A model whose requests go through its provider's limiter."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator
from typing import Any, cast
from urllib.parse import urlsplit

from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelQuotaExceededError,
    UnexpectedModelBehavior,
)
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

from .answers.call_ids import as_sent, with_own_ids, without_foreign_reasoning
from .answers.provider_errors import read_error
from .answers.stream import read_response
from .answers.usage import ESTIMATED, measured
from .limiter import ALONE, MOST, Limiter, Patience, fault_of, limiter_of
from .request_context import note_refused, refused_once
from .shared_limit import shared_slot
from .streaming import request_streaming

__all__ = ["LimitedModel", "open_limiters", "provider_name", "providers_of"]


_logger = logging.getLogger("prefect_swarm.models")


class LimitedModel(WrapperModel):
    """Sends the requests of a model as its provider takes them; nothing else repeats them."""

    def __init__(self, model: Model, patience: Patience = ALONE) -> None:
        """Take a model that asks a provider."""
        super().__init__(model)
        self._patience = patience
        self._key = _key_hash(model)
        provider = provider_name(model)
        # What asks no server, as models of tests do, shares nothing with others of its kind.
        if model.base_url:
            self._limiter = limiter_of(provider, self._key)
        else:
            self._limiter = Limiter(provider)
            self._limiter.open_to(int(MOST))

    @property
    def limiter(self) -> Limiter:
        """The limiter that all models of the provider and key share."""
        return self._limiter

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Answer one request, as soon as the provider takes it.

        Raises:
            ModelAPIError: It refuses for good, or longer than there is patience.
        """
        limiter = self.limiter
        by_key = (limiter.provider, self._key)
        by_name = (*by_key, self.model_name)
        if (before := refused_once(by_key, by_name)) is not None:
            raise before
        settings = _without_sdk_retries(self.wrapped, model_settings)

        asked_of = f"{limiter.provider} {self.model_name}"
        own = without_foreign_reasoning(messages, self.wrapped.system)
        sent = as_sent(own, asked_of)

        async def send() -> ModelResponse:
            try:
                async with shared_slot(limiter.provider):
                    answer = await request_streaming(
                        self.wrapped, sent, settings, model_request_parameters
                    )
            except ModelAPIError as error:
                return read_error(error)
            except UnexpectedModelBehavior as error:
                if not self.wrapped.base_url or type(error) is not UnexpectedModelBehavior:
                    raise
                # What a server sent that its client can't read.
                raise ModelAPIError(self.model_name, error.message) from error
            answer = read_response(answer, model_request_parameters)
            if self.wrapped.base_url:
                answer = measured(answer, messages, model_request_parameters)
            if ESTIMATED in answer.usage.details:
                self._note_estimate()
            # Last: whatever made its calls, from here on they go by their positions.
            return with_own_ids(answer, messages, asked_of)

        try:
            return await limiter.run(send, self._patience)
        except ModelAPIError as error:
            if (fault := fault_of(error)) and fault.kind in ("denied", "unknown"):
                # A key may be for some of a provider's models alone; an account is for all.
                of_all = isinstance(error, ModelQuotaExceededError)
                note_refused(by_key if of_all else by_name, error)
            raise

    def _note_estimate(self) -> None:
        """Warn once of a provider that doesn't say what its answers take."""
        name = (self.limiter.provider, self.model_name)
        if name not in _estimated:
            _estimated.add(name)
            _logger.warning(
                "%s doesn't say what %s's answers take: their tokens are estimated.", *name
            )


# Written and read by `_note_estimate` alone: one warning a process is enough.
_estimated: set[tuple[str, str]] = set()


def open_limiters(model: Model, room: int) -> None:
    """Let so many requests to a model through from the beginning, unless it refused some before."""
    for limiter in _limiters_of(model):
        limiter.open_to(room)


def providers_of(model: Model) -> frozenset[str]:
    """Return the providers that a model asks, by the names that people know them as."""
    return frozenset(limiter.provider for limiter in _limiters_of(model))


def _limiters_of(model: Model) -> Iterator[Limiter]:
    if isinstance(model, FallbackModel):
        for each in model.models:
            yield from _limiters_of(each)
    elif isinstance(model, LimitedModel):
        yield model.limiter
    elif isinstance(model, WrapperModel):
        yield from _limiters_of(model.wrapped)


def _without_sdk_retries(model: Model, settings: ModelSettings | None) -> ModelSettings | None:
    # Those that this package makes have none; a copy of a client reads the environment again.
    client: Any = getattr(model, "client", None)
    if not getattr(client, "max_retries", 0) or "max_retries" in model.unsupported_settings:
        return settings
    return cast("ModelSettings", {**(settings or {}), "max_retries": 0})


def provider_name(model: Model) -> str:
    """Return what people know a model's provider as: its name, or the server's host."""
    host = urlsplit(model.base_url or "").netloc.rpartition("@")[2]
    return model.system if not host or model.system.split("-")[0] in host else host


def _key_hash(model: Model) -> str:
    client: Any = getattr(model, "client", None)
    key = getattr(client, "api_key", None)
    return hashlib.sha256(key.encode()).hexdigest()[:16] if isinstance(key, str) else ""
