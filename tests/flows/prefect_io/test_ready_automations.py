"""Ready automations tell people of a run by a webhook, and retry what is partial, by themselves."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
import yaml
from deployments import deploy_all, start_deployment
from own_server import OwnServer, own_server, wait_for
from prefect.blocks.webhook import Webhook
from prefect.events.schemas.automations import AutomationCore
from prefect_swarm.cli.app import app
from prefect_swarm.errors import InputError
from prefect_swarm.flows.automations import (
    NotifyBlock,
    automation_file,
    automations_for,
    ready_automations,
)
from prefect_swarm.store.folder import RunFolder
from provider_runs import serving
from provider_server import Asked, ProviderServer, Reply
from pydantic import SecretStr
from two_machines import flow_run_of
from typer.testing import CliRunner

NAMES = tuple(each["name"] for each in ready_automations())
BLOCK = NotifyBlock(uuid4(), is_webhook=False)


def test_each_is_one_that_prefect_takes() -> None:
    for block in (BLOCK, BLOCK._replace(is_webhook=True)):
        made = automations_for((), block, uuid4())
        assert tuple(each["name"] for each in made) == NAMES
        for each in made:
            AutomationCore.model_validate(each)


def test_without_a_target_those_that_need_none_are_left() -> None:
    made = automations_for((), None, None)
    assert {action["type"] for each in made for action in each["actions"]} == {
        "change-flow-run-state"
    }


def test_the_file_has_them_as_they_are() -> None:
    made = automations_for((), BLOCK, None, failures=3)
    assert yaml.safe_load(automation_file(made))["automations"] == made
    assert "&id" not in automation_file(made)
    (gates,) = [each for each in made if each["name"] == "notify-swarm-gates"]
    assert gates["trigger"]["threshold"] == 3


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (["notify-everybody"], "no ready automation 'notify-everybody'"),
        (["notify-swarm-ends"], "--notify SLUG/NAME"),
        (["retry-partial-swarms"], "Deploy swarm-retry/swarm-retry"),
    ],
)
def test_one_that_can_not_be_had_is_said(names: list[str], says: str) -> None:
    with pytest.raises(InputError) as error:
        automations_for(names, None, None)
    assert says in str(error.value)


@dataclass
class Told:
    """A server of a webhook, and what it was told.

    Attributes:
        hangs: While it is set, nothing is answered.
    """

    url: str = ""
    said: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    hangs: threading.Event = field(default_factory=threading.Event)
    goes_on: threading.Event = field(default_factory=threading.Event)

    def of(self, event: str) -> list[dict[str, Any]]:
        return [each for each in self.said if each["event"] == event]


@pytest.fixture(scope="module")
def told() -> Iterator[Told]:
    made = Told()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            made.said.append(json.loads(body))
            if made.hangs.is_set():
                made.goes_on.wait()
            with suppress(OSError):
                self.send_response(200)
                self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
            del format, args

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    made.url = f"http://127.0.0.1:{server.server_port}/told"
    yield made
    made.goes_on.set()
    server.shutdown()
    server.server_close()
    thread.join()


@dataclass
class Stage:
    """A server with the automations, a provider, and a worker that runs what is due."""

    server: OwnServer
    provider: ProviderServer
    fails: set[str] = field(default_factory=set[str])

    def start(self, objective: str, **options: Any) -> UUID:
        steps = [
            {"id": name, "agent": "Reader", "prompt": f"{objective}: {name}"}
            for name in ("S1", "S2")
        ]
        agents = [{"name": "Reader", "system_prompt": "You read."}]
        plan = {"objective": objective, "agents": agents, "steps": steps}
        chosen = {"model": self.provider.name(), "memory": False, "max_attempts": 1, **options}
        given = {"objective": objective, "plan": plan, "options": chosen}
        return start_deployment("swarm/swarm", given)

    def asked(self, words: str) -> int:
        return sum(words in asked.prompt for asked in self.provider.asked)


@pytest.fixture(scope="module")
def stage(
    new_database: Path, tmp_path_factory: pytest.TempPathFactory, told: Told
) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("automations")
    home = str(folder / "swarm")

    def reply(asked: Asked) -> Reply:
        failing = next((words for words in stage.fails if words in asked.prompt), None)
        if failing is not None:
            stage.fails.discard(failing)
            return Reply("")
        return Reply("An answer.")

    with (
        pytest.MonkeyPatch.context() as patch,
        serving(reply) as provider,
        own_server(folder / "server", new_database, PREFECT_INTEGRATIONS_SWARM_HOME=home) as server,
    ):
        patch.setenv("PREFECT_INTEGRATIONS_SWARM_HOME", home)
        Webhook(url=SecretStr(told.url), allow_private_urls=True).save("loopback", overwrite=True)
        deploy_all()
        stage = Stage(server, provider)
        yield stage


def made(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["automations", *arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def reached(flow_run_id: UUID, *names: str) -> Callable[[], bool]:
    return lambda: flow_run_of(flow_run_id).state_name in names


@pytest.mark.slow
def test_they_are_made_once_and_renewed_then(stage: Stage) -> None:
    arguments = ("--create", "--notify", "webhook/loopback")
    first, again = made(*arguments), made(*arguments)
    assert [line.split()[-1] for line in first.splitlines()] == ["made."] * len(NAMES)
    assert [line.split()[-1] for line in again.splitlines()] == ["renewed."] * len(NAMES)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("block", "says"),
    [
        ("loopback", "names no block"),
        ("webhook/nowhere", "no block webhook/nowhere"),
        ("secret/nowhere", "no block secret/nowhere"),
    ],
)
@pytest.mark.usefixtures("stage")
def test_a_block_that_tells_nobody_is_said(block: str, says: str) -> None:
    result = CliRunner().invoke(app, ["automations", "--notify", block])
    assert result.exit_code == 2
    assert says in " ".join(result.stderr.split())


@pytest.mark.slow
def test_an_approval_that_waits_is_told_and_answered(stage: Stage, told: Told) -> None:
    made("--create", "--notify", "webhook/loopback")
    with stage.server.worker():
        run = stage.start("approved", approve=["plan"])
        wait_for(lambda: bool(told.of("swarm.approval.requested")), "what is told of the approval")
        (said,) = told.of("swarm.approval.requested")
        store = RunFolder.find(str(run))
        assert f"prefect-swarm approve {store.run_id} plan" in said["text"]
        assert "The plan of 2 steps" in said["text"]
        assert f"/runs/flow-run/{run}" in said["text"]
        wait_for(reached(run, "Suspended"), "a suspended run")
        answered = CliRunner().invoke(app, ["approve", store.run_id])
        assert answered.exit_code == 0, answered.output
        wait_for(reached(run, "Completed"), "the end of the approved run")


@pytest.mark.slow
def test_a_partial_run_is_told_and_tried_again_once(stage: Stage, told: Told) -> None:
    made("--create", "--notify", "webhook/loopback")
    stage.fails |= {"mended: S2"}
    with stage.server.worker():
        run = stage.start("mended")
        wait_for(lambda: bool(told.of("swarm.run.partial")), "what is told of the partial run")
        wait_for(reached(run, "Completed"), "the end of the run that was tried again")
    assert (stage.asked("mended: S1"), stage.asked("mended: S2")) == (1, 2)
    (said,) = told.of("swarm.run.partial")
    assert said["payload"]["missing"] == "1 step missing: S2"


@pytest.mark.slow
def test_a_webhook_that_hangs_holds_up_no_run(stage: Stage, told: Told) -> None:
    made("--create", "--notify", "webhook/loopback")
    told.said.clear()
    told.hangs.set()
    with stage.server.worker():
        run = stage.start("not held up", approve=["plan"])
        wait_for(lambda: bool(told.of("swarm.approval.requested")), "what is told of the approval")
        wait_for(reached(run, "Suspended"), "a suspended run")
        answered = CliRunner().invoke(app, ["approve", str(run)])
        assert answered.exit_code == 0, answered.output
        wait_for(reached(run, "Completed"), "the end of the run")
        assert not told.goes_on.is_set()
