"""`PostgresRun`: a run in a PostgreSQL database, which each machine with its address reaches."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any
from uuid import uuid4

from ..errors import RunDamagedError, RunNotFoundError
from ..untrusted.opening import is_plain_name
from .event_log import EventLog, from_line
from .events import FinishedEvent, RunEvent
from .filed_run import FiledRun
from .layout import ABOUT, EVENTS, RESULT, STEPS, name_of
from .lease import hold_lease, is_leased, lease_part, token_here
from .postgres_files import PostgresFiles
from .postgres_server import StoreServer, server_at
from .protocol import RunStore, is_whole_id, run_id_of
from .step import StepState

__all__ = ["PostgresRun", "StoredBeginning"]

_EVENTS_AT_ONCE = 1000
_TAIL = 20
_ERASE = (
    "DELETE FROM @.runs WHERE run_id = %(run)s AND (owner IS NULL OR lease_until < now()) "
    "RETURNING 1"
)
_EXISTS = "SELECT 1 FROM @.runs WHERE run_id = %(run)s"
_HAS_ANY = (
    "SELECT 1 WHERE EXISTS (SELECT 1 FROM @.files WHERE run_id = %(run)s) "
    "OR EXISTS (SELECT 1 FROM @.entries WHERE run_id = %(run)s)"
)
_LIST = (
    "SELECT r.run_id, extract(epoch FROM r.created_at)::float8, a.data, "
    "substring(s.data FROM 1 FOR %(head)s) FROM @.runs r "
    "LEFT JOIN @.files a ON a.run_id = r.run_id AND a.name = %(about)s "
    "LEFT JOIN @.files s ON s.run_id = r.run_id AND s.name = %(result)s "
    "WHERE EXISTS (SELECT 1 FROM @.files f WHERE f.run_id = r.run_id) "
    "OR EXISTS (SELECT 1 FROM @.entries e WHERE e.run_id = r.run_id)"
)
_LATEST = "SELECT run_id FROM @.runs ORDER BY created_at DESC LIMIT 5"
_RUNNING = (
    "SELECT extract(epoch FROM now() - taken_at)::float8 FROM @.runs "
    "WHERE run_id = %(run)s AND owner IS NOT NULL AND lease_until >= now()"
)
_FRESH = (
    "SELECT number, line FROM @.entries WHERE run_id = %(run)s AND name = %(name)s "
    "AND number > %(after)s ORDER BY number LIMIT %(most)s"
)
_LAST = (
    "SELECT line FROM @.entries WHERE run_id = %(run)s AND name = %(name)s "
    "ORDER BY number DESC LIMIT %(most)s OFFSET %(from)s"
)
_BYTES = (
    "SELECT coalesce(sum(octet_length(line) + 1), 0)::bigint FROM @.entries "
    "WHERE run_id = %(run)s AND name = %(name)s"
)


@dataclass(frozen=True, slots=True)
class StoredBeginning:
    """A stored run as a list of all needs it.

    Attributes:
        created_at: When something was first kept of it, in seconds since the Unix epoch.
        about: The file that says how it began; None if there is none.
        head: The first bytes of its result; None if it has none.
    """

    run: PostgresRun
    created_at: float
    about: bytes | None
    head: bytes | None


@dataclass(frozen=True, slots=True)
class PostgresRun(FiledRun):
    """A run whose files are rows of a database, and whose owner has a lease."""

    server: StoreServer
    name: str

    @staticmethod
    def of(dsn: str, flow_run_id: str) -> PostgresRun:
        """Return the run of that flow run; nothing is made yet.

        Raises:
            RunNotFoundError: No run can have such a name.
        """
        name = run_id_of(flow_run_id)
        if name and not is_plain_name(name):
            raise RunNotFoundError(f"No run is called {flow_run_id[:40]!a}.", "Check the name.")
        return PostgresRun(server_at(dsn), name)

    @staticmethod
    def find(dsn: str, name: str) -> PostgresRun:
        """Find a run by its id or its flow run's id.

        Raises:
            RunDamagedError: What says which flow run it was can't be read, and the name doesn't.
            RunNotFoundError: There is none.
            StorageError: The server can't be reached.
        """
        name = name.strip()
        server = server_at(dsn)
        run = PostgresRun(server, run_id_of(name))
        if not is_plain_name(run.run_id) or not run.has_started():
            known = [row[0] for row in server.rows(_LATEST)]
            advice = f"The last ones are {', '.join(known)}." if known else "There are no runs yet."
            raise RunNotFoundError(f"No run {name!r} is stored in {server}.", advice)
        flow_run_id = run.about().flow_run_id
        if not flow_run_id and not is_whole_id(name):
            raise RunDamagedError(
                f"{run.where(ABOUT)} doesn't say which flow run {run.run_id} was.",
                f"Give the flow run's whole id instead, which begins with {run.run_id[:8]}; "
                f"the Prefect UI and `prefect flow-run ls` show it.",
            )
        if flow_run_id and name not in (run.run_id, flow_run_id, flow_run_id.replace("-", "")):
            raise RunNotFoundError(
                f"Run {run.run_id} in {server} is flow run {flow_run_id}, not {name!r}.",
                "Check the name.",
            )
        return run

    @staticmethod
    def all(dsn: str, head_bytes: int) -> list[StoredBeginning]:
        """Return all runs, with the first bytes of their results.

        Raises:
            StorageError: The server can't be reached.
        """
        server = server_at(dsn)
        values = {"about": ABOUT, "result": RESULT, "head": head_bytes}
        return [
            StoredBeginning(PostgresRun(server, name), created_at, about, head)
            for name, created_at, about, head in server.rows(_LIST, values)
        ]

    @property
    def run_id(self) -> str:
        """The short name."""
        return self.name

    @property
    def files(self) -> PostgresFiles:
        """Its files."""
        return PostgresFiles(self.server, self.name)

    def where(self, name: str = "") -> str:
        """Return where a file is: the server without user and password, the run, and its name."""
        return f"{self.server} {self.name}{f'/{name}' if name else ''}"

    def other(self, run_id: str) -> PostgresRun:
        """Return another run of the same database."""
        return PostgresRun(self.server, run_id)

    def share(self, name: str, source: RunStore) -> bool:
        """Copy another run's file within the database."""
        if not isinstance(source, PostgresRun) or source.server is not self.server:
            return False
        return self.files.share(name, source.files)

    # --- the run ------------------------------------------------------------------------------

    def has_started(self) -> bool:
        """Say whether anything is kept of the run."""
        return bool(self._rows(_HAS_ANY))

    def exclusive(self, lost: Callable[[], object] = lambda: None) -> AbstractContextManager[None]:
        """Hold the run's lease."""
        return hold_lease(self.server, self.name, lost)

    def is_executed(self) -> bool:
        """Say whether a process of any machine holds the run's lease."""
        return is_leased(self.server, self.name)

    def token(self) -> int:
        """Return the token of this process's lease; 0 if it has none."""
        lease = token_here(self.server, self.name)
        return lease.token if lease else 0

    @contextmanager
    def take_part(self, token: int, key: str, place: str, sent: str = "") -> Generator[int]:
        """Write under another process's lease; the attempt's file says who may."""
        if not self._rows(_EXISTS):
            raise RunNotFoundError(f"There is no run {self.name} in {self.server}.")
        mark = uuid4().hex
        with lease_part(self.server, self.name, token):
            number = self.write_start(key, place, sent, mark)
        with lease_part(self.server, self.name, token, name_of("start", key), mark):
            yield number

    def running_s(self) -> float | None:
        """Return the seconds since who executes the run began to; None if nobody does."""
        found = self._rows(_RUNNING)
        return max(0.0, found[0][0]) if found else None

    def remove_temporary_files(self) -> None:
        """Do nothing: what a kill broke off was never there."""

    def texts(self) -> Iterator[str]:
        """Yield what each file holds."""
        files = self.files
        for name in files.files():
            yield files.read(name).decode("utf-8", "replace")

    def erase(self) -> bool:
        """Remove the run, unless a process executes it."""
        return bool(self._rows(_ERASE)) or not self._rows(_EXISTS)

    def steps(self) -> tuple[StepState, ...]:
        """Return the steps, which are read together: each may be a way to a far machine."""
        return self.steps_of(self.files.read_all(STEPS))

    # --- events -------------------------------------------------------------------------------

    @contextmanager
    def event_log(self) -> Generator[EventLog]:
        """Open the run's events to append to them."""
        log = _EventRows(self)
        log.open()
        yield log

    def event_feed(self, start: int = 1) -> _EventFeed:
        """Return a reader of the run's events."""
        return _EventFeed(self, start)

    def events(self, kinds: Collection[str] = ()) -> Iterator[RunEvent]:
        """Yield the events, of all kinds or of some."""
        wanted = frozenset(kinds)
        return (event for event in self.event_feed().fresh() if not wanted or event.kind in wanted)

    def last_event(self) -> RunEvent | None:
        """Return the last event; None if there is none."""
        start = 0
        while lines := self._rows(_LAST, name=EVENTS, most=_TAIL, **{"from": start}):
            for (line,) in lines:
                if (event := from_line(line)) is not None:
                    return event
            start += len(lines)
        return None

    def size_of_events(self) -> int:
        """Return the bytes of all events."""
        return int(self._rows(_BYTES, name=EVENTS)[0][0])

    def fresh_lines(self, after: int) -> list[tuple[int, bytes]]:
        """Return some events, as they are stored, after the row of a number."""
        rows = self._rows(_FRESH, name=EVENTS, after=after, most=_EVENTS_AT_ONCE)
        return [(number, line) for number, line in rows]

    def _rows(self, query: str, **values: object) -> list[tuple[Any, ...]]:
        return [*self.server.rows(query, {"run": self.name, **values})]


class _EventRows(EventLog):
    """Numbers the events of a run and adds them to the database, one after the other."""

    def __init__(self, run: PostgresRun) -> None:
        super().__init__(Path(run.where(EVENTS)))
        self._run, self._is_open = run, True
        self._turn = Lock()

    def add(self, event: RunEvent, run: str) -> RunEvent:
        """Number an event and add it: a reader must not see a later one before it."""
        with self._turn:
            return super().add(event, run)

    def _begin(self) -> tuple[RunEvent | None, int]:
        return self._run.last_event(), self._run.size_of_events()

    def _write(self, data: bytes) -> None:
        if self._is_open:
            self._run.files.append_line(EVENTS, data.decode().rstrip("\n"))
            self._size += len(data)

    def close(self) -> None:
        """Add no more."""
        self._is_open = False


class _EventFeed:
    """Reads the events of a run that may still go on.

    Attributes:
        is_finished: Whether the last event that was read is the last of its process.
    """

    def __init__(self, run: PostgresRun, start: int) -> None:
        self._run, self._start, self._after = run, start, 0
        self.is_finished = False

    def fresh(self) -> Iterator[RunEvent]:
        """Yield the events that were added since the last call."""
        while lines := self._run.fresh_lines(self._after):
            for number, line in lines:
                self._after = number
                if (event := from_line(line)) is None:
                    continue
                self.is_finished = isinstance(event, FinishedEvent)
                if event.number >= self._start:
                    yield event
