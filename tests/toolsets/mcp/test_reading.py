"""The servers of a run come from files and from Prefect blocks."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from prefect_swarm.blocks import McpServer
from prefect_swarm.errors import InputError
from prefect_swarm.toolsets.mcp.configuration import HttpServer, McpEndpoint, OwnMarks, StdioServer
from prefect_swarm.toolsets.mcp.toolset import servers_named
from pydantic import SecretStr


def named(text: str | None, **variables: str) -> tuple[McpEndpoint, ...]:
    return asyncio.run(servers_named(text, variables))


def written(path: Path, *names: str) -> Path:
    servers = {name: {"command": "${RUN:-x}"} for name in names}
    path.write_text(json.dumps({"mcpServers": servers}))
    return path


def refused(text: str) -> InputError:
    with pytest.raises(InputError) as caught:
        named(text)
    return caught.value


def test_no_name_is_no_server() -> None:
    assert named(None) == named("") == ()


def test_several_files_are_read_in_their_order(tmp_path: Path) -> None:
    first, second = written(tmp_path / "a.json", "b", "a"), written(tmp_path / "b.json", "c")
    found = named(f"{first}, {second}", RUN="y")
    assert [server.name for server in found] == ["b", "a", "c"]
    assert found[0].how == StdioServer(command="y")


def test_variables_are_those_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUN", "z")
    [server] = asyncio.run(servers_named(str(written(tmp_path / "a.json", "a"))))
    assert server.how == StdioServer(command="z")


def test_names_of_several_files_are_told_apart_as_those_of_a_single_file(tmp_path: Path) -> None:
    files = written(tmp_path / "a.json", "My Notes"), written(tmp_path / "b.json", "My.Notes")
    found = named(",".join(map(str, files)), RUN="y")
    assert [server.shown for server in found] == ["My Notes", "My.Notes"]
    both = written(tmp_path / "both.json", "My Notes", "My.Notes")
    assert found == named(str(both), RUN="y")


def test_two_servers_of_a_name_are_refused(tmp_path: Path) -> None:
    other = tmp_path / "b.json"
    other.write_text('{"mcpServers": {"a": {"command": "other"}}}')
    assert (
        "Two MCP servers are named 'a'"
        in refused(f"{written(tmp_path / 'a.json', 'a')},{other}").problem
    )


def test_the_same_server_in_two_files_is_one(tmp_path: Path) -> None:
    files = f"{written(tmp_path / 'a.json', 'a')},{written(tmp_path / 'b.json', 'a', 'b')}"
    assert [server.name for server in named(files)] == ["a", "b"]


def test_a_file_of_an_editor_knows_its_workspace_and_says_what_means_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / ".vscode"
    folder.mkdir()
    (tmp_path / "keys.env").write_text("KEY=abc")
    entry = {"command": "x", "cwd": "${workspaceFolder}", "gallery": True, "dev": {}}
    (folder / "mcp.json").write_text(
        json.dumps({"servers": {"My Notes": {**entry, "envFile": "${workspaceFolder}/keys.env"}}})
    )
    with caplog.at_level("INFO", "prefect_swarm.toolsets"):
        [server] = named(str(folder / "mcp.json"))
    assert server.how == StdioServer(command="x", cwd=str(tmp_path), env={"KEY": "abc"})
    [line] = caplog.messages
    assert line.endswith("has keys that mean nothing here. My Notes: gallery, dev")


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    assert "MCP configuration" in refused(str(tmp_path / "gone.json")).problem


@pytest.mark.parametrize("name", ["block:mcp-server/", "block:llama-cpp/x", "block:x"])
def test_a_name_of_another_block_is_refused(name: str) -> None:
    assert refused(name).fix == "Write block:mcp-server/NAME."


@pytest.mark.usefixtures("prefect_server")
def test_a_block_keeps_its_values_secret_and_gives_them_to_the_server() -> None:
    block = McpServer(
        url="https://x.org/mcp",
        headers={"Authorization": SecretStr("Bearer ${not-expanded}")},
        idempotent=["get"],
        description="Notes of the team.",
    )
    block.save("notes", overwrite=True)
    assert "not-expanded" not in block.model_dump_json()
    [server] = named("block:mcp-server/notes")
    assert server == McpEndpoint(
        name="notes",
        how=HttpServer(
            url="https://x.org/mcp", headers={"Authorization": "Bearer ${not-expanded}"}
        ),
        marks=OwnMarks(idempotent=("get",)),
        about="Notes of the team.",
    )


@pytest.mark.usefixtures("prefect_server")
def test_a_block_of_a_process_has_its_environment() -> None:
    block = McpServer(command="serve", args=["--all"], env={"KEY": SecretStr("abc")}, cwd="/tmp")  # noqa: S108
    block.save("served", overwrite=True)
    [server] = named("block:mcp-server/served")
    assert server.how == StdioServer(
        command="serve",
        args=("--all",),
        env={"KEY": "abc"},
        cwd="/tmp",  # noqa: S108
    )


@pytest.mark.usefixtures("prefect_server")
def test_a_block_may_have_a_name_that_no_toolset_can_have() -> None:
    McpServer(command="serve").save("21st-dev", overwrite=True)
    [server] = named("block:mcp-server/21st-dev")
    assert (server.name, server.shown) == ("server-21st-dev", "21st-dev")


@pytest.mark.usefixtures("prefect_server")
def test_a_block_of_an_older_server_says_so() -> None:
    McpServer(url="https://x.org/events", sse=True).save("older", overwrite=True)
    [server] = named("block:mcp-server/older")
    assert server.how == HttpServer(url="https://x.org/events", kind="sse")


@pytest.mark.usefixtures("prefect_server")
def test_a_block_that_is_not_there_is_told() -> None:
    error = refused("block:mcp-server/gone")
    assert "There is no block of an MCP server 'gone'" in error.problem
    assert "Prefect UI" in error.fix
