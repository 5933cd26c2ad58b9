"""The limiter of one provider and key, shared by all requests of the process."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from .faults import Fault, fault_of
from .waiting import Waiting, waiting
from .window import Window

__all__ = ["ALONE", "WITH_FALLBACK", "Limiter", "Patience", "limiter_of"]

T = TypeVar("T")

_FIRST_DELAY_S, _LONGEST_DELAY_S = 1.0, 60.0


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a request is tried.

    Attributes:
        tries: Requests that may meet an error which is not a refusal.
        wait_s: Seconds that it may wait in all while the provider is busy.
    """

    tries: int
    wait_s: float


ALONE = Patience(tries=4, wait_s=600.0)
"""Of a model that nothing stands in for."""
WITH_FALLBACK = Patience(tries=2, wait_s=10.0)
"""Of a model that another one stands in for."""

_Waiter = tuple[asyncio.AbstractEventLoop, "asyncio.Future[None]"]


class Limiter:
    """Lets requests of any thread and event loop through as the provider takes them."""

    def __init__(
        self,
        provider: str,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        """Start with an open window.

        Args:
            provider: What people know it as.
            clock: Seconds that only rise.
            sleep: Waits so many seconds.
            jitter: A number from 0 to 1, another one each time.
        """
        self.provider = provider
        self._clock, self._sleep, self._jitter = clock, sleep, jitter
        self._window = Window()
        self._blocked_by: Exception | None = None
        self._under_way = 0
        self._waiters: deque[_Waiter] = deque()
        # Event loops of several threads meet here.
        self._lock = threading.Lock()

    @property
    def room(self) -> int:
        """Requests that may be under way now."""
        return self._window.room

    def open_to(self, room: int) -> None:
        """Let so many requests through from the beginning, since somebody asks for them."""
        with self._lock:
            self._window = self._window.opened(room)
            self._call()

    async def run(self, request: Callable[[], Awaitable[T]], patience: Patience = ALONE) -> T:
        """Send a request, again where another try may succeed.

        Raises:
            Exception: What the request raised last, or what another one did for which the provider
                takes none for longer than there is patience.
        """
        waited, met = 0.0, 0
        while True:
            await self._enter(patience.wait_s - waited)
            started = self._clock()
            try:
                answer = await request()
            except Exception as error:
                fault = fault_of(error)
                if fault is None or fault.kind in ("denied", "unknown"):
                    self._leave()
                    raise
                met += 1
                delay = self._delay(fault, met)
                self._refused(fault, started, delay, error)
                is_over = met >= patience.tries and fault.kind == "broken"
                if is_over or waited + delay > patience.wait_s:
                    raise
            except BaseException:
                self._leave()
                raise
            else:
                self._leave(succeeded=True)
                return answer
            waited += delay
            with waiting(Waiting(self.provider, fault.why, delay)):
                await self._sleep(delay)

    def _delay(self, fault: Fault, met: int) -> float:
        """What the provider asks for and a little more, else exponential backoff with full jitter.

        The jitter is of "Exponential Backoff And Jitter" (Amazon, 2015), with half of it certain.
        """
        if fault.retry_after is not None:
            return fault.retry_after + self._jitter() * min(1.0, fault.retry_after)
        longest = min(_LONGEST_DELAY_S, _FIRST_DELAY_S * 2 ** (met - 1))
        return longest * (0.5 + self._jitter() / 2)

    async def _enter(self, wait_s: float) -> None:
        if self._entered(wait_s):
            return
        with waiting(Waiting(self.provider, "its turn")):
            while not self._entered(wait_s):
                await self._turn()

    def _entered(self, wait_s: float) -> bool:
        with self._lock:
            blocked = self._window.blocked_until - self._clock()
            if blocked > wait_s and self._blocked_by is not None:
                raise self._blocked_by
            if blocked <= 0 and self._under_way < self._window.room:
                self._under_way += 1
                return True
            return False

    async def _turn(self) -> None:
        """Wait until it is worth asking for room again."""
        with self._lock:
            blocked = self._window.blocked_until - self._clock()
            waiter: _Waiter | None = None
            if blocked <= 0 and self._under_way >= self._window.room:
                loop = asyncio.get_running_loop()
                waiter = (loop, loop.create_future())
                self._waiters.append(waiter)
        if waiter is None:
            await self._sleep(max(0.0, blocked))
            return
        try:
            await waiter[1]
        except asyncio.CancelledError:
            with self._lock:
                if waiter in self._waiters:
                    self._waiters.remove(waiter)
                else:
                    # It had been called: whoever is next gets its call.
                    self._call()
            raise

    def _refused(self, fault: Fault, started: float, delay: float, error: Exception) -> None:
        with self._lock:
            now = self._clock()
            self._window = self._window.after_refusal(now, started, self._under_way)
            if fault.kind == "busy":
                if now + delay > self._window.blocked_until:
                    self._blocked_by = error
                self._window = self._window.blocked(now + delay)
        self._leave()

    def _leave(self, *, succeeded: bool = False) -> None:
        with self._lock:
            self._under_way -= 1
            if succeeded:
                self._window = self._window.after_success()
            self._call()

    def _call(self) -> None:
        """Call as many waiters as there is room for; those whose loop is gone are passed over."""
        free = self._window.room - self._under_way
        while free > 0 and self._waiters:
            loop, future = self._waiters.popleft()
            try:
                loop.call_soon_threadsafe(_wake, future)
            except RuntimeError:
                continue
            free -= 1


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


# Put in and found by `limiter_of` alone, by provider and key. Models are made for each event loop,
# and what a provider takes has nothing to do with loops.
_limiters: dict[tuple[str, str], Limiter] = {}
_lock = threading.Lock()


def limiter_of(provider: str, key: str) -> Limiter:
    """Return the one limiter of a provider and a key, made at the first call."""
    with _lock:
        return _limiters.setdefault((provider, key), Limiter(provider))
