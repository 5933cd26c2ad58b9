"""A lost race stops its work; work outside a race is not disturbed."""

from __future__ import annotations

import asyncio

import pytest
from prefect_swarm.tasks.context import task_context, unless_won
from prefect_swarm.tasks.race import run_until


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
    assert asyncio.run(unless_won(at_once())) == "done"


def test_the_others_stop_when_one_has_won() -> None:
    async def run() -> tuple[tuple[str | None, str | None], list[str]]:
        stopped: list[str] = []
        won = asyncio.Event()
        with task_context(won=won):

            async def wins() -> str | None:
                done = await unless_won(at_once())
                won.set()
                return done

            return await asyncio.gather(wins(), unless_won(never(stopped))), stopped

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
        won = asyncio.Event()
        with task_context(won=won):
            won.set()
        return await unless_won(at_once())

    assert asyncio.run(run()) == "done"
