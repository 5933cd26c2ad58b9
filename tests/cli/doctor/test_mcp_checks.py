"""`doctor` says of each MCP server whether it is available, and which tools it has."""

from __future__ import annotations

import json
import os
import sys
import urllib.request
import webbrowser
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from oauth_mcp_server import oauth_server
from prefect_swarm.cli.doctor.checks import Check, check_mcp
from prefect_swarm.errors import InputError
from prefect_swarm.flows.options import SwarmOptions
from raw_mcp_server import TOOLS
from raw_servers import entry


def checked(folder: Path, **servers: Any) -> list[Check]:
    path = folder / "tools.json"
    path.write_text(json.dumps({"mcpServers": servers}))
    return list(check_mcp(SwarmOptions(mcp=str(path))))


def test_a_server_that_answers_is_ok_with_its_tools(tmp_path: Path) -> None:
    [check] = checked(tmp_path, raw=entry())
    assert (check.name, check.status) == ("mcp raw", "ok")
    assert check.detail.startswith(f"over stdio, {len(TOOLS)} tools: echo, pid, ")


def test_one_that_can_not_be_had_does_not_hide_another(tmp_path: Path) -> None:
    gone, raw = checked(tmp_path, gone={"command": "no-such-server"}, raw=entry())
    assert (gone.status, raw.status) == ("fail", "ok")
    assert gone.detail.startswith("The MCP server gone can't be started: ")
    assert "no-such-server" in gone.detail
    assert gone.fix == "Look at its configuration."


def test_a_tool_that_is_left_out_is_named_and_the_others_are_there(tmp_path: Path) -> None:
    [check] = checked(tmp_path, **{"My Notes": {**entry(), "env": {"ODD": True}}})
    assert (check.name, check.status) == ("mcp My Notes", "warn")
    assert check.detail.startswith(f"over stdio, {len(TOOLS) + 1} tools: echo, pid, ")
    assert "; plans call it My_Notes; left out: " in check.detail
    assert "dangling (its JSON Schema has a reference to what isn't in it" in check.detail


@pytest.mark.usefixtures("swarm_home")
def test_a_person_at_a_terminal_logs_in_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "tools.json"
    monkeypatch.setattr(webbrowser, "open", follow)
    with oauth_server() as shop, terminal(monkeypatch):
        path.write_text(json.dumps({"servers": {"shop": {"type": "http", "url": shop.url}}}))
        options = SwarmOptions(mcp=str(path))
        [before] = check_mcp(options)
        assert before.status == "fail"
        assert "prefect-swarm doctor --mcp FILE --login" in before.detail
        [check] = check_mcp(options, login=True)
        assert (check.status, check.detail[:17]) == ("ok", "over HTTP, 4 tool")
        [check] = check_mcp(options)
        assert check.status == "ok"
        assert shop.grants == ["authorization_code"]
    assert capfd.readouterr().err.startswith("Log in at shop: http://127.0.0.1:")


def test_without_a_terminal_nobody_is_asked_to_log_in(tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    path.write_text('{"mcpServers": {}}')
    with pytest.raises(InputError, match="needs a terminal"):
        check_mcp(SwarmOptions(mcp=str(path)), login=True)
    with pytest.raises(InputError, match="has no server to log in at"):
        check_mcp(SwarmOptions(), login=True)


def follow(address: str) -> bool:
    """Go where a browser would be led."""
    with urllib.request.urlopen(address) as page:  # noqa: S310 - a server of this test
        return page.status == 200


@contextmanager
def terminal(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """Have a terminal as standard input."""
    ours, theirs = os.openpty()
    with os.fdopen(ours, "rb"), os.fdopen(theirs, "r") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        yield


def test_a_wrong_configuration_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="neither command nor url"):
        checked(tmp_path, raw={})


def test_without_an_option_nothing_is_started() -> None:
    assert list(check_mcp(SwarmOptions())) == []
