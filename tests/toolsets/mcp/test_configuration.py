"""The usual form of MCP configurations is read, and what is wrong in one is said with its place."""

from __future__ import annotations

import json
from typing import Any

import pytest
from prefect_swarm.errors import InputError
from prefect_swarm.toolsets.mcp.configuration import (
    HttpServer,
    McpEndpoint,
    OwnMarks,
    StdioServer,
    read_servers,
    server_of,
)


def read(servers: dict[str, Any], **variables: str) -> tuple[McpEndpoint, ...]:
    return read_servers(json.dumps({"mcpServers": servers}), variables, "tools.json")


def refused(text: str, **variables: str) -> InputError:
    with pytest.raises(InputError) as caught:
        read_servers(text, variables, "tools.json")
    return caught.value


def refused_entry(entry: object, **variables: str) -> InputError:
    return refused(json.dumps({"mcpServers": {"notes": entry}}), **variables)


def test_a_process_and_an_address_are_read() -> None:
    process, address = read(
        {
            "time": {"command": "mcp-server-time", "args": ["--tz", "${TZ}"], "env": {"A": "b"}},
            "notes": {"type": "http", "url": "https://x.org/mcp", "headers": {"K": "${KEY:-no}"}},
        },
        TZ="UTC",
    )
    assert process.name == "time"
    assert process.how == StdioServer(
        command="mcp-server-time", args=("--tz", "UTC"), env={"A": "b"}
    )
    assert address.how == HttpServer(url="https://x.org/mcp", headers={"K": "no"})
    assert (process.transport, address.transport) == ("stdio", "HTTP")


def test_what_other_programs_keep_in_the_file_is_passed_over() -> None:
    text = json.dumps(
        {
            "theme": "dark",
            "mcpServers": {
                "a": {"command": "x", "autoApprove": ["${y}"], "timeout": 60, "env": None},
                "b": {"command": "x", "disabled": True},
            },
        }
    )
    assert [server.name for server in read_servers(text, {}, "x")] == ["a"]


def test_own_marks_and_a_description_are_read() -> None:
    entry = {"command": "x", "swarm": {"idempotent": ["get"]}, "description": "Notes of the team."}
    [server] = read({"notes": entry})
    assert server.marks == OwnMarks(idempotent=("get",), acting=None)
    assert server.about == "Notes of the team."


def test_texts_of_a_block_are_taken_as_they_are() -> None:
    server = server_of("a", {"command": "x", "env": {"K": "${K}"}}, None, "a block")
    assert server.secrets == ("${K}",)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"servers": {}}', '{"mcpServers": []}'])
def test_what_is_no_configuration_is_refused_with_an_example(text: str) -> None:
    error = refused(text)
    assert "tools.json" in error.problem
    assert '"command": "mcp-server-time"' in error.fix


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ("x", "is no object"),
        ({}, "neither command nor url"),
        ({"command": "x", "url": "https://x"}, "both command and url"),
        ({"command": ""}, "command: "),
        ({"command": "x", "args": "--flag"}, "args: "),
        ({"command": "x", "env": {"A": 1}}, "env.A: "),
        ({"url": "ftp://x"}, "url: "),
        ({"url": "https://x/sse", "type": "sse"}, "its type 'sse' can't be used"),
        ({"command": "x", "type": "http"}, "its type 'http' can't be used"),
        ({"command": "x", "swarm": {"acts": []}}, "acts: "),
    ],
)
def test_a_wrong_server_is_told_by_name_and_place(entry: object, problem: str) -> None:
    error = refused_entry(entry)
    assert error.problem.startswith("The MCP server 'notes' of tools.json")
    assert problem in error.problem
    assert error.fix


def test_a_variable_that_is_not_set_is_told() -> None:
    error = refused_entry({"command": "x", "env": {"KEY": "${NOTES_KEY}"}})
    assert error.problem == (
        "The MCP server 'notes' of tools.json needs the environment variable NOTES_KEY in env.KEY, "
        "which isn't set."
    )


def test_a_wrong_value_that_may_be_secret_is_not_shown() -> None:
    error = refused_entry({"url": "https://x", "headers": {"K": ["${KEY}"]}}, KEY="s3cret")
    assert "headers.K" in error.problem
    assert "s3cret" not in error.problem


def test_a_name_that_plans_could_not_write_is_refused() -> None:
    error = refused('{"mcpServers": {"a b": {"command": "x"}}}')
    assert "can't be a toolset's name" in error.problem
