"""Connections to a PostgreSQL server: how they are opened, quoted and spoken of without passwords.

Importing it needs the package psycopg, of the extra `postgres`.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from threading import Lock, Semaphore
from typing import Any, TypeAlias

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from .secrets import MASK

__all__ = [
    "Connection",
    "ConnectionPool",
    "advice_of",
    "lock_number",
    "message_of",
    "open_connection",
    "password_of",
    "quote_name",
    "shown_address",
]

Connection: TypeAlias = "psycopg.Connection[tuple[Any, ...]]"
_SHOWN = ("host", "port", "dbname")


def open_connection(dsn: str, **parameters: Any) -> Connection:
    """Open a connection in UTF-8 in which each statement is a transaction of its own.

    Raises:
        psycopg.Error: The server can't be reached, or refuses.
    """
    connection = psycopg.connect(dsn, autocommit=True, client_encoding="utf8", **parameters)
    # Stricter levels take their snapshot before a lock is waited for, so they see old data.
    connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
    return connection


def quote_name(*names: str) -> str:
    """Quote a name, or its parts, for SQL."""
    return sql.Identifier(*names).as_string(None)


def lock_number(name: str) -> int:
    """Return the number of the advisory lock of a name."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big", signed=True)


def shown_address(dsn: str) -> str:
    """Say where a server is, without user and password."""
    try:
        parts = conninfo_to_dict(dsn)
    except psycopg.Error:
        return "an address that can't be read"
    return " ".join(f"{name}={value}" for name, value in parts.items() if name in _SHOWN)


def password_of(dsn: str) -> str:
    """Return the password that an address has; "" for none."""
    with suppress(psycopg.Error):
        return str(conninfo_to_dict(dsn).get("password") or "")
    return ""


def message_of(error: Exception, dsn: str) -> str:
    """Return what the server or its driver says of an error, in one line and without a password."""
    try:
        conninfo_to_dict(dsn)
    except psycopg.Error:
        return "the address is no connection string"  # The driver would repeat it.
    text = " ".join(str(error).split()).rstrip(".")
    password = password_of(dsn)
    return text.replace(password, MASK) if password else text


def advice_of(error: Exception) -> str:
    """Say what to do about an error; "" where nothing is known."""
    if isinstance(error, psycopg.errors.LockNotAvailable):
        return "Another process is still writing; see pg_stat_activity."
    if isinstance(error, psycopg.errors.InsufficientPrivilege):
        return "Grant the user the right to create and use a schema."
    if isinstance(error, psycopg.errors.DiskFull):
        return "Make room on the database's disk."
    if isinstance(error, psycopg.OperationalError):
        return "Check that the server runs and that its address is right."
    return ""


_inherited: list[object] = []
"""Connections of the process that this one was forked from: closing them would harm the parent."""


class ConnectionPool:
    """A few connections that the threads of a process share; a fork has its own.

    Args:
        open_one: Opens a connection.
        most: How many there are at the same time.
    """

    def __init__(self, open_one: Callable[[], Connection], most: int) -> None:
        self._open = open_one
        self._most = most
        self._begin()

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._idle: list[Connection] = []
        self._lock, self._free = Lock(), Semaphore(self._most)

    @contextmanager
    def connection(self) -> Generator[Connection]:
        """Use a connection; one that broke meanwhile is closed.

        Raises:
            psycopg.Error: None can be opened.
        """
        if self._pid != os.getpid():
            _inherited.append(self._idle)
            self._begin()
        with self._free:
            with self._lock:
                taken = self._idle.pop() if self._idle else None
            connection = taken or self._open()
            try:
                yield connection
            finally:
                # A statement that was broken off may still have its result on the way.
                idle = psycopg.pq.TransactionStatus.IDLE
                if not connection.closed and connection.info.transaction_status == idle:
                    with self._lock:
                        self._idle.append(connection)
                else:
                    connection.close()

    def close(self) -> None:
        """Close the connections that nobody uses just now."""
        if self._pid == os.getpid():
            with self._lock:
                while self._idle:
                    self._idle.pop().close()
