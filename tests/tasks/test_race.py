"""A lost race stops its work; work outside a race is not disturbed."""

from __future__ import annotations

import asyncio

import pytest
from prefect_swarm.tasks.race import race, run_in_race, run_until


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
    assert asyncio.run(run_in_race("", at_once())) == "done"
    assert asyncio.run(run_in_race("long over", at_once())) == "done"


def test_the_others_stop_when_one_has_won() -> None:
    async def run() -> tuple[tuple[str | None, str | None], list[str]]:
        stopped: list[str] = []
        with race("r") as won:

            async def wins() -> str | None:
                done = await run_in_race("r", at_once())
                won.set()
                return done

            return await asyncio.gather(wins(), run_in_race("r", never(stopped))), stopped

    done, stopped = asyncio.run(run())
    assert [*done] == ["done", None]
    assert stopped == ["stopped"]


def test_what_breaks_is_raised() -> None:
    async def run() -> None:
        await run_until(asyncio.Event(), breaks())

    with pytest.raises(ValueError, match="broken"):
        asyncio.run(run())


def test_a_race_that_is_over_is_forgotten() -> None:
    async def run() -> str | None:
        with race("r") as won:
            won.set()
        return await run_in_race("r", at_once())

    assert asyncio.run(run()) == "done"
