"""The lease of a run in PostgreSQL: one owner, missed when it is gone, fenced when it is late."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection

import psycopg
import pytest
from prefect_swarm.data_types import Frozen
from prefect_swarm.errors import (
    RunAliveError,
    RunCancelledError,
    RunNotFoundError,
    RunTakenError,
)
from prefect_swarm.store.accounts import Booking
from prefect_swarm.store.postgres import PostgresRun
from store_conformance import FORK, TOGETHER, in_processes


class Note(Frozen):
    """Any record."""

    text: str


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("prefect_swarm.store.lease.HEARTBEAT_S", 0.1)
    monkeypatch.setattr("prefect_swarm.store.lease.LEASE_S", 1.0)


def run_in(address: str) -> PostgresRun:
    return PostgresRun.of(address, "abc")


def in_owner(
    address: str, work: Callable[[PostgresRun, Connection], None]
) -> tuple[int, Connection]:
    """Do work in another process that executes the run; return its number and a way to it."""
    here, there = FORK.Pipe()
    if (child := os.fork()) == 0:
        code = 1
        try:
            run = run_in(address)
            with run.exclusive():
                there.send("owns")
                work(run, there)
            code = 0
        except RunTakenError as error:
            there.send(str(error))
            code = 3
        finally:
            os._exit(code)
    assert here.recv() == "owns"
    return child, here


def ended(process: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def token(address: str) -> int:
    with psycopg.connect(address) as connection:
        found = connection.execute("SELECT token FROM prefect_swarm_runs.runs").fetchone()
    assert found is not None
    return found[0]


def test_a_run_is_had_at_once_where_its_owner_has_ended(runs_database: str) -> None:
    run = run_in(runs_database)
    for number in (1, 2):
        with run.exclusive():
            assert token(runs_database) == number
        assert not run.is_executed()


def test_who_renews_its_lease_is_not_disturbed_and_answers_are_still_taken(
    runs_database: str,
) -> None:
    process, pipe = in_owner(runs_database, lambda _, pipe: pipe.recv())
    run = run_in(runs_database)
    with pytest.raises(RunAliveError, match=f"process {process}"), run.exclusive():
        pass
    with pytest.raises(RunAliveError):
        run.write_output("S1", "by another")
    assert run.create_record("answer", Note(text="yes"), "S1")
    assert not run.erase()
    pipe.send("end")
    assert ended(process) == 0
    assert (run.output("S1"), run.record("answer", Note, "S1")) == (None, Note(text="yes"))


def test_a_killed_owner_is_found_out_by_the_end_of_its_lease(runs_database: str) -> None:
    process, _ = in_owner(runs_database, lambda _, pipe: pipe.recv())
    os.kill(process, signal.SIGKILL)
    assert ended(process) == -signal.SIGKILL
    run = run_in(runs_database)
    assert run.is_executed()
    with run.exclusive():
        assert token(runs_database) == 2


def test_what_a_late_owner_writes_is_refused(runs_database: str) -> None:
    lost: list[str] = []

    def late(run: PostgresRun, pipe: Connection) -> None:
        run.book(Booking(key="before", tokens=1))
        pipe.send("stop me")
        pipe.recv()
        writes: list[Callable[[], object]] = [
            lambda: run.book(Booking(key="after", tokens=1)),
            lambda: run.write_output("S1", "late"),
            lambda: run.create_record("question", Note(text="late"), "S1"),
            lambda: run.append_call("calls", "S1.1", Note(text="late")),
            lambda: run.forget_step("S1"),
        ]
        for write in writes:
            try:
                write()
            except RunTakenError:
                lost.append("refused")
        pipe.send(len(lost))

    process, pipe = in_owner(runs_database, late)
    assert pipe.recv() == "stop me"
    os.kill(process, signal.SIGSTOP)
    run = run_in(runs_database)
    with run.exclusive():
        run.write_output("S1", "of the second owner")
        os.kill(process, signal.SIGCONT)
        pipe.send("go on")
        # What is deferred where there is no room is refused, too.
        assert pipe.recv() == 5
        assert "was taken over by" in pipe.recv()
        assert ended(process) == 3
    assert run.output("S1") == "of the second owner"
    assert [*run.accounts().open_bookings] == ["before"]
    assert run.record("question", Note, "S1") is None
    assert run.call_journals("calls") == []


def test_an_owner_that_has_lost_the_run_is_notified(runs_database: str) -> None:
    def wait(run: PostgresRun, pipe: Connection) -> None:
        try:
            # As a resume does it, which the flow is inside of.
            with run.exclusive(lambda: pipe.send("lost")):
                pipe.recv()
                raise RunCancelledError("It was cancelled, since it is lost.")
        except RunTakenError:
            pipe.send("taken, not cancelled")

    process, pipe = in_owner(runs_database, wait)
    os.kill(process, signal.SIGSTOP)
    with run_in(runs_database).exclusive():
        os.kill(process, signal.SIGCONT)
        assert pipe.recv() == "lost"
        pipe.send("end")
        assert pipe.recv() == "taken, not cancelled"
        assert ended(process) == 3


def test_the_clock_of_a_machine_counts_for_nothing(
    runs_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    process, pipe = in_owner(runs_database, lambda _, pipe: pipe.recv())
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() + 3600)
    run = run_in(runs_database)
    assert run.is_executed()
    with pytest.raises(RunAliveError), run.exclusive():
        pass
    pipe.send("end")
    assert ended(process) == 0


def test_of_many_processes_one_has_the_run(runs_database: str) -> None:
    tried = FORK.Barrier(TOGETHER)

    def enter(_: int) -> bool:
        run = run_in(runs_database)
        try:
            with run.exclusive():
                run.append_call("calls", "S1.1", Note(text="owner"))
                tried.wait()
                return True
        except RunAliveError:
            tried.wait()
            return False

    assert in_processes(enter).count(True) == 1
    assert len(run_in(runs_database).calls("calls", "S1.1")) == 1


def test_who_takes_part_writes_in_the_owners_name(runs_database: str) -> None:
    run = run_in(runs_database)
    with run.exclusive():
        token = run.token()
        assert token == 1
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("prefect_swarm.store.lease._leases", {})
            with pytest.raises(RunAliveError, match="by another process"):
                run.write_output("S1", "of nobody")
            with run.take_part(token, "S1.1", "oak"):
                run.write_output("S1", "of oak")
                run.append_call("calls", "S1.1", Note(text="of oak"))
    assert run.calls("calls", "S1.1") == ['{"text":"of oak"}']
    assert run.output("S1") == "of oak"


def test_a_later_start_of_an_attempt_has_what_the_earlier_one_writes_refused(
    runs_database: str,
) -> None:
    run = run_in(runs_database)
    with run.exclusive(), run.take_part(run.token(), "S1.1", "oak"):
        run.write_output("S1", "of oak")
        with run.take_part(1, "S2.1", "elm"):
            run.write_output("S2", "of elm")
        with run.take_part(1, "S1.1", "elm"):
            run.write_output("S1", "of elm")
        with pytest.raises(RunTakenError, match="begun once more"):
            run.append_call("calls", "S1.1", Note(text="of oak"))
        assert run.output("S1") == "of elm"


def test_who_takes_part_for_an_owner_that_is_gone_may_write_nothing(runs_database: str) -> None:
    run = run_in(runs_database)
    with suppress(RunTakenError), run.exclusive():
        token = run.token()
        with run.take_part(token, "S1.1", "oak"):
            with psycopg.connect(runs_database, autocommit=True) as other:
                other.execute(b"UPDATE prefect_swarm_runs.runs SET token = token + 1")
            with pytest.raises(RunTakenError, match="another process executes"):
                run.write_output("S1", "of oak")
        with pytest.raises(RunTakenError), run.take_part(token, "S1.1", "elm"):
            raise AssertionError("it is refused before")
    assert run.output("S1") is None


def test_who_takes_part_in_a_run_of_another_store_is_refused(runs_database: str) -> None:
    with (
        pytest.raises(RunNotFoundError, match="There is no run abc"),
        run_in(runs_database).take_part(1, "S1.1", "oak"),
    ):
        raise AssertionError("it is refused before")
