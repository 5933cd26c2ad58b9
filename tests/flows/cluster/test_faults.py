"""What is wrong with a cluster is said by name, before a run where it shows then."""

from __future__ import annotations

import json
import logging
import os
import shlex
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster_runs import HeldAnswers, about, booking, booking_plan, places, the_run
from dask_cluster import DaskCluster, dask_cluster
from flow_runs import plan_of
from prefect_swarm.cli.app import app
from prefect_swarm.errors import ClusterError, InputError
from prefect_swarm.flows.cluster.connection import Cluster
from prefect_swarm.flows.options import SwarmOptions, changed_options
from prefect_swarm.store.result import RunFailedError
from provider_runs import closed_port, run_at, serving
from provider_server import Reply
from pydantic import ValidationError
from raw_servers import entry
from typer.testing import CliRunner

PLAN = plan_of({"id": "S1"}, {"id": "S2"}, {"id": "S3"})
SUPPORT = Path(__file__).parents[2] / "support"
OTHER_VERSION, NO_SANDBOX = SUPPORT / "other_version.py", SUPPORT / "no_sandbox.py"
using_prefect = pytest.mark.usefixtures("prefect_server", "swarm_home")


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[DaskCluster]:
    with dask_cluster(tmp_path / "cluster") as cluster:
        yield cluster


@pytest.mark.parametrize("executor", ["dask", "dask:oak:8786", "dask:tcp://oak", "tcp://oak:8786"])
def test_an_executor_of_another_form_is_refused(executor: str) -> None:
    with pytest.raises(ValidationError, match="executor"):
        SwarmOptions(executor=executor)


def test_a_resumed_run_may_have_another_executor() -> None:
    before = SwarmOptions(executor="dask:tcp://oak:8786")
    assert changed_options(before, {"executor": "local"}).executor == "local"


def test_without_distributed_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r"pip install 'prefect-swarm\[dask\]'"):
        Cluster("tcp://oak:8786", "topic", lambda _: None)


@using_prefect
def test_a_scheduler_that_is_not_there_ends_a_run_before_it_asks_anything(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("prefect_swarm.flows.cluster.connection.START_S", 1.0)
    with serving(about) as server:
        address = f"tcp://127.0.0.1:{closed_port()}"
        with pytest.raises(ClusterError, match=f"The Dask scheduler at {address} can't be reached"):
            run_at(server, PLAN, executor=f"dask:{address}")
        assert server.asked == []


@using_prefect
@pytest.mark.slow
def test_a_cluster_without_workers_ends_a_run_before_it_asks_anything(
    cluster: DaskCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prefect_swarm.flows.cluster.connection.START_S", 1.0)
    with serving(about) as server:
        with pytest.raises(ClusterError, match="has no worker"):
            run_at(server, PLAN, executor=cluster.executor)
        assert server.asked == []


@using_prefect
@pytest.mark.slow
def test_workers_that_dont_see_the_folder_of_a_run_are_named(cluster: DaskCluster) -> None:
    cluster.worker("oak")
    with serving(about) as server:
        with pytest.raises(
            ClusterError, match=r"oak: run [0-9a-f]{12}, which it looks for in .*oak"
        ):
            run_at(server, PLAN, executor=cluster.executor)
        assert server.asked == []


@using_prefect
@pytest.mark.slow
@pytest.mark.usefixtures("runs_database")
class TestWithADatabase:
    def test_a_worker_of_another_version_gets_nothing_and_is_named(
        self, cluster: DaskCluster, caplog: pytest.LogCaptureFixture
    ) -> None:
        cluster.worker("oak", "--preload", str(OTHER_VERSION))
        with serving(about) as server:
            with pytest.raises(ClusterError, match=r"oak: prefect-swarm .* \(it has 0\.0\.1\)"):
                run_at(server, PLAN, executor=cluster.executor)
            assert server.asked == []
            the_run().erase()
            cluster.worker("elm")
            with caplog.at_level(logging.WARNING, "prefect_swarm.cluster"):
                result = run_at(server, PLAN, executor=cluster.executor)
        assert result.status == "completed"
        assert "oak lacks what is needed: prefect-swarm" in caplog.text
        assert set(places(the_run())) == {"elm"}

    def test_a_worker_without_a_key_is_named_and_others_work(
        self,
        cluster: DaskCluster,
        caplog: pytest.LogCaptureFixture,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        cluster.worker("oak")
        monkeypatch.setenv("OAKS_LACK", "a key")
        options = {"executor": cluster.executor, "key_env": "OAKS_LACK", "policy": {"replans": 0}}
        with serving(about) as server:
            with pytest.raises(
                RunFailedError, match=r"oak: Tier worker: .* OAKS_LACK, which is not"
            ):
                run_at(server, plan_of({"id": "S1"}), **options)
            assert server.asked == []
            the_run().erase()
            cluster.worker("elm")
            with caplog.at_level(logging.WARNING, "prefect_swarm.cluster"):
                result = run_at(server, PLAN, **options)
            keys = {each.headers["authorization"] for each in server.asked}
        assert result.status == "completed"
        assert keys == {"Bearer a key"}
        assert set(places(the_run())) == {"elm"}

    def test_a_worker_without_a_toolset_is_named_and_others_work(
        self,
        cluster: DaskCluster,
        tmp_path: Path,
        caplog: pytest.LogCaptureFixture,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        raw = entry()
        (program := tmp_path / "bin" / "raw-books").parent.mkdir()
        program.write_text(f"#!/bin/sh\nexec {shlex.join([raw['command'], *raw['args']])}\n")
        program.chmod(0o700)
        configuration = {"command": program.name, "env": {"BOOKS": str(tmp_path / "books")}}
        (tools := tmp_path / "tools.json").write_text(
            json.dumps({"mcpServers": {"raw": configuration}})
        )
        cluster.worker("oak")
        monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
        cluster.worker("elm")
        with (
            serving(booking()) as server,
            caplog.at_level(logging.WARNING, "prefect_swarm.cluster"),
        ):
            result = run_at(server, booking_plan(6), executor=cluster.executor, mcp=str(tools))
        assert result.status == "completed"
        assert "oak lacks what is needed: " in caplog.text
        assert "raw-books" in caplog.text
        assert set(places(the_run())) == {"elm"}

    def test_a_worker_without_a_sandbox_is_named_and_others_hold_the_gates(
        self, cluster: DaskCluster, caplog: pytest.LogCaptureFixture
    ) -> None:
        cluster.worker("oak", "--preload", str(NO_SANDBOX))
        cluster.worker("elm")
        output = {"kind": "python", "examples": [{"call": "two()", "gives": 2}]}
        steps = ({"id": f"S{number}", "output": output} for number in range(1, 7))
        with (
            serving(lambda _: Reply("```python\ndef two():\n    return 2\n```")) as server,
            caplog.at_level(logging.WARNING, "prefect_swarm.cluster"),
        ):
            plan = plan_of(*steps, final_step="S1")
            result = run_at(server, plan, executor=cluster.executor)
        assert result.status == "completed"
        gates = [gate for step in result.steps for gate in step.attempts[-1].gates]
        assert [gate.status for gate in gates if gate.gate == "unit"] == ["passed"] * 6
        assert [len(step.attempts) for step in result.steps] == [1] * 6
        assert "oak lacks what is needed: " in caplog.text
        assert "There is no sandbox" in caplog.text

    def test_attempts_of_a_tier_go_to_workers_with_its_resource(self, cluster: DaskCluster) -> None:
        cluster.worker("oak")
        cluster.worker("elm", "--resources", "gpu=1")
        options = {"executor": cluster.executor, "tiers": {"worker": {"resource": "gpu"}}}
        chain = plan_of(*({"id": f"S{n}", "depends_on": [f"S{n - 1}"][: n - 1]} for n in (1, 2, 3)))
        with serving(about) as server:
            result = run_at(server, chain, **options)
        assert result.status == "completed"
        assert set(places(the_run())) == {"elm"}

    def test_a_resource_that_no_worker_has_fails_the_step_and_is_named(
        self, cluster: DaskCluster, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("prefect_swarm.flows.cluster.connection.PATIENCE_S", 1.0)
        cluster.worker("oak")
        options = {"executor": cluster.executor, "tiers": {"worker": {"resource": "gpu"}}}
        with serving(about) as server, pytest.raises(RunFailedError, match="the resource gpu"):
            run_at(server, plan_of({"id": "S1"}), **options)

    def test_a_scheduler_that_comes_back_gets_what_was_under_way(
        self, cluster: DaskCluster, tmp_path: Path
    ) -> None:
        cluster.worker("oak")
        reply = HeldAnswers()
        with serving(reply) as server:
            results: list[str] = []

            def work() -> None:
                result = run_at(server, plan_of({"id": "S1"}), executor=cluster.executor)
                results.append(result.status)

            going = threading.Thread(target=work)
            going.start()
            reply.asked_for.wait()
            port = int(cluster.address.rpartition(":")[2])
            cluster.scheduler.kill()
            cluster.scheduler.wait()
            with dask_cluster(tmp_path / "again", port) as again:
                reply.hold.set()
                again.worker("elm")
                going.join()
        assert results == ["completed"]
        assert set(places(the_run())) <= {"oak", "elm"}


@pytest.mark.slow
@pytest.mark.usefixtures("swarm_home")
def test_the_doctor_counts_the_workers_and_names_those_of_another_version(
    cluster: DaskCluster,
) -> None:
    cluster.worker("oak", "--preload", str(OTHER_VERSION))
    cluster.worker("elm")
    said = CliRunner().invoke(app, ["doctor", "--executor", cluster.executor]).output
    (line,) = (line for line in said.splitlines() if " cluster " in line)
    assert f"{cluster.executor}, 2 workers; of another version: oak" in line
