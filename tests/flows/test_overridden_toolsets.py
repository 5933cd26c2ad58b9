"""Toolsets given in Python are there for the runs that begin inside, and nowhere else."""

from __future__ import annotations

import asyncio

import pytest
from prefect_swarm import override_toolsets
from prefect_swarm.errors import InputError
from prefect_swarm.flows.control import caller
from prefect_swarm.toolsets.catalogue import ToolsetOverride
from pydantic_ai.toolsets import FunctionToolset


def toolset() -> FunctionToolset[None]:
    return FunctionToolset()


def given() -> dict[str, object]:
    sources = caller().toolsets.items()
    return {name: each.made for name, each in sources if isinstance(each, ToolsetOverride)}


def test_they_are_given_inside_alone() -> None:
    stock = toolset()
    with override_toolsets(stock=stock):
        assert given() == {"stock": stock}
    assert caller().toolsets == {}


def test_an_inner_one_takes_the_place_of_its_name_alone() -> None:
    outer, inner = toolset(), toolset()
    with override_toolsets(a=outer, b=outer):
        with override_toolsets(b=inner):
            assert given() == {"a": outer, "b": inner}
        assert given()["b"] is outer


def test_tasks_that_are_started_inside_find_them() -> None:
    async def names() -> list[str]:
        return [*caller().toolsets]

    async def begin() -> asyncio.Task[list[str]]:
        with override_toolsets(stock=toolset()):
            return asyncio.create_task(names())

    async def main() -> list[str]:
        return await (await begin())

    assert asyncio.run(main()) == ["stock"]


def test_a_name_that_plans_could_not_write_is_refused() -> None:
    wrong = override_toolsets(_x=toolset())
    with pytest.raises(InputError, match="can't be a toolset's name"), wrong:
        pass
