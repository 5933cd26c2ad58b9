"""The models of each event loop, and when their clients are closed.

A client keeps connections, which belong to the loop that opened them.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from pydantic_ai.models import Model
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.wrapper import WrapperModel

from ..errors import ModelError

__all__ = ["LoopModels", "forget_all", "models_of_loop", "open_models"]


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
