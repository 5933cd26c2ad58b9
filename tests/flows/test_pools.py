"""Parts of a run on a work pool of their own: a real server, real workers of process pools."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from deployments import start_deployment
from flow_runs import plan_of, steps_of
from own_server import OwnServer, own_server, wait_for
from pool_parts import deploy, make_pool, parts_of, set_state, small_plan
from prefect.client.schemas.actions import WorkPoolUpdate
from prefect.states import AwaitingRetry, Cancelling, Crashed, Running, Suspended
from prefect_swarm.errors import InputError
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.resume import resume
from prefect_swarm.flows.swarm import swarm as swarm_flow
from prefect_swarm.plan.task_ir import TaskIR
from prefect_swarm.store.events import PartEvent
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.protocol import run_id_of
from prefect_swarm.store.result import SwarmResult
from provider_runs import serving
from provider_server import Asked, ProviderServer, Reply
from two_machines import ask_server, flow_run_of

pytestmark = pytest.mark.slow

POOL, IDLE = "gpu-pool", "idle-pool"
"""A pool with a worker, and one without."""


def plan_on(pool: str | None, objective: str) -> TaskIR:
    """A plan whose second and third steps may be done on a pool."""
    where = {"pool": pool} if pool else {}
    return plan_of(
        {"id": "S1", "prompt": f"{objective}: list", "output": {"kind": "json"}},
        {"id": "S6", "prompt": f"{objective}: break", "optional": True},
        {
            "id": "S2",
            "agent": "",
            "prompt": "",
            "depends_on": ["S1"],
            "plan": {
                "steps": [
                    {"id": "S1", "agent": "Reader", "prompt": f"{objective}: inner one"},
                    {
                        "id": "S2",
                        "agent": "Reader",
                        "prompt": f"{objective}: inner two",
                        "depends_on": ["S1"],
                    },
                ]
            },
            **where,
        },
        {
            "id": "S3",
            "prompt": f"{objective}: item {{item}}",
            "depends_on": ["S6"],
            "for_each": {"items": "S1", "at_least": 2},
            **where,
        },
        {"id": "S4", "prompt": f"{objective}: follow", "for_each": {"items": "S3", "at_least": 2}},
        {"id": "S5", "prompt": f"{objective}: join", "depends_on": ["S2", "S3", "S4"]},
        objective=objective,
        escalation={"max_attempts": 1},
    )


@dataclass
class Stage:
    """The server, the models' provider, and what is held."""

    server: OwnServer
    provider: ProviderServer
    held: dict[str, threading.Event] = field(default_factory=dict[str, threading.Event])

    def options(self, **options: Any) -> dict[str, Any]:
        return {"model": self.provider.name(), "memory": False, **options}

    def run(self, plan: TaskIR, **options: Any) -> SwarmResult:
        return asyncio.run(self.running(plan, **options))

    async def running(self, plan: TaskIR, **options: Any) -> SwarmResult:
        given = SwarmOptions(**self.options(**options))
        return await swarm_flow(plan.objective, plan=plan, options=given)

    def start(self, plan: TaskIR) -> UUID:
        """Have the worker run a plan; return its flow run."""
        given = {"objective": plan.objective, "plan": plan.model_dump(mode="json")}
        return start_deployment(f"swarm/{POOL}", {**given, "options": self.options()})

    def prompts(self, objective: str) -> list[str]:
        return [each.prompt for each in self.provider.asked if f"{objective}:" in each.prompt]


@pytest.fixture(scope="module")
def stage(new_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("pools")
    home = str(folder / "swarm")

    def reply(asked: Asked) -> Reply:
        hold = next((e for words, e in stage.held.items() if words in asked.prompt), None)
        *_, task = re.findall(r"^\w+: (.*)", asked.prompt, re.MULTILINE)
        if task.startswith("list"):
            return Reply('["oak", "elm", "ash"]')
        return Reply("" if task == "break" or "elm" in task else f"Of {task}.", hold=hold)

    variables = {
        "PREFECT_INTEGRATIONS_SWARM_HOME": home,
        "PREFECT_INTEGRATIONS_SWARM_HEARTBEAT_S": "1",
    }
    with (
        pytest.MonkeyPatch.context() as patch,
        serving(reply) as provider,
        own_server(folder / "server", new_database, **variables) as server,
    ):
        patch.setenv("PREFECT_INTEGRATIONS_SWARM_HOME", home)
        deploy(POOL)
        deploy(IDLE)
        with server.worker(pool=POOL):
            yield (stage := Stage(server, provider))


def normal(prompts: list[str], objective: str) -> list[str]:
    """Return prompts in an order, without the names of the run and of the marks of quotes."""
    marks = re.compile(r"</?[a-z]{6}>")
    return sorted(marks.sub("<>", prompt.replace(f"{objective}:", ":")) for prompt in prompts)


def states_of(flow_run: UUID) -> list[str]:
    states = ask_server(lambda client: client.read_flow_run_states(flow_run))
    return [str(state.name) for state in states]


def kill_process_of(flow_run: UUID) -> None:
    """Kill the process that works on a flow run, as the end of memory would."""
    wanted = f"PREFECT__FLOW_RUN_ID={flow_run}".encode()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            own = (process / "environ").read_bytes().replace(b"\0", b"\n").splitlines()
            if wanted in own or wanted.replace(b"-", b"") in own:
                os.kill(int(process.name), signal.SIGKILL)
                return
    raise AssertionError(f"no process works on {flow_run}")


def told_by(run: RunFolder) -> list[PartEvent]:
    """Return what a run has told of its parts."""
    return [event for event in run.events({"part"}) if isinstance(event, PartEvent)]


def result_of(flow_run: UUID | str) -> SwarmResult:
    result = RunFolder.find(str(flow_run)).result()
    assert result is not None
    return result


def test_a_part_on_a_pool_asks_the_same_gives_the_same_and_counts_in_the_run(stage: Stage) -> None:
    here = stage.run(plan_on(None, "local"))
    there = stage.run(plan_on(POOL, "remote"), max_tokens=100_000)
    assert normal(stage.prompts("local"), "local") == normal(stage.prompts("remote"), "remote")
    assert (there.status, there.answer) == (here.status, here.answer)
    ends = [[(s.id, s.status, s.reason, s.excerpt) for s in run.steps] for run in (there, here)]
    assert ends[0] == ends[1]
    assert there.cost == here.cost
    assert there.time is not None

    children = parts_of("remote")
    assert [child.parameters["fork"]["part"] for child in children] == ["S2", "S3"]
    steps = steps_of(there)
    for child in children:
        part = steps[child.parameters["fork"]["part"]].part
        assert (part.flow_run, part.pool) == (child.name, POOL)
        assert child.name == f"{child.parameters['fork']['part']} of remote"
        assert str(child.id) in part.url
        # The members' own attempts alone are the part's; what is above them was paid for before.
        assert result_of(child.id).cost.calls == sum(
            step.calls for step in there.steps if step.parent == child.parameters["fork"]["part"]
        )
    bounds = [child.parameters["options"]["max_tokens"] for child in children]
    # One after the other: each had at least half of what was left, and never more than that.
    assert all(50_000 - 1_000 < bound <= 100_000 for bound in bounds)


def test_a_run_and_a_part_whose_processes_are_killed_go_on_as_the_same_two_flow_runs(
    stage: Stage,
) -> None:
    hold = stage.held["killed: inner two"] = threading.Event()
    parent = stage.start(small_plan(POOL, "killed"))
    wait_for(lambda: len(stage.prompts("killed")) == 3, "the second inner step")
    (child,) = parts_of("killed")
    kill_process_of(child.id)
    wait_for(lambda: len(stage.prompts("killed")) == 4, "the second inner step once more")
    kill_process_of(parent)
    # A worker whose server is busy may not come to say it; an automation of the page does then.
    with suppress(AssertionError):
        wait_for(lambda: "Crashed" in states_of(parent), "the run's crash", 60)
    set_state(parent, Crashed())
    hold.set()
    wait_for(lambda: flow_run_of(child.id).state_name == "Completed", "the part's end")
    # As the automation of the page does.
    set_state(parent, AwaitingRetry())
    wait_for(lambda: flow_run_of(parent).state_name == "Completed", "the run's end")
    assert [run.id for run in parts_of("killed")] == [child.id]
    # Prefect reports the one loss twice: by the worker, and by what has watched the process.
    assert "Crashed" in states_of(child.id)
    tasks = [prompt.rpartition("killed: ")[2] for prompt in stage.prompts("killed")]
    assert tasks == ["one", "inner one", "inner two", "inner two", "last"]
    assert result_of(parent).answer == "Of last."


def test_cancelling_a_run_cancels_its_part_which_goes_on_when_the_run_is_resumed(
    stage: Stage,
) -> None:
    hold = stage.held["cancelled: inner two"] = threading.Event()
    parent = stage.start(small_plan(POOL, "cancelled"))
    wait_for(lambda: len(stage.prompts("cancelled")) == 3, "the second inner step")
    (child,) = parts_of("cancelled")
    set_state(parent, Cancelling())
    for flow_run in (child.id, parent):
        wait_for(lambda run=flow_run: flow_run_of(run).state_name == "Cancelled", "Cancelled")
    hold.set()
    result = asyncio.run(resume(run_id_of(str(parent))))
    assert result.status == "completed"
    assert [run.id for run in parts_of("cancelled")] == [child.id]
    assert len(stage.prompts("cancelled")) == 5


def test_a_part_that_waits_is_waited_for_and_one_that_crashes_again_has_failed(
    stage: Stage,
) -> None:
    with ThreadPoolExecutor(1) as thread:
        plan = small_plan(IDLE, "lost", optional=True)
        running = thread.submit(copy_context().run, stage.run, plan)
        wait_for(lambda: bool(parts_of("lost")), "the part")
        (child,) = parts_of("lost")
        set_state(child.id, Suspended(timeout_seconds=600))
        run = RunFolder.find(child.parameters["fork"]["run"])
        wait_for(lambda: any(each.state == "Suspended" for each in told_by(run)), "word of it")
        for after in ("AwaitingRetry", "Cancelled"):
            set_state(child.id, Running())
            set_state(child.id, Crashed(message="gone"))
            wait_for(lambda name=after: flow_run_of(child.id).state_name == name, after)
        step = steps_of(running.result())["S2"]
    assert (step.status, step.category) == ("skipped", "INFRASTRUCTURE")
    assert "crashed again" in step.reason


def test_a_pool_that_cannot_do_a_part_is_said_before_anything_begins(stage: Stage) -> None:
    make_pool("bare-pool")
    with pytest.raises(InputError, match=r"'bare-pool' has no deployment of the flow swarm"):
        stage.run(small_plan("bare-pool", "refused"))
    with pytest.raises(InputError, match=r"the work pool 'absent', which .* doesn't have"):
        stage.run(small_plan("absent", "refused"))
    paused = WorkPoolUpdate(is_paused=True)
    ask_server(lambda client: client.update_work_pool(IDLE, paused))
    with pytest.raises(InputError, match=r"'idle-pool' of step S2 is paused"):
        stage.run(small_plan(IDLE, "refused"))
    assert not stage.prompts("refused")
