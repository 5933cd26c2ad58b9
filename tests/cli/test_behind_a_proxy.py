"""A whole run where a proxy is configured: no server on this machine is asked through it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from mcp_http_server import http_server
from provider_server import Asked, Reply, provider_server
from proxies import recording_proxy

from .conftest import COMMAND

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("swarm_home", "new_database")]


def answer(asked: Asked) -> Reply:
    if asked.body.get("tools") and not any("result" in text for text in asked.texts[1:]):
        has_result = any(message["role"] == "tool" for message in asked.body["messages"])
        if not has_result:
            return Reply(tool_args={"item": "lamp"})
    return Reply("There are 4 lamps.")


def test_a_run_with_its_own_server_a_provider_and_tools_on_this_machine(tmp_path: Path) -> None:
    plan = {
        "objective": "Count the lamps",
        "agents": [{"name": "Clerk", "system_prompt": "You count.", "tools": ["shop"]}],
        "steps": [{"id": "S1", "agent": "Clerk", "prompt": "How many lamps are there?"}],
    }
    (tmp_path / "plan.json").write_text(json.dumps(plan), "utf-8")
    with (
        recording_proxy() as (environment, asked_of_proxy),
        provider_server(answer) as provider,
        http_server() as (address, shop),
    ):
        servers = {"mcpServers": {"shop": {"url": address}}}
        (tmp_path / "mcp.json").write_text(json.dumps(servers), "utf-8")
        done = subprocess.run(
            [*COMMAND, "run", "--plan", "plan.json", "--mcp", "mcp.json",
             "--model", provider.name(), "--json"],
            cwd=tmp_path,
            env={**environment, "OPENAI_API_KEY": "x"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["answer"] == "There are 4 lamps."
    assert provider.asked
    assert shop.authorizations
    assert asked_of_proxy == []
