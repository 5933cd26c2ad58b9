"""What has been won by another stops, and what is in no race is not disturbed."""

from __future__ import annotations

import asyncio

import pytest
from prefect_swarm.tasks.race import race, unless, unless_lost


async def at_once() -> str:
    return "done"


async def never(stopped: list[str]) -> str:
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        stopped.append("stopped")
        raise
    raise AssertionError


async def breaks() -> str:
    raise ValueError("broken")


def test_work_in_no_race_is_awaited() -> None:
    assert asyncio.run(unless_lost("", at_once())) == "done"
    assert asyncio.run(unless_lost("long over", at_once())) == "done"


def test_the_others_stop_when_one_has_won() -> None:
    async def run() -> tuple[tuple[str | None, str | None], list[str]]:
        stopped: list[str] = []
        with race("r") as won:

            async def wins() -> str | None:
                done = await unless_lost("r", at_once())
                won.set()
                return done

            return await asyncio.gather(wins(), unless_lost("r", never(stopped))), stopped

    done, stopped = asyncio.run(run())
    assert [*done] == ["done", None]
    assert stopped == ["stopped"]


def test_what_breaks_is_raised() -> None:
    async def run() -> None:
        await unless(asyncio.Event(), breaks())

    with pytest.raises(ValueError, match="broken"):
        asyncio.run(run())


def test_a_race_that_is_over_is_forgotten() -> None:
    async def run() -> str | None:
        with race("r") as won:
            won.set()
        return await unless_lost("r", at_once())

    assert asyncio.run(run()) == "done"
