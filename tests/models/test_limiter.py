"""One provider's limiter: who is sent when, what is sent again, and what is not."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar

import pytest
from prefect_swarm.models.limiter import (
    ALONE,
    WITH_FALLBACK,
    Limiter,
    Patience,
    fault_of,
    limiter_of,
)
from prefect_swarm.models.request_context import Waiting, timed, waits_to
from prefect_swarm.store.events import WaitEvent
from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelHTTPError,
    ModelRateLimitError,
    ModelRequestRejectedError,
    ModelServerError,
    ModelUnavailableError,
)

T = TypeVar("T")


@dataclass
class Time:
    """A clock that moves when somebody sleeps."""

    now: float = 100.0
    slept: list[float] = field(default_factory=list)

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)


def limiter(time: Time, jitter: float = 0.0) -> Limiter:
    return Limiter("openai", clock=time, sleep=time.sleep, jitter=lambda: jitter)


def failing(*errors: Exception) -> tuple[Callable[[], Awaitable[str]], list[int]]:
    """A request that meets these errors in turn and then succeeds, and how often it was sent."""
    left, sent = list(errors), list[int]()

    async def request() -> str:
        sent.append(1)
        if left:
            raise left.pop(0)
        return "yes"

    return request, sent


def busy(retry_after: float | None = None) -> ModelRateLimitError:
    return ModelRateLimitError("m", "slow down", retry_after=retry_after)


def test_a_busy_provider_is_asked_again_when_it_says() -> None:
    time = Time()
    request, sent = failing(busy(12.0), busy(3.0))
    assert asyncio.run(limiter(time).run(request)) == "yes"
    assert (len(sent), time.slept) == (3, [12.0, 3.0])


def test_without_its_word_the_wait_doubles_and_half_of_it_is_chance() -> None:
    for jitter, waits in ((0.0, [0.5, 1.0, 2.0]), (1.0, [1.0, 2.0, 4.0])):
        time = Time()
        request, _ = failing(busy(), busy(), busy())
        asyncio.run(limiter(time, jitter).run(request))
        assert time.slept == waits


def test_a_provider_that_asks_for_no_wait_for_ever_is_given_up_all_the_same() -> None:
    time = Time()
    request, sent = failing(*[busy(0.0)] * 99)
    with pytest.raises(ModelRateLimitError):
        asyncio.run(limiter(time).run(request))
    assert time.slept[:3] == [0.0, 0.0, 0.5]
    assert len(sent) < 40


def test_a_server_that_is_down_and_asks_for_no_wait_is_asked_four_times() -> None:
    request, sent = failing(*[ModelServerError("m", "500", retry_after=0.0)] * 9)
    with pytest.raises(ModelServerError):
        asyncio.run(limiter(Time()).run(request))
    assert len(sent) == 4


def test_patience_ends() -> None:
    time = Time()
    request, sent = failing(*[busy(5.0)] * 9)
    with pytest.raises(ModelRateLimitError):
        asyncio.run(limiter(time).run(request, Patience(wait_s=12.0, tries=2)))
    assert (len(sent), time.slept) == (3, [5.0, 5.0])


def test_a_wait_that_is_longer_than_there_is_patience_is_not_begun() -> None:
    time = Time()
    request, sent = failing(busy(3600.0))
    with pytest.raises(ModelRateLimitError):
        asyncio.run(limiter(time).run(request))
    assert (len(sent), time.slept) == (1, [])


def test_a_request_fails_at_once_if_the_block_is_longer_than_its_patience() -> None:
    time = Time()
    shared = limiter(time)
    first, _ = failing(busy(60.0))
    second, sent = failing()

    async def one_after_the_other() -> None:
        hurried = Patience(wait_s=10.0, tries=2)
        for request in (first, second):
            with pytest.raises(ModelRateLimitError):
                await shared.run(request, hurried)
        assert await shared.run(second) == "yes"

    asyncio.run(one_after_the_other())
    assert (len(sent), time.slept) == (1, [60.0])


def test_an_answer_that_cannot_be_read_is_asked_for_four_times_in_all() -> None:
    request, sent = failing(*[ModelAPIError("m", "not JSON")] * 9)
    with pytest.raises(ModelAPIError):
        asyncio.run(limiter(Time()).run(request, ALONE))
    assert len(sent) == 4


each_later = pytest.mark.parametrize(
    "error",
    [
        ModelServerError("m", "500"),
        ModelConnectionError("m", "reset"),
        ModelRateLimitError("m", "slow down"),
        ModelUnavailableError("m", "overloaded"),
        ModelHTTPError(408, "m"),
        ModelHTTPError(409, "m"),
        ModelHTTPError(425, "m"),
        ModelHTTPError(502, "m"),
        ModelHTTPError(529, "m"),
    ],
    ids=repr,
)


@each_later
def test_a_storm_of_a_minute_and_a_half_is_waited_out(error: ModelAPIError) -> None:
    time = Time()
    over_at = time.now + 90.0

    async def request() -> str:
        if time.now < over_at:
            raise error
        return "yes"

    assert asyncio.run(limiter(time, jitter=1.0).run(request, ALONE)) == "yes"


@each_later
def test_patience_with_what_says_later_ends_after_ten_minutes(error: ModelAPIError) -> None:
    time = Time()
    request, _ = failing(*[error] * 99)
    with pytest.raises(type(error)):
        asyncio.run(limiter(time).run(request, ALONE))
    assert 540.0 < sum(time.slept) <= 600.0


@each_later
def test_where_another_model_stands_in_patience_is_short(error: ModelAPIError) -> None:
    time = Time()
    request, _ = failing(*[error] * 99)
    with pytest.raises(type(error)):
        asyncio.run(limiter(time).run(request, WITH_FALLBACK))
    assert sum(time.slept) <= 10.0


async def answered() -> str:
    return "yes"


async def unanswered() -> str:
    raise ModelServerError("m", "out of memory")


def beside(*others: Callable[[], Awaitable[str]]) -> Limiter:
    """A limiter that sends these requests, too, whenever another one waits."""

    async def sleep(_: float) -> None:
        for other in others:
            with suppress(ModelServerError):
                await shared.run(other, Patience(wait_s=0.0, tries=1))

    shared = Limiter("openai", sleep=sleep, jitter=lambda: 0.0)
    return shared


def test_an_error_that_one_request_alone_meets_is_its_own() -> None:
    request, sent = failing(*[ModelServerError("m", "the grammar can't be parsed")] * 20)
    with pytest.raises(ModelServerError, match="grammar"):
        asyncio.run(beside(answered).run(request, ALONE))
    assert len(sent) == 8


def test_an_error_that_most_requests_meet_is_the_providers() -> None:
    request, sent = failing(*[ModelServerError("m", "out of memory")] * 11)
    assert asyncio.run(beside(answered, unanswered, unanswered).run(request, ALONE)) == "yes"
    assert len(sent) == 12


def test_a_wait_shows_the_providers_words_after_some_seconds() -> None:
    heard: list[Waiting | None] = []
    request, _ = failing(*[ModelServerError("m", "the cooling has failed")] * 4)

    async def story() -> None:
        with waits_to(heard.append):
            await limiter(Time()).run(request, ALONE)

    asyncio.run(story())
    shown = [
        WaitEvent(provider=wait.provider, why=wait.reason, seconds=wait.seconds).words
        for wait in heard
        if wait is not None
    ]
    assert "cooling" not in shown[0]
    assert "(server error: the cooling has failed)" in shown[-1]


@pytest.mark.parametrize(
    "error",
    [
        ModelAuthenticationError("m", "401"),
        ModelRequestRejectedError("m", "400"),
        ValueError("ours"),
    ],
)
def test_what_another_try_cannot_fix_is_sent_once(error: Exception) -> None:
    request, sent = failing(error, error)
    with pytest.raises(type(error)):
        asyncio.run(limiter(Time()).run(request))
    assert len(sent) == 1


def test_a_refusal_for_now_holds_back_other_requests() -> None:
    time = Time()
    shared = limiter(time)
    sent_at: list[float] = []

    async def other() -> str:
        sent_at.append(time.now)
        return "yes"

    async def both() -> None:
        request, _ = failing(busy(10.0))
        first = asyncio.create_task(shared.run(request))
        await asyncio.sleep(0)
        await asyncio.gather(first, shared.run(other))

    asyncio.run(both())
    assert sent_at[0] >= 110.0


def test_a_refusal_lowers_what_is_under_way_at_once_and_successes_raise_it_again() -> None:
    time = Time()
    shared = limiter(time)
    at_once, most = 0, 0
    refusing = True

    async def request() -> str:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        try:
            await asyncio.sleep(0)
            if refusing and at_once > 4:
                raise busy(1.0)
            return "yes"
        finally:
            at_once -= 1

    async def crowd(number: int) -> None:
        nonlocal most
        most = 0
        await asyncio.gather(*(shared.run(request) for _ in range(number)))

    asyncio.run(crowd(16))
    assert most == 16
    lowered = shared.room
    assert lowered <= 8
    refusing = False
    asyncio.run(crowd(60))
    assert most <= lowered + 8
    assert shared.room > lowered


def test_waits_are_told_and_no_deadline_counts_them() -> None:
    heard: list[Waiting | None] = []

    async def attempt() -> float:
        moved = asyncio.get_running_loop().time
        offset = 0.0

        async def long(seconds: float) -> None:
            nonlocal offset
            offset += seconds
            await asyncio.sleep(0)

        loop = asyncio.get_running_loop()
        loop.time = lambda: moved() + offset  # type: ignore[method-assign]
        shared = Limiter("openai", clock=loop.time, sleep=long, jitter=lambda: 0.0)
        request, _ = failing(busy(30.0))
        with waits_to(heard.append):
            async with timed(5.0) as timer:
                await shared.run(request)
                await asyncio.sleep(0)
        return timer.waited_s

    assert asyncio.run(attempt()) == pytest.approx(30.0, abs=1.0)
    assert heard[:2] == [Waiting("openai", "rate limit", 30.0), None]


def test_work_that_takes_too_long_is_ended_all_the_same() -> None:
    async def attempt() -> None:
        async with timed(0.01):
            await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        asyncio.run(attempt())


async def all_of(requests: Sequence[Awaitable[T]]) -> list[T]:
    return await asyncio.gather(*requests)


async def narrowed(shared: Limiter, room: int) -> Limiter:
    """The limiter, once refusals have left room for so many requests."""

    async def refused() -> None:
        await asyncio.sleep(0)
        raise ModelServerError("m", "500")

    burst = [shared.run(refused, Patience(wait_s=0.0, tries=1)) for _ in range(2 * room)]
    await asyncio.gather(*burst, return_exceptions=True)
    assert shared.room == room
    return shared


def test_a_cancelled_waiter_leaves_its_turn_to_the_next() -> None:
    async def story() -> str:
        shared = await narrowed(Limiter("openai"), 1)
        release = asyncio.Event()

        async def holding() -> str:
            await release.wait()
            return "held"

        async def quick() -> str:
            return "quick"

        first = asyncio.create_task(shared.run(holding))
        await asyncio.sleep(0)
        second, third = (asyncio.create_task(shared.run(quick)) for _ in range(2))
        await asyncio.sleep(0)
        release.set()
        await first
        second.cancel()
        return await asyncio.wait_for(third, 10)

    assert asyncio.run(story()) == "quick"


def test_a_waiter_that_gives_up_leaves_its_turn_to_the_next() -> None:
    async def story() -> str:
        shared = await narrowed(limiter(Time()), 1)
        release = asyncio.Event()

        async def refused() -> str:
            await release.wait()
            raise busy(60.0)

        hurried = Patience(wait_s=10.0, tries=2)
        first = asyncio.create_task(shared.run(refused, hurried))
        await asyncio.sleep(0)
        second = asyncio.create_task(shared.run(answered, hurried))
        third = asyncio.create_task(shared.run(answered))
        await asyncio.sleep(0)
        release.set()
        for given_up in (first, second):
            with pytest.raises(ModelRateLimitError):
                await given_up
        return await asyncio.wait_for(third, 10)

    assert asyncio.run(story()) == "yes"


def test_threads_with_loops_of_their_own_share_the_room() -> None:
    shared = asyncio.run(narrowed(Limiter("openai"), 2))
    lock, at_once, most = threading.Lock(), 0, 0

    async def request() -> None:
        nonlocal at_once, most
        with lock:
            at_once += 1
            most = max(most, at_once)
        await asyncio.sleep(0)
        with lock:
            at_once -= 1

    async def crowd() -> None:
        await asyncio.gather(*(shared.run(request) for _ in range(20)))

    threads = [threading.Thread(target=lambda: asyncio.run(crowd())) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not any(thread.is_alive() for thread in threads)
    assert most <= shared.room
    # All the room is free again: as many requests as that come together.
    room = shared.room
    together = asyncio.Barrier(room)
    everyone = [shared.run(together.wait) for _ in range(room)]
    assert len(asyncio.run(asyncio.wait_for(all_of(everyone), 10))) == room


def test_a_provider_and_key_have_one_limiter() -> None:
    assert limiter_of("a", "k") is limiter_of("a", "k")
    assert limiter_of("a", "k") is not limiter_of("a", "other")


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, "denied"),
        (403, "denied"),
        (404, "unknown"),
        (429, "busy"),
        (503, "busy"),
        (500, "down"),
        (408, "down"),
        (501, None),
        (400, None),
    ],
)
def test_an_error_of_which_the_status_alone_is_known_is_told_by_it(
    status: int, kind: str | None
) -> None:
    fault = fault_of(ModelHTTPError(status, "m"))
    assert (fault.kind if fault else None) == kind
