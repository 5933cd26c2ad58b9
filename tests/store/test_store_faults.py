"""Writes of a run whose PostgreSQL server is away, full, or of another version."""

from __future__ import annotations

import hashlib
import logging
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from prefect_swarm.cli.doctor.command import _store  # pyright: ignore[reportPrivateUsage]
from prefect_swarm.data_types import Frozen
from prefect_swarm.errors import ExitCode, InputError, RunTakenError, StorageError
from prefect_swarm.settings import SwarmSettings
from prefect_swarm.store import postgres_server
from prefect_swarm.store.accounts import Booking
from prefect_swarm.store.postgres import PostgresRun
from prefect_swarm.store.postgres_files import PIECE_BYTES
from prefect_swarm.store.postgres_server import MIGRATIONS, SCHEMA, StoreServer, close_servers
from prefect_swarm.store.runs import find_run, stored_runs
from runs_database import STORE, away, do
from store_conformance import in_processes


class Note(Frozen):
    """Any record."""

    text: str


@pytest.fixture
def run(runs_database: str) -> PostgresRun:
    return PostgresRun.of(runs_database, "abc")


# --- away ---------------------------------------------------------------------------------------


def test_a_server_that_was_never_there_is_an_error_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "sleep", pytest.fail)
    address = f"postgresql://ann:sesame@/runs?host={tmp_path}&port=5433"
    with pytest.raises(StorageError) as caught:
        PostgresRun.find(address, "abc")
    assert f"host={tmp_path}" in caught.value.problem
    assert STORE in caught.value.fix
    assert "sesame" not in str(caught.value)


def test_an_outage_is_waited_for_and_said_once_and_nothing_is_lost_or_doubled(
    postgres: str, runs_database: str, run: PostgresRun, caplog: pytest.LogCaptureFixture
) -> None:
    run.book(Booking(key="0", tokens=1))
    waited = threading.Event()

    class Waited(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if "It is waited for" in record.getMessage():
                waited.set()

    logger, handler = logging.getLogger("prefect_swarm.runs"), Waited()
    logger.addHandler(handler)

    def book(number: int) -> None:
        run.book(Booking(key=str(number), tokens=1))

    try:
        with away(postgres, runs_database):
            threads = [threading.Thread(target=book, args=(number,)) for number in (1, 2, 3)]
            for thread in threads:
                thread.start()
            assert waited.wait(30)
        for thread in threads:
            thread.join()
    finally:
        logger.removeHandler(handler)
    assert sorted(run.accounts().open_bookings) == ["0", "1", "2", "3"]
    assert run.accounts().spent.tokens == 4
    assert caplog.text.count("It is waited for") == 1


def test_a_server_that_stays_away_is_an_error_and_what_can_wait_is_written_later(
    postgres: str, runs_database: str, run: PostgresRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_server, "PATIENCE_S", 0.3)
    run.write_output("S1", "before")
    with away(postgres, runs_database):
        with pytest.raises(StorageError, match="can't be used"):
            run.book(Booking(key="1", tokens=1))
        # From now on nothing is waited for, until it is back.
        with monkeypatch.context() as patched:
            patched.setattr(time, "sleep", pytest.fail)
            run.write_output("S1", "while it was away")
            assert run.store_pending() == ("outputs/S1.txt",)
    assert run.store_pending() == ()
    assert run.output("S1") == "while it was away"
    assert not run.accounts().open_bookings


def test_what_was_written_when_the_connection_broke_counts_once(
    run: PostgresRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    run.book(Booking(key="0", tokens=1))
    fetch = psycopg.Cursor.fetchall

    def broken_once(work: Callable[[], object]) -> object:
        """Lose the answer to a statement that was carried out."""
        lost: list[bool] = []

        def fetchall(cursor: psycopg.Cursor[Any]) -> list[Any]:
            if lost:
                return fetch(cursor)
            lost.append(True)
            cursor.connection.pgconn.finish()
            raise psycopg.OperationalError("the connection was lost")

        with monkeypatch.context() as patched:
            patched.setattr(psycopg.Cursor, "fetchall", fetchall)
            return work()

    broken_once(lambda: run.book(Booking(key="1", tokens=1, is_settled=True)))
    assert broken_once(lambda: run.create_record("message", Note(text="mine"), "1"))
    assert not broken_once(lambda: run.create_record("message", Note(text="another's"), "1"))
    assert run.accounts().spent.tokens == 2
    assert run.record("message", Note, "1") == Note(text="mine")


# --- full, too large ----------------------------------------------------------------------------


def test_a_full_database_is_an_error_that_says_so(runs_database: str, run: PostgresRun) -> None:
    run.write_output("S1", "before")
    do(
        runs_database,
        "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION "
        "'could not extend file' USING ERRCODE = 'disk_full'; END $$; "
        f"CREATE TRIGGER full_disk BEFORE INSERT OR UPDATE ON {SCHEMA}.files FOR EACH ROW "
        "EXECUTE FUNCTION full_disk()",
    )
    with pytest.raises(StorageError, match="could not extend file") as caught:
        run.write_inputs({"a": "b"})
    assert caught.value.fix == "Make room on the database's disk."
    run.write_output("S1", "after")
    assert run.store_pending() == ("outputs/S1.txt",)
    do(runs_database, f"DROP TRIGGER full_disk ON {SCHEMA}.files")
    assert run.store_pending() == ()
    assert run.output("S1") == "after"


TAKE = "UPDATE prefect_swarm_runs.runs SET token = token + 1, owner = 'elm process 1 x'"


def pieces_of(address: str) -> list[tuple[str, int, int]]:
    with psycopg.connect(address) as connection:
        connection.execute("SELECT set_config('search_path', %s, false)", (SCHEMA,))
        query = "SELECT name, number, octet_length(data) FROM pieces ORDER BY name, number"
        return connection.execute(query).fetchall()


def test_a_large_file_is_stored_in_pieces_and_read_whole(
    runs_database: str, run: PostgresRun
) -> None:
    film = hashlib.shake_128(b"film").digest(30 << 20)
    text = "é" * (10 << 20)
    run.write_artifacts("S1", "S1.1", {"film": film})
    run.write_output("S1", text)
    assert [size for *_, size in pieces_of(runs_database)] == [
        *(PIECE_BYTES, PIECE_BYTES, 6 << 20),
        *(PIECE_BYTES, 4 << 20),
    ]
    assert run.files.read("artifacts/S1/1/film") == film
    assert run.files.size("artifacts/S1/1/film") == len(film)
    assert run.output("S1") == text
    other = run.other("def")
    assert other.take_output("S1", run)
    assert other.output("S1") == text
    with pytest.raises(OSError, match="are read at most"):
        run.files.read("artifacts/S1/1/film", most=PIECE_BYTES)


@pytest.mark.parametrize("size", [PIECE_BYTES, PIECE_BYTES + 1, 2 * PIECE_BYTES, 0])
def test_a_file_of_any_size_is_read_as_it_was_written(run: PostgresRun, size: int) -> None:
    run.files.replace("note", bytes(size))
    assert run.files.read("note") == bytes(size)
    assert run.files.size("note") == size


def test_what_a_large_file_had_goes_with_it(runs_database: str, run: PostgresRun) -> None:
    run.files.replace("a", bytes(3 * PIECE_BYTES))
    run.files.replace("a", b"1" * (PIECE_BYTES + 1))
    assert pieces_of(runs_database) == [("a", 1, 1)]
    other = run.other("def")
    other.files.replace("a", bytes(3 * PIECE_BYTES))
    assert other.files.share("a", run.files)
    assert other.files.read("a") == run.files.read("a")
    run.files.replace("a", b"small")
    assert other.erase()
    assert pieces_of(runs_database) == []
    run.files.replace("a", bytes(2 * PIECE_BYTES))
    run.files.remove("a")
    assert pieces_of(runs_database) == []


def test_a_large_file_that_is_there_is_not_created(runs_database: str, run: PostgresRun) -> None:
    data = b"1" * (2 * PIECE_BYTES)
    run.files.create("a", data)
    with pytest.raises(FileExistsError):
        run.files.create("a", b"2" * len(data))
    assert run.files.read("a") == data


def test_a_large_file_of_a_process_that_lost_the_run_leaves_what_was_there(
    runs_database: str, run: PostgresRun
) -> None:
    def lose() -> None:
        with run.exclusive():
            run.files.replace("a", b"1" * (2 * PIECE_BYTES))
            do(runs_database, TAKE)
            run.files.replace("a", b"2" * (3 * PIECE_BYTES))

    with pytest.raises(RunTakenError):
        lose()
    assert run.files.read("a") == b"1" * (2 * PIECE_BYTES)
    assert len(pieces_of(runs_database)) == 1


def test_a_large_file_takes_no_more_memory_than_a_few_pieces(runs_database: str) -> None:
    code = f"""
import resource, sys
from prefect_swarm.store.postgres import PostgresRun
run = PostgresRun.of(sys.argv[1], "abc")
run.files.replace("small", b"1")
data = bytes({64 << 20})
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
run.files.replace("film", data)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
assert len(run.files.read("film")) == len(data)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, runs_database], capture_output=True, text=True, check=True
    )
    write_kib, read_kib = map(int, done.stdout.split())
    assert write_kib < 6 * PIECE_BYTES >> 10
    # What is read is there twice, while it becomes one value.
    assert read_kib < (2 * (64 << 20) + 6 * PIECE_BYTES) >> 10


# --- versions -----------------------------------------------------------------------------------


def test_a_newer_version_of_the_store_is_refused_by_name(runs_database: str) -> None:
    PostgresRun.of(runs_database, "abc").write_output("S1", "text")
    close_servers()
    do(runs_database, "INSERT INTO prefect_swarm_runs.versions VALUES (99, '9.9')")
    with pytest.raises(StorageError, match=r"is of prefect-swarm 9\.9: its tables have version 99"):
        PostgresRun.of(runs_database, "abc").output("S1")


def test_an_older_version_of_the_store_is_brought_forward_with_all_that_is_in_it(
    runs_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    PostgresRun.of(runs_database, "abc").write_output("S1", "text")
    close_servers()
    later = [*MIGRATIONS, "ALTER TABLE @.runs ADD COLUMN note text NOT NULL DEFAULT ''"]
    monkeypatch.setattr(postgres_server, "MIGRATIONS", later)
    assert PostgresRun.of(runs_database, "abc").output("S1") == "text"
    do(runs_database, "UPDATE prefect_swarm_runs.runs SET note = 'x'")
    close_servers()
    monkeypatch.setattr(postgres_server, "MIGRATIONS", MIGRATIONS)
    with pytest.raises(StorageError, match=f"its tables have version {len(later)}, "):
        PostgresRun.of(runs_database, "abc").output("S1")


def test_what_made_a_version_never_changes() -> None:
    made = [hashlib.sha256(" ".join(each.split()).encode()).hexdigest() for each in MIGRATIONS]
    assert [digest[:12] for digest in made] == [
        "bdfc713aa092",
        "1c3067bd2b86",
        "26bee0059deb",
        "f935cee509de",
        "375b278d6624",
    ]


def test_of_many_processes_that_use_a_new_database_one_makes_the_tables(
    runs_database: str,
) -> None:
    def write(number: int) -> bool:
        PostgresRun(StoreServer(runs_database), f"r{number}").write_output("S1", "text")
        return True

    assert all(in_processes(write))
    with psycopg.connect(runs_database) as connection:
        found = connection.execute("SELECT number FROM prefect_swarm_runs.versions").fetchall()
    assert found == [(number,) for number in range(1, len(MIGRATIONS) + 1)]


# --- the setting --------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["mysql://ann:sesame@db/runs", "ann:sesame@db/runs", "/runs"])
def test_an_address_that_is_none_is_refused_without_its_password(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(STORE, value)
    with pytest.raises(InputError, match=STORE) as caught:
        SwarmSettings()
    assert "sesame" not in str(caught.value)


def test_the_settings_are_shown_without_the_address(runs_database: str) -> None:
    assert runs_database not in repr(SwarmSettings())


def test_a_run_of_the_folder_is_named_where_it_is_looked_for_in_the_store(
    runs_database: str, swarm_home: Path
) -> None:
    from stored_runs import stored_run

    stored_run("0192f0c47a41" + "0" * 20)
    with pytest.raises(InputError, match=f"it is in {swarm_home}") as caught:
        find_run("0192f0c47a41")
    assert caught.value.fix == "Bring it to the store: prefect-swarm runs --move 0192f0c47a41"


def test_a_missing_driver_is_named(runs_database: str) -> None:
    code = (
        "import sys; sys.modules['psycopg'] = None; "
        "from prefect_swarm.cli import main; sys.argv = ['prefect-swarm', 'runs']; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == ExitCode.FAILED
    assert "pip install 'prefect-swarm[postgres]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_doctor_says_where_runs_are_and_tries_it(runs_database: str) -> None:
    checks = [*_store(deep=True)]
    assert [check.status for check in checks] == ["ok"]
    assert "0 runs; a write takes" in checks[0].detail
    assert stored_runs() == ()
