"""`StoreServer`: the PostgreSQL database that runs are stored in, and how long it is waited for."""

from __future__ import annotations

import atexit
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from threading import Lock
from typing import Any, TypeVar

from ..errors import StorageError
from ..host.system import package_version

try:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    from ..host.postgres import (
        Connection,
        ConnectionPool,
        advice_of,
        lock_number,
        message_of,
        open_connection,
        quote_name,
        shown_address,
    )
except ImportError as error:
    raise StorageError(
        f"Runs are stored in PostgreSQL, but its driver can't be loaded: {error}.",
        "Install it: pip install 'prefect-swarm[postgres]'",
    ) from error

__all__ = ["SCHEMA", "StoreServer", "close_servers", "server_at"]

SCHEMA = "prefect_swarm_runs"
PATIENCE_S = 60.0
"""How long a server that was there is waited for."""
_CONNECTIONS = 4
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 2.0
_SETTING = "PREFECT_INTEGRATIONS_SWARM_STORE"
# A server that went away without a word is noticed within seconds.
_KEEPALIVE: dict[str, Any] = {
    "connect_timeout": 5,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}

_T = TypeVar("_T")
_logger = logging.getLogger("prefect_swarm.runs")

# Each brings the tables from one version to the next; they are never changed, only added to. `@`
# stands for the schema. Names compare by their bytes, so that those of a folder are a range. The
# first piece of a large file is its row's data, and `more` says how many others there are.
MIGRATIONS: list[str] = [
    """
    CREATE TABLE @.runs (
        run_id text PRIMARY KEY,
        token bigint NOT NULL DEFAULT 0,
        owner text,
        taken_at timestamptz,
        lease_until timestamptz,
        package text NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now()
    );
    CREATE TABLE @.files (
        run_id text NOT NULL REFERENCES @.runs ON DELETE CASCADE,
        name text COLLATE "C" NOT NULL,
        data bytea NOT NULL,
        changed_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (run_id, name)
    );
    CREATE TABLE @.entries (
        run_id text NOT NULL REFERENCES @.runs ON DELETE CASCADE,
        name text COLLATE "C" NOT NULL,
        number bigint GENERATED ALWAYS AS IDENTITY,
        mark uuid NOT NULL,
        line bytea NOT NULL,
        PRIMARY KEY (run_id, name, number),
        UNIQUE (run_id, mark)
    )
    """,
    """
    ALTER TABLE @.files ADD COLUMN more int NOT NULL DEFAULT 0;
    CREATE TABLE @.pieces (
        run_id text NOT NULL REFERENCES @.runs ON DELETE CASCADE,
        name text COLLATE "C" NOT NULL,
        number int NOT NULL,
        data bytea NOT NULL,
        PRIMARY KEY (run_id, name, number)
    )
    """,
    # A function's statements are planned once a connection, which takes longer than doing them.
    """
    CREATE FUNCTION @.append_line(
        of_run text, to_name text, its_mark uuid, its_line bytea, owners_token bigint,
        is_synced boolean
    ) RETURNS boolean LANGUAGE plpgsql AS $$
    BEGIN
        IF NOT is_synced THEN
            PERFORM set_config('synchronous_commit', 'off', true);
        END IF;
        IF owners_token IS NULL THEN
            PERFORM 1 FROM @.runs WHERE run_id = of_run
                AND (owner IS NULL OR lease_until < now()) FOR SHARE;
        ELSE
            PERFORM 1 FROM @.runs WHERE run_id = of_run AND token = owners_token FOR SHARE;
        END IF;
        IF NOT FOUND THEN
            RETURN false;
        END IF;
        INSERT INTO @.entries (run_id, name, mark, line)
            VALUES (of_run, to_name, its_mark, its_line)
            ON CONFLICT (run_id, mark) DO UPDATE SET line = excluded.line;
        RETURN true;
    END $$
    """,
    # Says whether its writer may. What a larger file had that was in the file's place goes.
    """
    CREATE FUNCTION @.put_file(
        of_run text, to_name text, its_data bytea, owners_token bigint
    ) RETURNS boolean LANGUAGE plpgsql AS $$
    BEGIN
        IF owners_token IS NULL THEN
            PERFORM 1 FROM @.runs WHERE run_id = of_run
                AND (owner IS NULL OR lease_until < now()) FOR SHARE;
        ELSE
            PERFORM 1 FROM @.runs WHERE run_id = of_run AND token = owners_token FOR SHARE;
        END IF;
        IF NOT FOUND THEN
            RETURN false;
        END IF;
        INSERT INTO @.files (run_id, name, data, more) VALUES (of_run, to_name, its_data, 0)
            ON CONFLICT (run_id, name)
            DO UPDATE SET data = excluded.data, more = 0, changed_at = now();
        DELETE FROM @.pieces WHERE run_id = of_run AND name = to_name;
        RETURN true;
    END $$
    """,
    # A version is the current one while `current_until` is the newest; else the newest is.
    """
    CREATE TABLE @.procedures (
        name text COLLATE "C" NOT NULL,
        version int NOT NULL,
        data bytea NOT NULL,
        current_until int,
        added_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (name, version)
    )
    """,
]


class StoreServer:
    """Executes statements on the database of the runs; any threads may use it.

    A server that was there and can't be reached is waited for up to `PATIENCE_S`, which is said
    once; one that was never there, or is away for longer, is an error at once until it is back.
    """

    def __init__(self, dsn: str, schema: str = SCHEMA) -> None:
        self.dsn, self.schema = dsn, schema
        self._quoted = quote_name(schema)
        self._pool = ConnectionPool(self._open, _CONNECTIONS)
        self._lock = Lock()
        self._is_ready = self._is_up = self._is_waited_for = False

    def __str__(self) -> str:
        """Say where the server is, without user and password."""
        return f"postgresql ({shown_address(self.dsn)})"

    def rows(
        self,
        query: str,
        values: Mapping[str, Any] | None = None,
        *,
        patience_s: float | None = None,
        again: str = "",
    ) -> Sequence[tuple[Any, ...]]:
        """Execute a statement, and return its rows.

        Args:
            query: It, with `@` for the schema. What it does twice has to come to the same.
            values: Its values, by their names.
            patience_s: How long a server is waited for; as long as for all others if left out.
            again: The statement in its place where nobody knows whether it was done before.

        Raises:
            StorageError: The server can't be reached, or refuses.
        """
        queries = (query, again or query)

        def execute(db: Connection, number: int) -> Sequence[tuple[Any, ...]]:
            return self._execute(db, queries[min(number, 1)], values or {})

        return self._do(execute, PATIENCE_S if patience_s is None else patience_s)

    def together(
        self,
        others: Callable[[], Iterable[tuple[str, Mapping[str, Any]]]],
        last: str,
        values: Mapping[str, Any],
        *,
        again: str = "",
    ) -> Sequence[tuple[Any, ...]]:
        """Execute statements in one transaction, and return the rows of the last one.

        Args:
            others: Returns those before it, for each try anew.
            last: It; where the end of its row is 0, nothing was done.
            values: Its values.
            again: The last one in its place where nobody knows whether it was done before.

        Raises:
            StorageError: As `rows` does; nothing was done.
        """
        queries = (last, again or last)

        def execute(db: Connection, number: int) -> Sequence[tuple[Any, ...]]:
            with db.transaction() as transaction:
                for query, given in others():
                    self._execute(db, query, given)
                found = self._execute(db, queries[min(number, 1)], values)
                if not found[0][-1]:
                    raise psycopg.Rollback(transaction)
            return found

        return self._do(execute, PATIENCE_S)

    def stream(self, query: str, values: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
        """Execute a statement, and yield its rows without having more of them than one at once.

        Raises:
            StorageError: The server can't be reached, or goes away meanwhile.
        """
        self.rows("SELECT 1")  # It is waited for here.
        try:
            with self._pool.connection() as connection, connection.cursor(binary=True) as cursor:
                yield from cursor.stream(self._sql(query), values, binary=True)
        except psycopg.Error as error:
            raise self._problem(error) from error

    def _execute(
        self, db: Connection, query: str, values: Mapping[str, Any]
    ) -> Sequence[tuple[Any, ...]]:
        with db.cursor(binary=True) as cursor:
            # Prepared statements are lost behind a pooler that shares connections.
            cursor.execute(self._sql(query), values, prepare=False)
            return cursor.fetchall() if cursor.description else ()

    def close(self) -> None:
        """Close what is open; the next statement opens it again."""
        self._pool.close()

    def _open(self) -> Connection:
        return open_connection(self.dsn, **_unless_named(self.dsn))

    def _do(self, work: Callable[[Connection, int], _T], patience_s: float) -> _T:
        end, pause, number = time.monotonic() + patience_s, _FIRST_PAUSE_S, 0
        while True:
            try:
                with self._pool.connection() as connection:
                    if not self._is_ready:
                        self._make_ready(connection)
                    try:
                        found = work(connection, number)
                    except psycopg.OperationalError:
                        # What broke off may have been done.
                        number += connection.broken
                        raise
            except psycopg.Error as error:
                was_up = self._is_up
                if not (was_up and _may_pass(error) and time.monotonic() + pause < end):
                    if _may_pass(error) and patience_s:
                        self._is_up = False
                    raise self._problem(error) from error
                if pause > _FIRST_PAUSE_S:
                    self._say_that_it_waits(error, patience_s)
                time.sleep(pause)
                pause = min(pause * 2, _LONGEST_PAUSE_S)
            else:
                self._is_up, self._is_waited_for = True, False
                return found

    def _say_that_it_waits(self, error: psycopg.Error, patience_s: float) -> None:
        with self._lock:
            is_said, self._is_waited_for = self._is_waited_for, True
        if not is_said:
            problem = self._problem(error).problem
            _logger.warning("%s It is waited for, up to %.0f s.", problem, patience_s)

    def _make_ready(self, connection: Connection) -> None:
        """Have the tables as this version knows them."""
        if self._layout(connection) != len(MIGRATIONS):
            with connection.transaction():
                lock = lock_number(f"prefect_swarm.runs.{self.schema}")
                connection.execute("SELECT pg_advisory_xact_lock(%s)", (lock,))
                self._migrate(connection)
        self._is_ready = True

    def _layout(self, connection: Connection) -> int:
        """Return the version of the tables, 0 if there are none.

        Raises:
            StorageError: A newer version of the package made them.
        """
        known = (
            "SELECT 1 FROM information_schema.tables "
            "WHERE table_schema = %s AND table_name = 'versions'"
        )
        if connection.execute(known, (self.schema,)).fetchone() is None:
            return 0
        query = "SELECT number, package FROM @.versions ORDER BY number DESC LIMIT 1"
        row = connection.execute(self._sql(query)).fetchone()
        number, package = (0, "") if row is None else (int(row[0]), str(row[1]))
        if number > len(MIGRATIONS):
            raise StorageError(
                f"The store at {self} is of prefect-swarm {package}: its tables have version "
                f"{number}, and this one, {package_version()}, knows {len(MIGRATIONS)}.",
                "Use that version: pip install -U prefect-swarm. Nothing was changed.",
            )
        return number

    def _migrate(self, connection: Connection) -> None:
        before = self._layout(connection)
        if not before:
            encoding = connection.info.parameter_status("server_encoding")
            if encoding != "UTF8":
                raise StorageError(
                    f"The database {connection.info.dbname} is encoded in {encoding}, which can't "
                    "store all names.",
                    "Create one for the runs: createdb --encoding=UTF8 --template=template0 NAME",
                )
            # CREATE SCHEMA IF NOT EXISTS needs the right to create even if the schema exists.
            known = "SELECT 1 FROM pg_namespace WHERE nspname = %s"
            if connection.execute(known, (self.schema,)).fetchone() is None:
                connection.execute(self._sql("CREATE SCHEMA @"))
            connection.execute(
                self._sql("CREATE TABLE @.versions (number int PRIMARY KEY, package text NOT NULL)")
            )
        for number, migration in enumerate(MIGRATIONS[before:], before + 1):
            connection.execute(self._sql(migration))
            made = self._sql("INSERT INTO @.versions (number, package) VALUES (%s, %s)")
            connection.execute(made, (number, package_version()))

    def _sql(self, query: str) -> bytes:
        return query.replace("@", self._quoted).encode()

    def _problem(self, error: psycopg.Error) -> StorageError:
        fix = advice_of(error)
        if isinstance(error, psycopg.OperationalError) and not isinstance(
            error, psycopg.errors.DiskFull
        ):
            fix = f"Check that the server runs and that {_SETTING} has its address; then go on."
        problem = f"The store of runs at {self} can't be used: {message_of(error, self.dsn)}."
        return StorageError(problem, fix)


_servers: dict[tuple[str, str], StoreServer] = {}


def server_at(dsn: str, schema: str = SCHEMA) -> StoreServer:
    """Return the server of an address; there is one in a process."""
    return _servers.setdefault((dsn, schema), StoreServer(dsn, schema))


@atexit.register
def close_servers() -> None:
    """Close what is open of all servers; who still uses one opens it again."""
    for server in [*_servers.values()]:
        server.close()
    _servers.clear()


_ANSWERED = (
    psycopg.errors.DiskFull,
    psycopg.errors.InvalidPassword,
    psycopg.errors.InvalidAuthorizationSpecification,
    psycopg.errors.LockNotAvailable,
    psycopg.errors.QueryCanceled,
)


def _may_pass(error: psycopg.Error) -> bool:
    """Whether the server is away, or is about to be, and may come back."""
    return isinstance(error, psycopg.OperationalError) and not isinstance(error, _ANSWERED)


def _unless_named(dsn: str) -> dict[str, Any]:
    """Return what is set of a connection unless its address says otherwise."""
    named = conninfo_to_dict(dsn)
    return {name: value for name, value in _KEEPALIVE.items() if name not in named}
