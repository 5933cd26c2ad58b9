"""Homes that share a PostgreSQL server and a Prefect server: one's run goes on in another one.

Each home has a mount, process and user namespace of its own; see `tests/support/homes.py`.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from deployments import automations, deploy_all, prefect_command, start_deployment
from homes import HOME, NEEDS_HOMES, Home, home_of
from letter_mcp_server import SERVER
from own_server import OwnServer, kill_tree, own_server, wait_for
from prefect_swarm.plan.task_ir import parse_plan
from prefect_swarm.store.postgres import PostgresRun
from provider_runs import serving
from provider_server import Asked, ProviderServer, Reply
from two_machines import ask_server, flow_run_of

pytestmark = [pytest.mark.slow, NEEDS_HOMES]

TOOLS = ("address", "send_letter")

PLAN = parse_plan(
    {
        "objective": "Send a letter",
        "agents": [
            {"name": "Writer", "system_prompt": "You write."},
            {"name": "Clerk", "system_prompt": "You send letters.", "tools": ["letters"]},
        ],
        "steps": [
            {"id": "S1", "agent": "Writer", "prompt": "do S1"},
            {"id": "S2", "agent": "Clerk", "prompt": "do S2", "depends_on": ["S1"]},
            {
                "id": "S3",
                "agent": "Writer",
                "prompt": "do S3",
                "depends_on": ["S2"],
                "approval": True,
            },
        ],
    }
)


class Office:
    """Says addresses and takes letters by HTTP; it confirms a letter only once it may."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.has_letter, self.may_confirm = threading.Event(), threading.Event()
        self.url = ""

    def do(self, what: str) -> None:
        self.asked.append(what)
        if what == "letter":
            self.has_letter.set()
            self.may_confirm.wait(60)


@contextmanager
def post_office() -> Generator[Office]:
    office = Office()

    class Counter(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            office.do(self.path.removeprefix("/"))
            # Who sent it may be gone.
            with suppress(OSError):
                self.send_response(200)
                self.send_header("content-length", "4")
                self.end_headers()
                self.wfile.write(b"sent")

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Counter) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        office.url = f"http://127.0.0.1:{server.server_port}"
        try:
            yield office
        finally:
            office.may_confirm.set()
            server.shutdown()
            thread.join()


def reply(asked: Asked) -> Reply:
    """Look the address up in S2 and send the letter; answer all else."""
    called = sum(message.get("role") == "tool" for message in asked.body["messages"])
    if "do S2" in asked.prompt and called < 2:
        return Reply(tool_args={}, tool_name=TOOLS[called])
    return Reply("Done.")


@dataclass
class World:
    """What the homes share, and how a home is made."""

    server: OwnServer
    provider: ProviderServer
    database: str
    folder: Path
    homes: dict[str, Home] = field(default_factory=dict[str, Home])

    def home(self, name: str) -> Home:
        """Return a home of that name, which is empty at first."""
        if name not in self.homes:
            made = home_of(name, self.folder, self.server.url, self.database)
            heartbeat = {"PREFECT_INTEGRATIONS_SWARM_HEARTBEAT_S": "1"}
            self.homes[name] = made.with_variables(**heartbeat)
        return self.homes[name]

    def wait_until(self, flow_run_id: UUID, name: str) -> None:
        """Wait for a state of a flow run; what the homes' workers wrote says why there is none."""
        try:
            wait_for(lambda: flow_run_of(flow_run_id).state_name == name, name)
        except AssertionError as error:
            logs = "\n".join(f"{home.name}:\n{home.log()}" for home in self.homes.values())
            raise AssertionError(f"{error}\n{logs}") from None


@pytest.fixture
def world(new_database: Path, runs_database: str, tmp_path: Path) -> Iterator[World]:
    with serving(reply) as provider, own_server(tmp_path / "server", new_database) as server:
        deploy_all()
        prefect_command("automation", "create", "--from-file", str(automations(tmp_path)))
        yield World(server, provider, runs_database, tmp_path)


def test_a_deployed_run_whose_machine_dies_in_a_call_goes_on_elsewhere_and_is_read_anywhere(
    world: World,
) -> None:
    oak, elm, ash = map(world.home, ("oak", "elm", "ash"))
    with post_office() as office:
        letters = {
            "command": sys.executable,
            "args": [str(SERVER), office.url],
            "swarm": {"acting": ["send_letter"]},
        }
        for home in (oak, elm):
            (home.folder / "tools.json").write_text(
                json.dumps({"mcpServers": {"letters": letters}})
            )
        options: dict[str, Any] = {
            "model": world.provider.name(),
            "memory": False,
            "mcp": f"{HOME}/tools.json",
            "approve": ["steps", "tools"],
        }
        given = {"objective": PLAN.objective, "plan": PLAN.model_dump(mode="json")}
        flow_run = start_deployment("swarm/swarm", {**given, "options": options})
        run_id = PostgresRun.of(world.database, str(flow_run)).run_id

        with oak.worker() as worker:
            world.wait_until(flow_run, "Suspended")
            assert asked_in(ash, run_id)["asked"] == "call"
            ash.call("prefect-swarm", "approve", run_id)
            wait_for(office.has_letter.is_set, "the letter")
            kill_tree(worker.pid)
        office.may_confirm.set()

        with elm.worker():
            world.wait_until(flow_run, "Suspended")
            # Whether the letter was sent nobody but a person can say, who looks.
            assert asked_in(ash, run_id)["asked"] == "uncertain_call"
            ash.call("prefect-swarm", "reject", run_id, "--why", "It was sent.")
            wait_for(lambda: asked_in(ash, run_id).get("step") == "S3", "the question about S3")
            world.wait_until(flow_run, "Suspended")
            ash.call("prefect-swarm", "approve", run_id)
            world.wait_until(flow_run, "Completed")

    assert office.asked == ["address", "letter"]
    prompts = [asked.prompt for asked in world.provider.asked]
    assert [
        sum(f"do {step}" in prompt.splitlines()[-1] for prompt in prompts)
        for step in ("S1", "S2", "S3")
    ] == [1, 3, 1]
    shown = oak.call("prefect-swarm", "inspect", run_id)
    assert "completed" in shown
    read = "import sys; from prefect_swarm.store.runs import find_run; "
    answer = oak.call("python", "-c", f"{read}print(find_run(sys.argv[1]).result().answer)", run_id)
    assert answer.strip() == "Done."
    assert not any((home.folder / ".prefect" / "swarm" / "runs").exists() for home in (oak, elm))
    states = ask_server(lambda client: client.read_flow_run_states(flow_run))
    assert [state.name for state in states].count("Crashed") == 1


def asked_in(home: Home, run_id: str) -> dict[str, Any]:
    """Return what a run waits for, as a home sees it; empty if for nothing."""
    found = json.loads(home.call("prefect-swarm", "waiting", run_id, "--json"))
    return next(iter(found["waiting"]), {})
