"""The models of each event loop, and when their clients are closed.

A client keeps connections, which belong to the loop that opened them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from pydantic_ai.models import Model

__all__ = ["LoopModels", "forget_all", "models_of_loop", "open_models"]


@dataclass(slots=True, weakref_slot=True)
class LoopModels:
    """What was made for one loop.

    Attributes:
        by_name: Each model, under its name.
        entered: The models whose clients are open.
        users: Runs of the loop that use them.
    """

    by_name: dict[str, Model] = field(default_factory=dict[str, "Model"])
    entered: list[Model] = field(default_factory=list["Model"])
    users: int = 0
    stack: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def enter(self, model: Model) -> Model:
        """Open a model's client until the last run of the loop is over, and return the model."""
        if self.users and not any(model is known for known in self.entered):
            self.entered.append(model)
            await self.stack.enter_async_context(model)
        return model


# Put in and found by `models_of_loop`: task runs get a model's name, since Prefect stores their
# parameters; those of one loop find the same model here.
_by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, LoopModels] = WeakKeyDictionary()


def models_of_loop() -> LoopModels:
    """Return the models of the running loop."""
    return _by_loop.setdefault(asyncio.get_running_loop(), LoopModels())


def forget_all() -> None:
    """Drop every loop's models; those in use stay open until their runs are over."""
    for models in _by_loop.values():
        models.by_name.clear()


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
            stack, models.stack = models.stack, AsyncExitStack()
            models.entered.clear()
            models.by_name.clear()
            await stack.aclose()
