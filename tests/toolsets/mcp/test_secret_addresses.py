"""A password in an MCP server's address is refused; one that a variable holds is never shown."""

from __future__ import annotations

import json
from typing import Any

import pytest
from prefect_swarm.blocks import McpServer
from prefect_swarm.errors import InputError
from prefect_swarm.host.secrets import mask
from prefect_swarm.toolsets.mcp.configuration import McpEndpoint, read_servers, server_of

HOST = "host.example/mcp"


def read(entry: dict[str, Any], **variables: str) -> McpEndpoint:
    text = json.dumps({"mcpServers": {"notes": entry}})
    return read_servers(text, variables, "tools.json")[0]


@pytest.mark.attack("private")
@pytest.mark.parametrize(
    "entry",
    [
        {"url": f"https://user:hunter2@{HOST}"},
        {"url": f"https://hunter2@{HOST}"},
        {"type": "sse", "url": f"https://{HOST}?api_key=hunter2"},
        {"url": f"https://{HOST}?key=hunter2&tools=a"},
        {"url": f"https://{HOST}#token=hunter2"},
        {"url": f"https://{HOST}?token=${{T:-hunter2}}"},
        {"url": f"https://user:hunter2${{T}}@{HOST}?token=hunter2"},
        {"serverUrl": f"https://{HOST}?exaApiKey=hunter2"},
        {"command": "npx", "args": ["mcp-remote", f"https://{HOST}?token=hunter2"]},
        {"command": "npx", "args": ["mcp-remote", f"--url=https://user:hunter2@{HOST}"]},
    ],
    ids=str,
)
def test_a_secret_that_the_file_has_is_refused_and_not_repeated(entry: dict[str, Any]) -> None:
    with pytest.raises(InputError) as caught:
        read(entry, T="from-outside")
    assert "'notes' of tools.json" in caught.value.problem
    assert "hunter2" not in f"{caught.value.problem} {caught.value.fix}"
    assert "${VARIABLE}" in caught.value.fix


@pytest.mark.attack("private")
@pytest.mark.parametrize(
    "entry",
    [
        {"url": f"https://{HOST}?token=${{T}}"},
        {"url": f"https://user:${{T}}@{HOST}"},
        {"url": f"https://${{T}}@{HOST}"},
        {"command": "npx", "args": ["mcp-remote", f"https://{HOST}?token=${{T}}"]},
        {"command": "x", "args": ["--api-key", "${T}"]},
        {"command": "x", "args": ["--token=${T}"]},
        {"command": "x", "args": ["postgresql://me:hunter2x@localhost/db"]},
    ],
    ids=str,
)
def test_what_a_variable_or_an_argument_holds_is_in_no_text(entry: dict[str, Any]) -> None:
    server = read(entry, T="hunter2x")
    assert "hunter2x" not in mask("it says: no hunter2x here", server.secrets)


def test_a_new_token_in_its_address_is_no_other_server() -> None:
    entry = {"url": f"https://{HOST}?token=${{T}}"}
    assert read(entry, T="first-one").place == read(entry, T="second-one").place


@pytest.mark.attack("private")
def test_a_blocks_address_is_refused_as_well() -> None:
    block = McpServer(url=f"https://{HOST}?token=hunter2")
    with pytest.raises(InputError) as caught:
        server_of("notes", block.get_entry(), None, "block:mcp-server/notes", slug="notes")
    assert "hunter2" not in str(caught.value)
    assert "header" in caught.value.fix
