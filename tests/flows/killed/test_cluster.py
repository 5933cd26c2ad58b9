"""Killed at any moment: a run's process, a Dask worker, and both; nothing is lost or done twice.

Each write of the store is looked at afterwards: it has to name the token that the run had when it
was written, so that no two processes were owners of a run at once.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import psycopg
import pytest
from dask_cluster import DaskCluster, dask_cluster
from distributed import Client
from killable import KILLS
from noted_tokens import Written, note_writes, writes_noted
from prefect.settings import get_current_settings
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.store.approvals import Approvals
from prefect_swarm.store.postgres import PostgresRun
from prefect_swarm.store.postgres_server import server_at
from provider_runs import serving
from provider_server import Asked, ProviderServer, Reply
from raw_servers import entry
from ready_scripts import ReadyScript, start_script

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("prefect_server", "swarm_home")]

Victims = Literal["driver", "worker", "both"]

SCRIPT = Path(__file__).parents[2] / "support" / "cluster_process.py"
LINES = 2
"""Lines that each clerk books, one after the other."""
CLERKS = ("S1", "S2")
ANSWERS = {**dict.fromkeys(CLERKS, LINES + 1), "S3": 1}
"""Requests of each step in a run in which nobody is killed."""
PLAN: dict[str, Any] = {
    "agents": [
        {"name": "Clerk", "system_prompt": "You book.", "tools": ["raw"]},
        {"name": "Writer", "system_prompt": "You write."},
    ],
    "steps": [
        *({"id": step, "agent": "Clerk", "prompt": f"do {step}"} for step in CLERKS),
        {"id": "S3", "agent": "Writer", "prompt": "do S3", "depends_on": [*CLERKS]},
    ],
}
_ANSWERED = (
    "SELECT name, count(*) FROM prefect_swarm_runs.entries WHERE run_id = %s "
    "AND name LIKE 'calls/%%' AND position('\"kind\":\"messages\"' IN convert_from(line, 'UTF8')) "
    "> 0 GROUP BY name"
)


def step_of(asked: Asked) -> str:
    """Return the step that a request is of."""
    found = re.findall(r"do (S\d)", asked.prompt)
    return str(found[-1])


def results_in(asked: Asked) -> int:
    """Return how many results of tools a request has."""
    return sum(message.get("role") == "tool" for message in asked.body["messages"])


def names_of(scheduler: Any) -> set[str]:
    """Return the names of the workers that a scheduler has."""
    return {worker["name"] for worker in scheduler["workers"].values()}


@dataclass
class Scene:
    """A cluster whose workers are killed and begun again, and the store that all share."""

    database: str
    cluster: DaskCluster
    server: ProviderServer
    folder: Path
    workers: list[ReadyScript] = field(default_factory=list[ReadyScript])
    begun: int = 0

    def have_workers(self) -> None:
        """Begin as many as are missing of two."""
        self.workers = [worker for worker in self.workers if worker.poll() is None]
        while len(self.workers) < 2:
            self.begun += 1
            self.workers.append(self._worker(f"worker-{self.begun}"))

    def _worker(self, name: str) -> ReadyScript:
        log = self.folder / f"{name}.log"
        arguments = (
            *(self.cluster.address, "--no-nanny", "--no-dashboard", "--host", "127.0.0.1"),
            *("--name", name, "--nthreads", "2"),
            *("--local-directory", self.folder / f"{name}-files"),
        )
        worker = self._start(log, name, "worker", *arguments)
        with Client(self.cluster.address, set_as_default=False) as client:
            while name not in names_of(client.scheduler_info(n_workers=-1)):
                assert worker.poll() is None, log.read_text()
                time.sleep(0.02)
        return worker

    def start(self, run: str, plan: dict[str, Any], books: Path) -> ReadyScript:
        """Begin a process that begins or resumes a run."""
        configuration = {"raw": {**entry(), "env": {"BOOKS": str(books)}}}
        tools = books.with_suffix(".json")
        tools.write_text(json.dumps({"mcpServers": configuration}))
        options = SwarmOptions(
            model=self.server.name(),
            memory=False,
            executor=self.cluster.executor,
            mcp=str(tools),
            approve=("tools",),
        )
        order = {
            "run": run,
            "plan": plan,
            "books": str(books),
            "options": options.model_dump(mode="json"),
        }
        return self._start(books.with_suffix(".log"), "driver", "run", json.dumps(order))

    def _start(self, log: Path, home: str, *arguments: object) -> ReadyScript:
        api = get_current_settings().api.url
        assert api is not None
        environment = {
            **os.environ,
            "PREFECT_API_URL": api,
            "PREFECT_INTEGRATIONS_SWARM_HOME": str(self.folder / f"{home}-home"),
            "PYTHONWARNINGS": "ignore",
        }
        with open(os.devnull) as nothing, log.open("ab") as written:
            streams = (nothing.fileno(), written.fileno(), written.fileno())
            return start_script(SCRIPT, *arguments, environment=environment, streams=streams)

    def run_of(self, objective: str) -> PostgresRun | None:
        """Return the run of an objective; None before it has begun."""
        for found in PostgresRun.all(self.database, 0):
            if found.run.about().objective == objective:
                return found.run
        return None

    def count_writes(self) -> int:
        """Return how many writes all runs had."""
        return int(self._rows("SELECT coalesce(max(number), 0) FROM public.written")[0][0])

    def answered(self, run: PostgresRun) -> Counter[tuple[str, int]]:
        """Return the requests whose answers are stored: the step, and the results that it read."""
        found = Counter[str]()
        for name, count in self._rows(_ANSWERED, run.run_id):
            found[name.partition("/")[2].partition(".")[0]] += count
        for step in run.finished_steps():
            found[step] = ANSWERS[step]
        return Counter((step, number) for step, count in found.items() for number in range(count))

    def _rows(self, query: str, *values: object) -> list[Any]:
        with psycopg.connect(self.database, autocommit=True) as connection:
            return connection.execute(query.encode(), values).fetchall()


@dataclass(frozen=True, slots=True)
class Trial:
    """What a run came to.

    Attributes:
        writes: Its writes in the store.
        repeated: Requests that were made twice, none of which had a stored answer.
        doubtful: Bookings about which a person was asked whether they were made.
    """

    writes: Sequence[Written]
    repeated: int
    doubtful: int


@pytest.fixture
def scene(runs_database: str, tmp_path: Path) -> Iterator[Scene]:
    server_at(runs_database).rows("SELECT 1")  # It makes the tables.
    note_writes(runs_database)
    with ExitStack() as stack:
        server = stack.enter_context(serving(answer))
        cluster = stack.enter_context(dask_cluster(tmp_path / "cluster"))
        found = Scene(runs_database, cluster, server, tmp_path)
        try:
            yield found
        finally:
            for worker in found.workers:
                worker.kill()
                worker.communicate()


def answer(asked: Asked) -> Reply:
    """Book so many lines, and then answer."""
    step, done = step_of(asked), results_in(asked)
    if step in CLERKS and done < LINES:
        return Reply(tool_name="book", tool_args={"line": f"{step} line {done}"})
    return Reply(f"{step} is done.")


def tried(scene: Scene, name: str, victims: Victims, after: int, draw: random.Random) -> Trial:
    """Execute a run, of which so many writes are made before somebody is killed; 0: nobody is."""
    scene.have_workers()
    books = scene.folder / f"{name}.books"
    plan = {**PLAN, "objective": f"Book {name}"}
    first, asked = scene.count_writes(), len(scene.server.asked)
    driver = scene.start("", plan, books)
    kept: Counter[tuple[str, int]] = Counter()
    finished: tuple[str, ...] = ()
    before = asked
    if after:
        while scene.count_writes() - first < after and driver.poll() is None:
            time.sleep(0.002)
        time.sleep(draw.uniform(0, 0.02))
        worker = draw.choice(scene.workers)
        if victims != "worker":
            driver.kill()
        if victims != "driver":
            worker.kill()
            worker.communicate()
        if victims != "worker":
            driver.wait()
        if run := scene.run_of(plan["objective"]):
            finished = tuple(run.finished_steps())
            kept = scene.answered(run)
        before = len(scene.server.asked)
    _, code = driver.communicate()
    for _ in range(3):
        if code == 0:
            break
        assert code == -signal.SIGKILL, books.with_suffix(".log").read_text()
        run = scene.run_of(plan["objective"])
        _, code = scene.start(run.run_id if run else "", plan, books).communicate()
    log = books.with_suffix(".log").read_text()
    run = scene.run_of(plan["objective"])
    assert run is not None, log
    result = run.result()
    assert result is not None, log
    assert result.status == "completed", log

    again = [(step_of(each), results_in(each)) for each in scene.server.asked[before:]]
    assert not [each for each in again if each in kept], "what was answered was asked again"
    assert not [each for each in again if each[0] in finished], "what had finished was begun again"
    lines = sorted(books.read_text().splitlines())
    assert lines == [f"{step} line {n}" for step in CLERKS for n in range(LINES)], log
    counts = Counter((step_of(each), results_in(each)) for each in scene.server.asked[asked:])
    assert set(counts) == {(step, n) for step, most in ANSWERS.items() for n in range(most)}
    assert counts.total() - len(counts) <= len(CLERKS), counts
    writes = writes_noted(scene.database, run.run_id)
    check_owners(writes)
    doubtful = sum(each.asked == "uncertain_call" for each in Approvals(run).questions())
    return Trial(writes, counts.total() - len(counts), doubtful)


def check_owners(writes: Sequence[Written]) -> None:
    """Assert that each write was the owner's, and no former owner wrote after a later one."""
    named = [each for each in writes if each.token is not None]
    assert [each for each in named if each.token != each.held] == []
    tokens = [each.token or 0 for each in named]
    assert tokens == sorted(tokens)
    # Persons answer without a lease, and nobody else writes without one while a process has it.
    others = {each.name.partition("/")[0] for each in writes if each.token is None and each.owner}
    assert others <= {"answers"}, others


def kill_often(scene: Scene, victims: Victims, kills: int) -> None:
    """Execute a run once, and then once for each kill, at moments of a seeded draw.

    What each kill came to is a line of the file `kills` of the scene's folder.
    """
    draw = random.Random(f"kills of {victims}")  # noqa: S311 - the same moments each time
    whole = tried(scene, "whole", victims, 0, draw)
    assert whole.repeated == 0
    moments = draw.sample(range(1, len(whole.writes)), kills)
    with (scene.folder / "kills").open("w", encoding="utf-8") as file:
        for number, moment in enumerate(moments):
            trial = tried(scene, f"{victims}-{number}", victims, moment, draw)
            owners = len({each.held for each in trial.writes})
            file.write(
                f"{victims} after write {moment} of {len(whole.writes)}: {owners} owners, "
                f"{len(trial.writes)} writes, {trial.repeated} requests made again, "
                f"{trial.doubtful} bookings doubtful\n"
            )
            file.flush()


@pytest.mark.parametrize("victims", ["driver", "worker", "both"])
def test_killed_twice_nothing_is_lost_or_done_twice(scene: Scene, victims: Victims) -> None:
    kill_often(scene, victims, 2)


@pytest.mark.exhaustive
@pytest.mark.parametrize("victims", ["driver", "worker", "both"])
def test_killed_at_many_moments_nothing_is_lost_or_done_twice(
    scene: Scene, victims: Victims
) -> None:
    kill_often(scene, victims, KILLS)
