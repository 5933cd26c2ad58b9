"""A database of a test's own that runs are stored in, as the setting says it."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from uuid import uuid4

import pytest

__all__ = ["STORE", "runs_in_database"]

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
