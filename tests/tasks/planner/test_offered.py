"""Toolsets as planners see them."""

from __future__ import annotations

import asyncio
import logging
from typing import Self

import pytest
from prefect_swarm.errors import SandboxError, ToolsetError
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.tasks.planner.facts import asked_toolsets
from prefect_swarm.toolsets.catalogue import Catalogue, ToolsetOverride
from pydantic_ai.toolsets import FunctionToolset

RUN = RunFolder.of("a" * 32)


class _Closed(FunctionToolset[None]):
    def __init__(self, error: Exception) -> None:
        super().__init__()
        self._error = error

    async def __aenter__(self) -> Self:
        raise self._error


def open_toolset() -> ToolsetOverride:
    def price(of: str) -> str:
        """Say what something costs."""
        return of

    tools = FunctionToolset[None]()
    tools.add_function(price)
    return ToolsetOverride("shop", tools)


def closed(error: Exception) -> ToolsetOverride:
    return ToolsetOverride("python", _Closed(error))


def test_a_planner_is_shown_what_each_tool_does() -> None:
    (fact,) = asyncio.run(asked_toolsets(Catalogue.of([open_toolset()]), RUN))
    assert fact.name == "shop"
    assert [(tool.name, tool.about) for tool in fact.tools] == [
        ("price", "Say what something costs.")
    ]


def test_without_a_sandbox_what_needs_it_is_not_offered_and_nothing_else_is_lost(
    caplog: pytest.LogCaptureFixture,
) -> None:
    catalogue = Catalogue.of([closed(SandboxError("There is no sandbox.")), open_toolset()])
    with caplog.at_level(logging.WARNING, logger="prefect_swarm.tools"):
        facts = asyncio.run(asked_toolsets(catalogue, RUN))
    assert [fact.name for fact in facts] == ["shop"]
    assert "not offered the toolset python: There is no sandbox." in caplog.text


def test_a_toolset_that_is_missing_otherwise_is_an_error_before_the_plan() -> None:
    catalogue = Catalogue.of([open_toolset(), closed(ToolsetError("Its server is gone."))])
    with pytest.raises(ToolsetError, match="server is gone"):
        asyncio.run(asked_toolsets(catalogue, RUN))
