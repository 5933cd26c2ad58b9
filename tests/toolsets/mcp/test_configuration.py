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
    assert server is not None
    assert server.secrets == ("${K}",)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"server": {}}', '{"mcpServers": []}', "{,}"])
def test_what_is_no_configuration_is_refused_with_an_example(text: str) -> None:
    error = refused(text)
    assert "tools.json" in error.problem
    assert '"command": "mcp-server-time"' in error.fix


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ("x", "is not an object"),
        ({}, "neither command nor url"),
        ({"command": "x", "url": "https://x"}, "both command and url"),
        ({"command": ""}, "neither command nor url"),
        ({"command": 7}, "command: "),
        ({"command": "x", "args": "--flag"}, "args: "),
        ({"command": "x", "env": {"A": []}}, "env.A: "),
        ({"url": "ftp://x"}, "url: "),
        ({"url": "https://x/ws", "type": "ws"}, "its type 'ws' can't be used"),
        ({"command": "x", "type": "sse"}, "its type 'sse' can't be used with command"),
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


def names(text: str) -> list[tuple[str, str]]:
    return [(server.name, server.title) for server in read_servers(text, {}, "x")]


def test_names_are_taken_as_they_stand_in_files_and_plans_get_others() -> None:
    written = ["notes", "My Notes", "io.github.x/y", "21st-dev", "Übersicht", "a b", "a.b"]
    text = json.dumps({"mcpServers": {name: {"command": "x"} for name in written}})
    found = names(text)
    assert [name for name, _ in found][:5] == [
        "notes",
        "My_Notes",
        "io_github_x_y",
        "server-21st-dev",
        "Ubersicht",
    ]
    assert [title for _, title in found] == ["", *written[1:]]
    assert len({name for name, _ in found}) == len(written)


def test_comments_trailing_commas_and_a_mark_at_the_beginning_are_no_fault() -> None:
    text = """\ufeff{
      // "off": {"command": "x"},
      "mcpServers": {
        "a": {"command": "x", "args": ["http://x", "/* kept */", ",]",],}, /* the
        last */
      },
    }"""
    [server] = read_servers(text, {}, "x")
    assert server.how == StdioServer(command="x", args=("http://x", "/* kept */", ",]"))


def test_a_server_that_is_there_twice_is_refused() -> None:
    assert 'the key "a" is there twice' in refused('{"mcpServers": {"a": {}, "a": {}}}').problem
    text = '{"mcpServers": {"a": {"command": "x"}}, "servers": {"a": {"command": "y"}}}'
    assert "two servers are named 'a'" in refused(text).problem


ARGS, ENV = ["y", 1], {"K": True, "N": 2, "O": None}
ENTRY = {"command": "x", "args": ARGS, "env": ENV}


@pytest.mark.parametrize(
    "document",
    [
        {"mcpServers": {"a": ENTRY}},
        {"servers": {"a": {"type": "stdio", **ENTRY}}},
        {"context_servers": {"a": {"command": {"path": "x", "args": ARGS, "env": ENV}}}},
        {"mcp": {"a": {"type": "local", "command": ["x", *ARGS], "environment": ENV}}},
        {"mcp": {"servers": {"a": ENTRY}}},
    ],
)
def test_the_forms_of_other_programs_say_the_same(document: dict[str, Any]) -> None:
    [server] = read_servers(json.dumps(document), {}, "x")
    assert server.how == StdioServer(command="x", args=("y", "1"), env={"K": "true", "N": "2"})


@pytest.mark.parametrize(
    ("entry", "kind"),
    [
        ({"url": "https://x.org/mcp"}, "http"),
        ({"httpUrl": "https://x.org/sse"}, "http"),
        ({"httpUrl": "https://x.org/mcp", "url": "https://x.org/other"}, "http"),
        ({"serverUrl": "https://x.org/mcp"}, "http"),
        ({"url": "https://x.org/mcp", "transport": "streamable-http"}, "http"),
        ({"url": "https://x.org/mcp", "type": "streamableHttp"}, "http"),
        ({"url": "https://x.org/mcp", "type": "remote"}, "http"),
        ({"url": "https://x.org/sse?key=1"}, "sse"),
        ({"url": "https://x.org/mcp", "type": "SSE"}, "sse"),
        ({"url": "https://x.org/mcp", "transportType": "sse"}, "sse"),
    ],
)
def test_an_address_says_how_it_is_spoken_to(entry: dict[str, Any], kind: str) -> None:
    [server] = read({"a": entry})
    assert isinstance(server.how, HttpServer)
    assert (server.how.kind, server.transport) == (kind, {"http": "HTTP", "sse": "SSE"}[kind])
    assert "other" not in server.how.url


@pytest.mark.parametrize(
    "off", [{"disabled": True}, {"disabled": "true"}, {"enabled": False}, {"isActive": False}]
)
def test_a_server_that_is_turned_off_is_left_out(off: dict[str, Any]) -> None:
    assert read({"a": {"command": "${GONE}", **off}}) == ()


def test_permissions_of_other_programs_are_none_here_and_their_bounds_hold() -> None:
    keys = {"autoApprove": ["send"], "alwaysAllow": ["send"], "trust": True, "timeout": 5}
    bounds = {"includeTools": ["send(to)", "get"], "excludeTools": ["get"], "disabledTools": ["x"]}
    [server] = read({"a": {"command": "x", **keys, **bounds}})
    assert server.passed_over == ("autoApprove", "alwaysAllow", "trust", "timeout")
    assert (server.only, server.without) == (("send", "get"), ("get", "x"))
    assert server.marks == OwnMarks()


def inputs(**default: str) -> str:
    server = {"command": "x", "env": {"A": "${input:api-key}", "B": "${env:HOME}"}}
    entry = {"id": "api-key", "type": "promptString", **default}
    return json.dumps({"inputs": [entry], "servers": {"a": server}})


def test_what_vs_code_asks_for_is_an_environment_variable() -> None:
    [server] = read_servers(inputs(), {"API_KEY": "k", "HOME": "/h"}, "x")
    assert server.how == StdioServer(command="x", env={"A": "k", "B": "/h"})
    [server] = read_servers(inputs(default="d"), {"HOME": "/h"}, "x")
    assert server.how == StdioServer(command="x", env={"A": "d", "B": "/h"})
    error = refused(inputs(), HOME="/h")
    assert "the environment variable API_KEY for the input 'api-key' in env.A" in error.problem
    assert error.fix == "Set API_KEY."


def test_variables_of_an_env_file_stand_behind_those_of_the_entry() -> None:
    entry = {"command": "x", "env": {"A": "own"}, "envFile": "${workspaceFolder}/.env"}
    text = json.dumps({"servers": {"a": entry}})
    files = {"/w/.env": "# x\nA=file\nexport B='two # words' # note\nC = 3 # note\nnonsense\n"}
    [server] = read_servers(text, {"workspaceFolder": "/w"}, "x", files.__getitem__)
    assert server.how == StdioServer(command="x", env={"A": "own", "B": "two # words", "C": "3"})
