"""Work that a Dask worker does, and where what it says of that goes."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from ...errors import ClusterError
from ...models.request_context import Waiting
from ...store.attempt import Usage
from ...tasks.context import TaskContext
from .payload import Called, Found, Message, Said, Took, Waits

__all__ = ["Need", "Remote"]


@dataclass(frozen=True, slots=True)
class Need:
    """What a worker needs for some work: what one lacks for it, it lacks for all of its kind."""

    what: tuple[str, ...]
    resource: str | None


@dataclass(slots=True)
class Remote:
    """Work that is done elsewhere.

    Attributes:
        starts: How often a worker began with it.
        worker: The address of the one that began last; "" while none works on it.
        only: The workers that may, where some may not.
        taken: What it took on workers before that one.
        current: What it took on that one.
        ended: Is set to end the wait for it: with None, it is sent once more.
        waited_s: How long no worker could work on it.
    """

    need: Need
    context: TaskContext
    request: Any
    key: str = ""
    starts: int = 0
    worker: str = ""
    only: frozenset[str] | None = None
    taken: Usage = field(default_factory=Usage)
    current: Usage = field(default_factory=Usage)
    is_waiting: bool = False
    waited_s: float = 0.0
    ended: asyncio.Future[None] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )

    def end(self, error: ClusterError | None = None) -> None:
        """End the wait for it."""
        if self.ended.done():
            return
        if error is None:
            self.ended.set_result(None)
        else:
            self.ended.set_exception(error)
            self.ended.exception()  # Whoever is cancelled meanwhile doesn't look at it.

    def begin(self, worker: str) -> None:
        """Note that a worker begins."""
        self.starts += 1
        self.worker = worker
        self.taken, self.current = self.taken + self.current, Usage()
        self.stop_waiting()

    def stop_waiting(self) -> None:
        """Say that a wait is over whose worker doesn't say so any more."""
        if self.is_waiting and self.request.on_wait:
            self.request.on_wait(None)
        self.is_waiting = False

    def handle(self, message: Message) -> None:
        """Pass on what its worker says."""
        match message:
            case Said():
                self._say(message)
            case Called(call=call):
                self.context.on_tool_call(call)
            case Found(result=result):
                self.context.on_verdict(result)
            case Took(usage=usage):
                self.current = usage
                self.context.budget.taken = self.taken + usage
            case Waits():
                self._wait(message)
            case _:
                pass

    def _say(self, said: Said) -> None:
        if (streaming := self.request.streaming) is None:
            return
        if said.begins:
            streaming.sink.begin()
        if said.text:
            streaming.sink.add(said.text)

    def _wait(self, waits: Waits) -> None:
        if not self.request.on_wait:
            return
        self.is_waiting = bool(waits.provider)
        waiting = Waiting(waits.provider, waits.why, waits.seconds, waits.words)
        self.request.on_wait(waiting if waits.provider else None)
