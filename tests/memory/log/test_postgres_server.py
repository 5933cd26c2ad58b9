"""Behaviour of PostgreSQL alone: pgvector or not, its errors, lost connections, bytes in its
files."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import psycopg
import pytest
from prefect_swarm.errors import MemoryStoreError
from prefect_swarm.memory.episode import Selection
from prefect_swarm.memory.log.postgres import PostgresLog
from prefect_swarm.memory.log.postgres_database import LAYOUT
from samples import episode


@pytest.fixture
def schema() -> str:
    return f"s{uuid4().hex}"


@pytest.fixture
def admin(postgres: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(postgres, autocommit=True) as connection:
        yield connection


@pytest.fixture
def restricted_address(admin: psycopg.Connection, postgres: str, schema: str) -> Iterator[str]:
    """The address for a user who has a schema and may make nothing else: no extension either."""
    name = f"d{uuid4().hex}"
    ask(admin, f"CREATE ROLE {name} LOGIN")
    ask(admin, f"CREATE DATABASE {name} TEMPLATE template0")
    with psycopg.connect(postgres.replace("/postgres?", f"/{name}?"), autocommit=True) as inside:
        ask(inside, f"CREATE SCHEMA {schema} AUTHORIZATION {name}")
    yield postgres.replace("postgres@/postgres?", f"{name}@/{name}?")
    ask(admin, f"DROP DATABASE {name} WITH (FORCE)")
    ask(admin, f"DROP ROLE {name}")


def ask(connection: psycopg.Connection, query: str) -> psycopg.Cursor[Any]:
    """Execute what isn't a literal, which a text would have to be."""
    return connection.execute(query.encode())


def test_without_pgvector_vectors_are_bytes(restricted_address: str, schema: str) -> None:
    log = PostgresLog(restricted_address, schema)
    assert log.vector_kind == "bytea"
    log.append([episode()])
    kept = np.array([1e-40, -0.0, 1 / 3], np.float32)
    log.keep_vectors("e", {episode().digest: kept})
    assert log.vectors("e", [episode().digest])[episode().digest].tobytes() == kept.tobytes()
    log.close()


def test_vectors_are_pgvectors_and_can_be_searched_in_sql(
    postgres: str, schema: str, admin: psycopg.Connection
) -> None:
    log = PostgresLog(postgres, schema)
    assert log.vector_kind == "vector"
    log.append([episode(1), episode(2)])
    near, far = np.array([1, 0], np.float32), np.array([0, 1], np.float32)
    log.keep_vectors("e", {episode(1).digest: far, episode(2).digest: near})
    found = ask(
        admin,
        f"SELECT run FROM {schema}.episodes JOIN {schema}.vectors USING (digest) "  # noqa: S608
        "ORDER BY vector <=> '[0.9, 0.1]' LIMIT 1",
    ).fetchone()
    assert found == ("run-2",)
    log.close()


def test_columns_can_be_asked_in_sql(postgres: str, schema: str, admin: psycopg.Connection) -> None:
    log = PostgresLog(postgres, schema)
    log.append([episode(1, terms={"success": 1.0}, upstream=("S7",)), episode(2, error="a\x00b")])
    found = ask(
        admin,
        f"SELECT run, terms ->> 'success', upstream -> 0 FROM {schema}.episodes WHERE succeeded "  # noqa: S608
        "AND position = 1",
    ).fetchone()
    assert found == ("run-1", "1.0", "S7")
    log.close()


@pytest.mark.parametrize("other", [LAYOUT - 1, LAYOUT + 1])
def test_another_layout_is_left_alone(
    postgres: str, schema: str, admin: psycopg.Connection, other: int
) -> None:
    PostgresLog(postgres, schema).close()
    ask(admin, f"UPDATE {schema}.state SET value = {other} WHERE name = 'layout'")  # noqa: S608
    with pytest.raises(MemoryStoreError, match=f"its layout is {other}"):
        PostgresLog(postgres, schema)


def test_it_writes_in_turn_whatever_the_servers_isolation_is(postgres: str, schema: str) -> None:
    strict = f"{postgres}&options=-c%20default_transaction_isolation%3Dserializable"
    logs = [PostgresLog(strict, schema) for _ in range(4)]

    def write(number: int) -> None:
        for offset in range(10):
            logs[number].append([episode(number * 10 + offset)])

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert logs[0].count() == logs[0].last_position() == 40
    for log in logs:
        log.close()


def test_a_connection_that_was_lost_is_made_again(
    postgres: str, schema: str, admin: psycopg.Connection
) -> None:
    log = PostgresLog(postgres, schema)
    admin.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
    )
    assert log.append([episode()]) == 1
    assert log.count() == 1
    log.close()


def test_a_lock_that_stays_is_an_error(
    postgres: str, schema: str, admin: psycopg.Connection
) -> None:
    log = PostgresLog(postgres, schema, patience_s=0.05)
    with admin.transaction():
        ask(admin, f"LOCK TABLE {schema}.episodes")
        with pytest.raises(MemoryStoreError, match="lock timeout"):
            log.append([episode()])
    assert log.append([episode()]) == 1
    log.close()


def test_a_server_that_is_not_there_is_named_without_the_password(tmp_path: Path) -> None:
    with pytest.raises(MemoryStoreError, match=f"dbname=name host={tmp_path}") as caught:
        PostgresLog(f"postgresql://user:sesame@/name?host={tmp_path}")
    assert "sesame" not in str(caught.value)


def test_an_address_that_cannot_be_read_is_an_error() -> None:
    with pytest.raises(MemoryStoreError, match="an address that can't be read"):
        PostgresLog("postgresql://[")


def test_a_closed_log_says_so(postgres: str, schema: str) -> None:
    log = PostgresLog(postgres, schema)
    log.close()
    with pytest.raises(MemoryStoreError, match="has been closed"):
        log.count()


def test_no_byte_of_what_was_forgotten_is_in_the_tables_files(
    postgres_and_its_folder: tuple[str, Path], schema: str, admin: psycopg.Connection
) -> None:
    address, folder = postgres_and_its_folder
    log = PostgresLog(address, schema)
    secret = f"hush {uuid4().hex}"
    log.append([episode(1, prompt=secret), episode(2, excerpt=secret), episode(3)])
    admin.execute("CHECKPOINT")
    assert is_in_a_file(folder, secret)
    log.forget("default", Selection(containing=secret))
    admin.execute("CHECKPOINT")
    assert not is_in_a_file(folder, secret)
    log.close()


def is_in_a_file(folder: Path, text: str) -> bool:
    files = [file for file in (folder / "base").rglob("*") if file.is_file()]
    return any(text.encode() in file.read_bytes() for file in files)


def test_without_the_driver_it_says_what_to_install() -> None:
    code = """
import sys
sys.modules["psycopg"] = None
from prefect_swarm.errors import MemoryStoreError
try:
    import prefect_swarm.memory.log.postgres
except MemoryStoreError as error:
    print(error.fix)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "Install it: pip install 'prefect-swarm[postgres]'\n"
