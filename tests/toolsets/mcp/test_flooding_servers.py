"""A server that sends without measure is read within bounds, and the run's loop goes on."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from flooding_mcp_server import FLOODING_SERVER
from growth import growth
from prefect_swarm.errors import ToolsetError
from prefect_swarm.plan.output import schema_problem
from prefect_swarm.toolsets.mcp.configuration import McpEndpoint, read_servers
from prefect_swarm.toolsets.mcp.listing import ToolList
from prefect_swarm.toolsets.mcp.owner import ServerOwner
from prefect_swarm.toolsets.mcp.session import readable_result
from pydantic_ai.exceptions import ToolFailed


def endpoint(listed: str) -> McpEndpoint:
    server = {"command": sys.executable, "args": [str(FLOODING_SERVER), listed]}
    (found,) = read_servers(json.dumps({"mcpServers": {"flood": server}}), {}, "a test")
    return found


def asked(listed: str, ask: Callable[[ServerOwner], Awaitable[Any]]) -> Any:
    async def scenario() -> Any:
        owner = ServerOwner(endpoint(listed), 2)
        try:
            return await ask(owner)
        finally:
            await owner.close()

    return asyncio.run(scenario())


def tools(listed: str) -> ToolList:
    return asked(listed, lambda owner: owner.tools(60))


@pytest.mark.attack("load")
@pytest.mark.parametrize(
    ("listed", "read", "why"),
    [
        ("many", 1_000, "lists 20,000 tools"),
        ("pages", 1_000, "lists 1,200 tools"),
        ("same_page", 1, ""),
        ("large_schema", 1, "more than 200,000"),
        ("references", 1, ""),
        ("mixed_names", 1, "long list of names"),
    ],
)
def test_a_list_is_read_within_bounds(listed: str, read: int, why: str) -> None:
    found = tools(listed)
    assert len(found.definitions) == read
    assert why in " ".join(found.left_out.values())


@pytest.mark.attack("load")
def test_pages_without_a_tool_come_to_an_end() -> None:
    with pytest.raises(ToolsetError, match="pages"):
        tools("empty_pages")


@pytest.mark.attack("load")
def test_a_result_of_many_parts_is_read_up_to_a_bound() -> None:
    result = asked("few", lambda owner: owner.call("look", {}, 60))
    assert len(result) == 1_001
    assert result[-1] == "[… 49,000 more parts are left out …]"


@pytest.mark.attack("load")
def test_progress_without_end_ends_with_the_time_of_the_call_and_others_are_answered() -> None:
    async def ask(owner: ServerOwner) -> str:
        await owner.tools(60)
        with pytest.raises(ToolFailed, match="gave no answer within 1 s"):
            await owner.call("wait", {}, 1)
        # The server that only reports is given up, and another is started.
        return str(len(await owner.call("look", {}, 60)))

    assert asked("few", ask) == "1001"


@pytest.mark.attack("load")
def test_the_parts_of_a_result_take_no_more_time_than_their_bound() -> None:
    part = {"type": "text", "text": "x"}
    assert growth(lambda n: readable_result({"content": [part] * n}), 1_000, below=4) < 4


@pytest.mark.attack("load")
def test_references_in_a_row_are_followed_once() -> None:
    def check(count: int) -> None:
        chain = {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(count)}
        assert schema_problem({"$ref": "#/$defs/d0", "$defs": {**chain, f"d{count}": {}}}) == ""

    assert growth(check, 50) < 9
