"""`doctor` says of each MCP server whether it can be had, and which tools it has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from prefect_swarm.cli.doctor.check import Check
from prefect_swarm.cli.doctor.mcp_checks import check_mcp
from prefect_swarm.errors import InputError
from prefect_swarm.flows.options import SwarmOptions
from raw_servers import entry


def checked(folder: Path, **servers: Any) -> list[Check]:
    path = folder / "tools.json"
    path.write_text(json.dumps({"mcpServers": servers}))
    return list(check_mcp(SwarmOptions(mcp=str(path))))


def test_a_server_that_answers_is_ok_with_its_tools(tmp_path: Path) -> None:
    [check] = checked(tmp_path, raw=entry())
    assert (check.name, check.status) == ("mcp raw", "ok")
    assert check.detail.startswith("over stdio, 13 tools: echo, pid, ")


def test_one_that_can_not_be_had_does_not_hide_another(tmp_path: Path) -> None:
    gone, raw = checked(tmp_path, gone={"command": "no-such-server"}, raw=entry())
    assert (gone.status, raw.status) == ("fail", "ok")
    assert gone.detail.startswith("The MCP server gone can't be started: ")
    assert "no-such-server" in gone.detail
    assert gone.fix == "Look at its configuration."


def test_a_wrong_configuration_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="neither command nor url"):
        checked(tmp_path, raw={})


def test_without_an_option_nothing_is_started() -> None:
    assert list(check_mcp(SwarmOptions())) == []
