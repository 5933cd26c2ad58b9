"""Services of a Prefect server: schedules, late runs, and the automations of the page.

Nobody triggers a run here. The server is a real one with all its services, and so is the worker.
"""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from deployments import WITHIN_S, automations, deploy_all, prefect_command, start_deployment
from flow_runs import plan_of
from own_server import OwnServer, kill_tree, own_server, wait_for
from prefect.client.orchestration import PrefectClient
from prefect.client.schemas.filters import DeploymentFilter, DeploymentFilterName
from prefect.client.schemas.objects import FlowRun, State
from prefect.states import Cancelling, Crashed, InfrastructurePending, Pending, Running, Submitting
from prefect_swarm import swarm_flow
from prefect_swarm.cli.app import app
from prefect_swarm.plan.task_ir import TaskIR, parse_plan
from prefect_swarm.store.folder import RunFolder
from provider_runs import serving
from provider_server import Asked, ProviderServer, Reply
from two_machines import ask_server, flow_run_of
from typer.testing import CliRunner

MOST_CRASHES = 10
HEARTBEAT_S = 1.0
BEGUN = (Pending, Submitting, InfrastructurePending, Running)
PLAN = plan_of({"id": "S1"}, {"id": "S2", "depends_on": ["S1"]})
ITEMS = [*"abcde"]
FOR_EACH = parse_plan(
    {
        "objective": PLAN.objective,
        "agents": [{"name": "Reader", "system_prompt": "You read closely."}],
        "steps": [
            {"id": "S1", "agent": "Reader", "prompt": "{item}", "for_each": {"items": ITEMS}},
            {"id": "S2", "collect": "list", "depends_on": ["S1"]},
        ],
        "final_step": "S2",
    }
)

pytestmark = pytest.mark.slow


def states_of(flow_run_id: UUID) -> list[str]:
    async def read(client: PrefectClient) -> list[State[Any]]:
        return await client.read_flow_run_states(flow_run_id)

    return [str(state.name) for state in ask_server(read)]


def wait_until(flow_run_id: UUID, *names: str) -> None:
    def reached() -> bool:
        return flow_run_of(flow_run_id).state_name in names

    wait_for(reached, f"{names} of the flow run, which has {states_of(flow_run_id)},")


@dataclass
class Stage:
    """The server, the models' provider, and what runs."""

    server: OwnServer
    provider: ProviderServer
    folder: Path
    held: dict[str, threading.Event] = field(default_factory=dict[str, threading.Event])

    def start(
        self,
        objective: str,
        *,
        job: dict[str, Any] | None = None,
        plan_of_it: TaskIR = PLAN,
        **options: Any,
    ) -> UUID:
        """Start a deployment's run, whose steps' prompts begin with its objective."""
        plan: dict[str, Any] = {**plan_of_it.model_dump(mode="json"), "objective": objective}
        for step in plan["steps"]:
            if not step.get("collect"):
                what = "{item}" if step.get("for_each") else step["id"]
                step["prompt"] = f"{objective}: {what}"
        chosen = {"model": self.provider.name(), "memory": False, **options}
        given = {"objective": objective, "plan": plan, "options": chosen}
        return start_deployment("swarm/swarm", given, job)

    def asked(self, objective: str) -> list[str]:
        """The steps or items that were asked for, in their order."""
        prompts = [asked.prompt for asked in self.provider.asked]
        return re.findall(rf"\b{objective}: (\w+)", "\n".join(prompts))


@pytest.fixture(scope="module")
def stage(new_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("services")
    home = str(folder / "swarm")

    def reply(asked: Asked) -> Reply:
        hold = next((e for words, e in stage.held.items() if words in asked.prompt), None)
        return Reply("An answer.", hold=hold)

    variables = {
        "PREFECT_INTEGRATIONS_SWARM_HOME": home,
        "PREFECT_INTEGRATIONS_SWARM_HEARTBEAT_S": str(HEARTBEAT_S),
    }
    with (
        pytest.MonkeyPatch.context() as patch,
        serving(reply) as provider,
        own_server(folder / "server", new_database, **variables) as server,
    ):
        patch.setenv("PREFECT_INTEGRATIONS_SWARM_HOME", home)
        deploy_all()
        prefect_command("automation", "create", "--from-file", str(automations(folder)))
        stage = Stage(server, provider, folder)
        yield stage


def deploy_nightly_batch(stage: Stage) -> Path:
    """Deploy a batch as the page says, with a schedule that is due in a moment; return its results.

    On a busy machine the moment may be over before the deployment is there: a later one is taken.
    """
    for seconds in (3, 15, 60):
        due = datetime.now(UTC) + timedelta(seconds=seconds)
        results = _deploy_nightly_batch(stage, due)
        wait_for(lambda: bool(runs_of_deployment("nightly")), "a scheduled run")
        first = runs_of_deployment("nightly")[0].expected_start_time
        if first is not None and first <= due + timedelta(seconds=1):
            break
    return results


def _deploy_nightly_batch(stage: Stage, due: datetime) -> Path:
    jobs, results = stage.folder / "jobs.jsonl", stage.folder / "results.jsonl"
    jobs.write_text(json.dumps({"objective": PLAN.objective, "plan": PLAN.model_dump(mode="json")}))
    options = {"model": stage.provider.name(), "memory": False}
    prefect_command(
        *("deploy", "prefect_swarm:swarm_batch", "--name", "nightly", "--pool", "swarm"),
        *("--interval", "86400", "--anchor-date", due.isoformat()),
        *("--param", f"input_path={jobs}", "--param", f"output_path={results}"),
        *("--param", f"options={json.dumps(options)}"),
    )
    return results


def runs_of_deployment(name: str) -> list[FlowRun]:
    only = DeploymentFilter(name=DeploymentFilterName(any_=[name]))
    runs = ask_server(lambda client: client.read_flow_runs(deployment_filter=only))
    return sorted(runs, key=lambda run: str(run.expected_start_time))


@dataclass
class Scenario:
    """Runs that were all brought into their situations, whose worker was killed then."""

    stage: Stage
    results: Path
    late: list[str]
    killed: UUID
    killed_among_items: UUID
    never_began: UUID
    suspended: UUID
    cancelling: UUID
    long: UUID
    begun: dict[str, UUID]


@pytest.fixture(scope="module")
def scenario(stage: Stage) -> Iterator[Scenario]:
    results = deploy_nightly_batch(stage)
    wait_until(runs_of_deployment("nightly")[0].id, "Late")
    late = states_of(runs_of_deployment("nightly")[0].id)

    stage.held["killed: S2"] = threading.Event()
    stage.held["items: c"] = threading.Event()
    once = stage.folder / "once"
    first = f"sh -c 'mkdir {once} && exec sleep 600; exec {sys.executable} -m prefect.engine'"
    with stage.server.worker() as worker:
        suspended = stage.start("suspended", approve=["plan"])
        wait_until(suspended, "Suspended")
        wait_until(runs_of_deployment("nightly")[0].id, "Completed")
        killed = stage.start("killed")
        among_items = stage.start("items", plan_of_it=FOR_EACH, max_concurrency=1)
        never_began = stage.start("never began", job={"command": first})
        wait_for(lambda: stage.asked("killed") == ["S1", "S2"], "the second step")
        wait_for(lambda: stage.asked("items") == ["a", "b", "c"], "the third item")
        wait_for(once.is_dir, "the process that never begins")
        kill_tree(worker.pid)
    stage.held["killed: S2"].set()
    stage.held["items: c"].set()

    begun = {state.__name__: stage.start(state.__name__) for state in BEGUN}
    cancelling = stage.start("cancelling")

    async def died(client: PrefectClient) -> None:
        for make in BEGUN:
            await client.set_flow_run_state(begun[make.__name__], make(), force=True)
        for state in (Running(), Cancelling()):
            await client.set_flow_run_state(cancelling, state, force=True)

    ask_server(died)
    stage.held["long: S1"] = threading.Event()
    with stage.server.worker():
        long = stage.start("long")
        yield Scenario(
            stage,
            results,
            late,
            killed,
            among_items,
            never_began,
            suspended,
            cancelling,
            long,
            begun,
        )


def test_a_schedule_makes_a_run_that_a_worker_takes_though_it_is_late(scenario: Scenario) -> None:
    assert scenario.late == ["Scheduled", "Late"]
    run = runs_of_deployment("nightly")[0]
    assert run.auto_scheduled
    (line,) = map(json.loads, scenario.results.read_text().splitlines())
    assert line["result"]["status"] == "completed"


def test_a_run_that_works_for_longer_than_the_watch_waits_is_left_alone(
    scenario: Scenario,
) -> None:
    wait_for(lambda: scenario.stage.asked("long") == ["S1"], "the first step")
    asked_at = datetime.now(UTC)
    wait_for(lambda: datetime.now(UTC) - asked_at > timedelta(seconds=2 * WITHIN_S), "time")
    scenario.stage.held["long: S1"].set()
    wait_until(scenario.long, "Completed")
    states = states_of(scenario.long)
    assert "Crashed" not in states, states
    assert states.count("Running") == 1, states


def test_a_run_of_a_killed_worker_goes_on_and_asks_for_no_finished_step_again(
    scenario: Scenario,
) -> None:
    wait_until(scenario.killed, "Completed")
    states = states_of(scenario.killed)
    assert "Crashed" in states, states
    after = states[states.index("Crashed") :]
    assert after[:2] == ["Crashed", "AwaitingRetry"], states
    assert states.count("Running") == 2, states
    assert scenario.stage.asked("killed") == ["S1", "S2", "S2"]


def test_a_run_of_a_killed_worker_goes_on_with_the_items_that_were_not_done(
    scenario: Scenario,
) -> None:
    wait_until(scenario.killed_among_items, "Completed")
    assert "Crashed" in states_of(scenario.killed_among_items)
    assert scenario.stage.asked("items") == ["a", "b", "c", "c", "d", "e"]
    result = RunFolder.find(str(scenario.killed_among_items)).result()
    assert result is not None
    ids = ["S1", *(f"S1[{number}]" for number, _ in enumerate(ITEMS, 1)), "S2"]
    assert [(step.id, step.status) for step in result.steps] == [(n, "succeeded") for n in ids]
    assert json.loads(result.answer) == ["An answer."] * len(ITEMS)


def test_a_run_whose_worker_died_before_it_began_goes_on(scenario: Scenario) -> None:
    wait_until(scenario.never_began, "Completed")
    states = states_of(scenario.never_began)
    assert "Running" not in states[: states.index("Crashed")], states


@pytest.mark.parametrize("begun", [state.__name__ for state in BEGUN])
def test_a_run_that_was_left_at_a_state_of_its_beginning_goes_on(
    scenario: Scenario, begun: str
) -> None:
    wait_until(scenario.begun[begun], "Completed")
    states = states_of(scenario.begun[begun])
    assert states[states.index(begun) :][:3] == [begun, "Crashed", "AwaitingRetry"], states


@pytest.mark.usefixtures("stage")
def test_a_run_that_crashes_each_time_is_not_put_back_for_ever() -> None:
    def crashed_again() -> bool:
        async def crash(client: PrefectClient) -> None:
            for state in (Running(), Crashed()):
                await client.set_flow_run_state(run, state, force=True)

        before = states_of(run).count("Crashed")
        if before < MOST_CRASHES and flow_run_of(run).state_name != "Failed":
            ask_server(crash)
        return flow_run_of(run).state_name == "Failed"

    # No worker takes one that has no deployment.
    parameters = {"objective": "crashing"}
    run = ask_server(lambda client: client.create_flow_run(swarm_flow, parameters=parameters)).id
    wait_for(crashed_again, "the end of a run that crashes each time")
    states = states_of(run)
    assert states.count("Crashed") == MOST_CRASHES, states
    assert states[-2:] == ["Crashed", "Failed"], states


def test_a_run_that_was_being_cancelled_when_its_machine_died_is_cancelled(
    scenario: Scenario,
) -> None:
    wait_until(scenario.cancelling, "Cancelled")
    states = states_of(scenario.cancelling)
    # It may be said to be cancelling more than once; it is never put back.
    after = states[states.index("Running") + 1 :]
    assert set(after) == {"Cancelling", "Cancelled"}
    assert after[-1] == "Cancelled"


def test_a_run_that_waits_for_a_person_is_left_alone_and_goes_on_by_itself_when_approved(
    scenario: Scenario,
) -> None:
    suspended = flow_run_of(scenario.suspended).state
    assert suspended is not None
    age = datetime.now(UTC) - suspended.timestamp
    assert suspended.name == "Suspended"
    assert age > timedelta(seconds=2 * WITHIN_S), "the watch has had its time"

    approved = CliRunner().invoke(app, ["approve", RunFolder.find(str(scenario.suspended)).run_id])
    assert "A worker resumes it." in approved.output
    wait_until(scenario.suspended, "Completed")
    states = states_of(scenario.suspended)
    assert "Crashed" not in states
    assert scenario.stage.asked("suspended") == ["S1", "S2"]


def test_no_service_of_the_server_fails(scenario: Scenario) -> None:
    log = scenario.stage.server.log.read_text()
    # SQLite has one writer at a time, and Prefect tries again.
    errors: list[str] = re.findall(r"^[\w.]+(?:Error|Exception)\b.*$", log, re.MULTILINE)
    assert [error for error in errors if "database is locked" not in error] == [], log
