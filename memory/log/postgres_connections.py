"""Connections to a PostgreSQL server: one per thread; writers take turns."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias, TypeVar

from ...errors import MemoryStoreError
from .per_thread import PerThread

try:
    import psycopg
    from psycopg import sql
    from psycopg.conninfo import conninfo_to_dict
except ImportError as error:
    raise MemoryStoreError(
        f"The memory is in PostgreSQL, but its driver can't be loaded: {error}.",
        "Install it: pip install 'prefect-swarm[postgres]'",
    ) from error

__all__ = ["PATIENCE_S", "Connection", "PostgresConnections", "quote_name"]

PATIENCE_S = 60.0
"""How long a call waits for other writers before it gives up."""

Connection: TypeAlias = "psycopg.Connection[tuple[Any, ...]]"
_T = TypeVar("_T")


class PostgresConnections:
    """Opens a connection for each thread and process that asks.

    Args:
        dsn: Where the server is, as a URI or as `host=… dbname=…`.
        schema: The schema whose writers take turns.
        patience_s: How long to wait for other writers.
    """

    def __init__(self, dsn: str, schema: str, patience_s: float = PATIENCE_S) -> None:
        self._dsn = dsn
        self._turn = _lock_number(schema)
        # Not a bound method: a reference cycle would be closed late, and in any order.
        open_connection = partial(_open, dsn, patience_s)
        self._connections = PerThread(open_connection, psycopg.Connection[Any].close)

    def read(self, work: Callable[[Connection], _T]) -> _T:
        """Do what needs no transaction; try again if the connection was lost.

        Raises:
            MemoryStoreError: The server can't be reached, or refuses.
        """
        if self._connections.closed:
            raise MemoryStoreError(f"The memory at {self} has been closed.")
        try:
            connection = self._connections.get()
            try:
                return work(connection)
            except psycopg.OperationalError:
                if not connection.broken:
                    raise
                self._connections.drop()
                return work(self._connections.get())
        except psycopg.Error as error:
            raise self._problem(error) from error

    def write(self, work: Callable[[Connection], _T]) -> _T:
        """Do it in a transaction while nothing else writes; `work` may be called more than once.

        A commit is visible before the next writer starts, so no reader ever sees a later position
        before an earlier one.
        """

        def transaction(db: Connection) -> _T:
            with db.transaction():
                db.execute("SELECT pg_advisory_xact_lock(%s)", (self._turn,))
                return work(db)

        return self.read(transaction)

    def close(self) -> None:
        """Close the connections of all threads. The log can't be used afterwards."""
        self._connections.close()

    def __str__(self) -> str:
        """Say where the server is, without the password."""
        try:
            parts = conninfo_to_dict(self._dsn)
        except psycopg.Error:
            return "an address that can't be read"
        return " ".join(f"{k}={v}" for k, v in parts.items() if k in ("host", "port", "dbname"))

    def _problem(self, error: Exception) -> MemoryStoreError:
        message = " ".join(str(error).split())
        if isinstance(error, psycopg.errors.LockNotAvailable):
            fix = "Another process is still writing; see pg_stat_activity."
        elif isinstance(error, psycopg.errors.InsufficientPrivilege):
            fix = "Grant the user the right to create and use a schema."
        elif isinstance(error, psycopg.OperationalError):
            fix = "Check that the server runs and that its address is right."
        else:
            fix = ""
        return MemoryStoreError(f"The memory at {self} can't be used: {message}.", fix)


def _open(dsn: str, patience_s: float) -> Connection:
    connection = psycopg.connect(
        dsn, autocommit=True, client_encoding="utf8", connect_timeout=max(1, round(patience_s))
    )
    try:
        # Stricter levels take their snapshot before the writers' lock, so they see old data.
        connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
        timeout = f"{max(1, round(patience_s * 1000))}ms"
        connection.execute("SELECT set_config('lock_timeout', %s, false)", (timeout,))
    except BaseException:
        connection.close()
        raise
    return connection


def quote_name(*names: str) -> str:
    """Quote a name, or its parts, for SQL."""
    return sql.Identifier(*names).as_string(None)


def _lock_number(schema: str) -> int:
    name = hashlib.sha256(f"prefect_swarm.memory.{schema}".encode()).digest()
    return int.from_bytes(name[:8], "big", signed=True)
