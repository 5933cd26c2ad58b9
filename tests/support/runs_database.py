"""A database of a test's own that runs are stored in, as the setting says it."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from uuid import uuid4

import pytest

__all__ = ["STORE", "away", "do", "runs_in_database"]

STORE = "PREFECT_INTEGRATIONS_SWARM_STORE"


@contextmanager
def runs_in_database(server: str, monkeypatch: pytest.MonkeyPatch) -> Generator[str]:
    """Have runs stored in a new database of a server; yield its address."""
    import psycopg
    from prefect_swarm.store.postgres_server import close_servers
    from prefect_swarm.store.runs import store_address

    name = f"d{uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {name} TEMPLATE template0".encode())
        address = server.replace("/postgres?", f"/{name}?")
        monkeypatch.setenv(STORE, address)
        store_address.cache_clear()
        try:
            yield address
        finally:
            monkeypatch.delenv(STORE)
            store_address.cache_clear()
            close_servers()
            admin.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@contextmanager
def away(server: str, database: str) -> Generator[None]:
    """Have a database refuse all connections, and lose those that it has."""
    import psycopg

    name = database.partition("@/")[2].partition("?")[0]
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f"ALTER DATABASE {name} WITH ALLOW_CONNECTIONS false".encode())
        admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,)
        )
        try:
            yield
        finally:
            admin.execute(f"ALTER DATABASE {name} WITH ALLOW_CONNECTIONS true".encode())


def do(address: str, statement: str) -> None:
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(statement.encode())
