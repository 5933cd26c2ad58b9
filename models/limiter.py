"""The limiter of one provider and key, shared by all requests of the process."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelHTTPError,
    ModelNotFoundError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestRejectedError,
    ModelRequestTimeout,
    ModelServerError,
    ModelUnavailableError,
)

from ..host.network import certificate_problem
from .answers.provider_errors import words_of
from .request_context import ITS_TURN, Waiting, waiting

__all__ = [
    "ALONE",
    "MOST",
    "WITH_FALLBACK",
    "Fault",
    "Limiter",
    "Patience",
    "Window",
    "fault_of",
    "limiter_of",
]


_LATER = (408, 409, 425)
"""Statuses below 500 by which a server says that it was too early, or took too long."""
_NEVER = (501, 505)
"""Statuses from 500 on by which it says that no time will come."""


Kind = Literal["busy", "down", "broken", "denied", "unknown"]


@dataclass(frozen=True, slots=True)
class Fault:
    """An error of a provider.

    Attributes:
        kind: `busy`: the provider refuses all for now. `down`: this request wasn't answered, and
            may be later. `broken`: it was, and the answer can't be read or has no end. `denied`:
            the key, its account or the server's certificate is refused. `unknown`: there is no such
            model.
        why: What it is, for people who wait.
        retry_after: Seconds that the provider asks to wait, if it does.
    """

    kind: Kind
    why: str
    retry_after: float | None = None


_KINDS: tuple[tuple[type[ModelAPIError], Kind, str], ...] = (
    (ModelQuotaExceededError, "denied", "quota exhausted"),
    (ModelAuthenticationError, "denied", "key refused"),
    (ModelNotFoundError, "unknown", "no such model"),
    (ModelRateLimitError, "busy", "rate limit"),
    (ModelUnavailableError, "busy", "overloaded"),
)


def fault_of(error: BaseException) -> Fault | None:
    """Say what an error means; None where it is about the request alone, or none of a provider."""
    for kinds, kind, why in _KINDS:
        if isinstance(error, kinds):
            return Fault(kind, why, error.retry_after)
    match error:
        case ModelRequestTimeout() | ModelConnectionError():
            return _unconnected(error)
        case ModelServerError():
            return _of_server(error)
        case ModelRequestRejectedError():
            return None
        case ModelHTTPError():
            return _by_status(error)
        case ModelAPIError() if type(error) is ModelAPIError:
            # Of no kind: what was sent with status 200 isn't an answer, or not the whole of it.
            return Fault("broken", "unreadable answer", error.retry_after)
        case _:
            return None


def _unconnected(error: ModelRequestTimeout | ModelConnectionError) -> Fault:
    if certificate_problem(error):
        return Fault("denied", "certificate not accepted")
    return Fault("down", "no connection", error.retry_after)


def _by_status(error: ModelHTTPError) -> Fault | None:
    """Say what an error means of which the status alone is known."""
    status = error.status_code
    if status in (401, 402, 403):
        return Fault("denied", "key refused")
    if status == 404:
        return Fault("unknown", "no such model")
    if status in (429, 503, 529):
        return Fault("busy", "rate limit", error.retry_after)
    return _of_server(error) if status >= 500 or status in _LATER else None


def _of_server(error: ModelAPIError) -> Fault | None:
    if isinstance(error, ModelHTTPError) and error.status_code in _NEVER:
        return None
    return Fault("down", "server error", error.retry_after)


_FIRST, MOST = 32.0, 1024.0


@dataclass(frozen=True, slots=True)
class Window:
    """The room there is at one provider.

    Attributes:
        limit: Requests that may be under way; its whole part counts.
        blocked_until: When the next request may start, in the clock's seconds.
        lowered_at: When the limit was last halved; None if it never was.
    """

    limit: float = _FIRST
    blocked_until: float = 0.0
    lowered_at: float | None = None

    @property
    def room(self) -> int:
        """Requests that may be under way."""
        return int(self.limit)

    def after_success(self) -> Window:
        """Return the window after an answer."""
        more = 1.0 if self.lowered_at is None else 1.0 / self.limit
        return replace(self, limit=min(MOST, self.limit + more))

    def after_refusal(self, now: float, started_at: float, under_way: int) -> Window:
        """Return the window after a refusal.

        Args:
            now: The clock's seconds.
            started_at: When the refused request started. Requests that were already under way when
                the limit was halved say nothing about the new one.
            under_way: Requests under way, the refused one included.
        """
        if self.lowered_at is not None and started_at < self.lowered_at:
            return self
        return replace(self, limit=max(1.0, min(self.limit, float(under_way)) / 2), lowered_at=now)

    def opened(self, room: int) -> Window:
        """Return the window with room for so many at least, unless it was ever refused any."""
        if self.lowered_at is not None:
            return self
        return replace(self, limit=min(MOST, max(self.limit, float(room))))

    def blocked(self, until: float) -> Window:
        """Return the window in which nothing starts before `until`."""
        return replace(self, blocked_until=max(self.blocked_until, until))


T = TypeVar("T")

_FIRST_DELAY_S, _LONGEST_DELAY_S = 1.0, 60.0


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a request is tried.

    Attributes:
        wait_s: Seconds that it may wait in all while the provider is busy or down.
        tries: Answers that may be unreadable, or break off: each of them is paid for.
        tries_down: Requests that may stay without an answer; None leaves it to the seconds.
    """

    wait_s: float
    tries: int
    tries_down: int | None = None


ALONE = Patience(wait_s=600.0, tries=4)
"""Of a model that nothing stands in for."""
WITH_FALLBACK = Patience(wait_s=10.0, tries=2, tries_down=2)
"""Of a model that another one stands in for."""
_BELIEVED = 2
"""Times in a row that a provider's word on how long to wait counts, however short it is."""
_OWN_FAULT = 8
"""Times that a request meets one error, word for word, while others are answered: it is its own."""
_WORDS_AFTER_S = 4.0
"""Seconds of waiting in all from which on a wait is shown with the provider's words."""

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
        self._answered = self._unanswered = 0
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
        waited, met, streak = 0.0, 0, Streak()
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
                words = words_of(error) if isinstance(error, ModelAPIError) else str(error)
                streak = streak.after(words, self._answered, self._unanswered)
                if waited + delay > patience.wait_s or _is_over(fault, patience, met, streak):
                    raise
            except BaseException:
                self._leave()
                raise
            else:
                self._leave(succeeded=True)
                return answer
            waited += delay
            shown = words if waited > _WORDS_AFTER_S else ""
            with waiting(Waiting(self.provider, fault.why, delay, shown)):
                await self._sleep(delay)

    def _delay(self, fault: Fault, met: int) -> float:
        """What the provider asks for and a little more, else exponential backoff with full jitter.

        The jitter is of "Exponential Backoff And Jitter" (Amazon, 2015), with half of it certain.
        A provider that asks for less, time and again, is believed twice.
        """
        if fault.retry_after is None:
            return self._backoff(met)
        asked = fault.retry_after + self._jitter() * min(1.0, fault.retry_after)
        return asked if met <= _BELIEVED else max(asked, self._backoff(met - _BELIEVED))

    def _backoff(self, met: int) -> float:
        longest = min(_LONGEST_DELAY_S, _FIRST_DELAY_S * 2 ** (met - 1))
        return longest * (0.5 + self._jitter() / 2)

    async def _enter(self, wait_s: float) -> None:
        if self._entered(wait_s):
            return
        with waiting(Waiting(self.provider, ITS_TURN)):
            while not self._entered(wait_s):
                await self._turn()

    def _entered(self, wait_s: float) -> bool:
        with self._lock:
            blocked = self._window.blocked_until - self._clock()
            if blocked > wait_s and self._blocked_by is not None:
                # It may have been called: the next waiter gets its call.
                self._call()
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
                    # It had been called: the next waiter gets its call.
                    self._call()
            raise

    def _refused(self, fault: Fault, started: float, delay: float, error: Exception) -> None:
        with self._lock:
            now = self._clock()
            self._unanswered += 1
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
                self._answered += 1
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


@dataclass(frozen=True, slots=True)
class Streak:
    """Errors that one request met in a row, all with the same words.

    Attributes:
        length: How many.
        words: What they say.
        answered: Requests of the provider that were answered since the first of them.
        unanswered: Those that weren't, without this one's.
    """

    length: int = 0
    words: str = ""
    answered: int = 0
    unanswered: int = 0
    _answered_before: int = 0
    _unanswered_before: int = 0

    def after(self, words: str, answered: int, unanswered: int) -> Streak:
        """Return the streak after another error.

        Args:
            words: What it says.
            answered: Requests that the provider has answered so far.
            unanswered: Those that it hasn't, with this one's.
        """
        if words != self.words:
            return Streak(1, words, 0, 0, answered, unanswered - 1)
        length = self.length + 1
        return replace(
            self,
            length=length,
            answered=answered - self._answered_before,
            unanswered=unanswered - self._unanswered_before - length,
        )

    @property
    def is_its_own(self) -> bool:
        """Whether it is the request, and not the provider, that something is wrong with."""
        is_long = self.length >= _OWN_FAULT
        return is_long and self.answered > 0 and self.answered >= self.unanswered


def _is_over(fault: Fault, patience: Patience, met: int, streak: Streak) -> bool:
    if fault.kind == "broken":
        return met >= patience.tries
    if fault.kind == "busy":
        return False
    # A server that asks for no wait says that none will help.
    most = patience.tries if fault.retry_after == 0 else patience.tries_down
    return (most is not None and met >= most) or streak.is_its_own


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
