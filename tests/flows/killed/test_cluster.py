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
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import psycopg
import pytest
from cluster_runs import places
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
LATE = 0.5
"""How often a worker goes on for a process that was killed when another one has the run."""
CLERKS = ("S1", "S2")
ANSWERS = {**dict.fromkeys(CLERKS, LINES + 1), "S3": 1}
"""Requests of each step in a run in which nobody is killed."""
BOOKED = [f"{step} line {number}" for step in CLERKS for number in range(LINES)]
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


def request_of(asked: Asked) -> tuple[str, int]:
    """Return the step that a request is of, and how many results of tools it has."""
    found = re.findall(r"do (S\d)", asked.prompt)
    results = sum(message.get("role") == "tool" for message in asked.body["messages"])
    return str(found[-1]), results


def names_of(scheduler: Any) -> set[str]:
    """Return the names of the workers that a scheduler has."""
    return {worker["name"] for worker in scheduler["workers"].values()}


@dataclass
class Scene:
    """A cluster whose workers are killed and begun again, and the store that all share.

    Attributes:
        hold: Holds the answer to the next request; None once a request has it.
        written: How many writes there were before the run that goes on.
    """

    database: str
    cluster: DaskCluster
    folder: Path
    server: ProviderServer = field(init=False)
    hold: threading.Event | None = None
    written: int = 0
    workers: dict[str, ReadyScript] = field(default_factory=dict[str, ReadyScript])
    begun: int = 0

    def answer(self, asked: Asked) -> Reply:
        """Book so many lines, and then answer."""
        step, done = request_of(asked)
        hold, self.hold = self.hold, None
        if step in CLERKS and done < LINES:
            line = f"{step} line {done}"
            return Reply(tool_name="book", tool_args={"line": line}, hold=hold)
        return Reply(f"{step} is done.", hold=hold)

    def is_holding(self) -> bool:
        """Say whether the next request is held."""
        return self.hold is not None

    def have_workers(self) -> None:
        """Begin as many as are missing of two."""
        gone = [name for name, worker in self.workers.items() if worker.poll() is not None]
        for name in gone:
            del self.workers[name]
        while len(self.workers) < 2:
            self.begun += 1
            name = f"worker-{self.begun}"
            self.workers[name] = self._worker(name)

    def victim(self, run: PostgresRun | None, draw: random.Random) -> ReadyScript:
        """Return a worker that an attempt was begun on, or any before there is one."""
        begun = set(places(run) if run else ()) & self.workers.keys()
        return self.workers[draw.choice(sorted(begun or self.workers))]

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

    def token(self, run: PostgresRun) -> int:
        """Return the token of a run's last owner."""
        query = "SELECT token FROM prefect_swarm_runs.runs WHERE run_id = %s"
        return int(self._rows(query, run.run_id)[0][0])

    def _rows(self, query: str, *values: object) -> list[Any]:
        with psycopg.connect(self.database, autocommit=True) as connection:
            return connection.execute(query.encode(), values).fetchall()


@dataclass(frozen=True, slots=True)
class Trial:
    """What a run came to.

    Attributes:
        writes: Its writes in the store.
        is_late: Whether a worker went on for a process that was killed, as another one had the run.
        repeated: Requests that were made twice, none of which had a stored answer.
        doubtful: Bookings about which a person was asked whether they were made.
    """

    writes: Sequence[Written]
    is_late: bool
    repeated: int
    doubtful: int


@pytest.fixture
def scene(runs_database: str, tmp_path: Path) -> Iterator[Scene]:
    server_at(runs_database).rows("SELECT 1")  # It makes the tables.
    note_writes(runs_database)
    with ExitStack() as stack:
        cluster = stack.enter_context(dask_cluster(tmp_path / "cluster"))
        found = Scene(runs_database, cluster, tmp_path)
        found.server = stack.enter_context(serving(found.answer))
        try:
            yield found
        finally:
            for worker in found.workers.values():
                worker.kill()
                worker.communicate()


def tried(scene: Scene, name: str, victims: Victims, after: int, draw: random.Random) -> Trial:
    """Execute a run, of which so many writes are made before somebody is killed; 0: nobody is."""
    scene.have_workers()
    books, objective = scene.folder / f"{name}.books", f"Book {name}"
    plan = {**PLAN, "objective": objective}
    first = len(scene.server.asked)
    scene.written = scene.count_writes()
    driver = scene.start("", plan, books)
    late = kill(scene, driver, objective, victims, after, draw) if after else None
    run = scene.run_of(objective) if after else None
    stored = scene.answered(run) if run else Counter[tuple[str, int]]()
    before = len(scene.server.asked)
    _, code = driver.communicate()
    if code != 0:
        assert code == -signal.SIGKILL, books.with_suffix(".log").read_text()
        driver = scene.start(run.run_id if run else "", plan, books)
        while late and run and scene.token(run) < 2 and driver.poll() is None:
            time.sleep(0.002)
        if late:
            late.set()
        _, code = driver.communicate()
    log = books.with_suffix(".log").read_text()
    assert code == 0, log
    run = scene.run_of(objective)
    assert run is not None, log
    result = run.result()
    assert result is not None, log
    assert result.status == "completed", log
    assert sorted(books.read_text().splitlines()) == BOOKED, log
    again = {request_of(each) for each in scene.server.asked[before:]}
    assert again.isdisjoint(stored), "what was answered was asked again"
    counts = Counter(request_of(each) for each in scene.server.asked[first:])
    assert set(counts) == {(step, n) for step, most in ANSWERS.items() for n in range(most)}
    repeated = counts.total() - len(counts)
    assert repeated <= len(CLERKS), counts
    writes = writes_noted(scene.database, run.run_id)
    check_owners(writes)
    doubtful = sum(each.asked == "uncertain_call" for each in Approvals(run).questions())
    is_late, scene.hold = late is not None and not scene.is_holding(), None
    return Trial(writes, is_late, repeated, doubtful)


def kill(
    scene: Scene,
    driver: ReadyScript,
    objective: str,
    victims: Victims,
    after: int,
    draw: random.Random,
) -> threading.Event | None:
    """Kill after so many writes; return what a request's answer waits for, if one has to."""
    first, late = scene.written, None
    while scene.count_writes() - first < after and driver.poll() is None:
        time.sleep(0.002)
    time.sleep(draw.uniform(0, 0.02))
    if victims != "worker" and draw.random() < LATE:
        # What a worker asks for now is answered when another process has the run.
        late = scene.hold = threading.Event()
        while scene.is_holding() and driver.poll() is None:
            time.sleep(0.002)
    worker = scene.victim(scene.run_of(objective), draw)
    if victims != "worker":
        driver.kill()
        driver.communicate()
    if victims != "driver":
        worker.kill()
        worker.communicate()
    return late


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
                f"{trial.doubtful} bookings doubtful{', a late worker' * trial.is_late}\n"
            )
            file.flush()


def test_killed_twice_nothing_is_lost_or_done_twice(scene: Scene) -> None:
    kill_often(scene, "both", 2)


@pytest.mark.exhaustive
@pytest.mark.parametrize("victims", ["driver", "worker", "both"])
def test_killed_at_many_moments_nothing_is_lost_or_done_twice(
    scene: Scene, victims: Victims
) -> None:
    kill_often(scene, victims, KILLS)
