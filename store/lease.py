"""The lease of a run in a database: who holds it executes the run, and none besides.

A lease has a token, which grows with each owner, and ends unless it is renewed. What an owner
writes is refused from the moment at which another one has the lease. All times are the database's.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from uuid import uuid4

from ..errors import RunAliveError, RunTakenError, StorageError
from ..host.system import package_version
from .postgres_server import StoreServer

__all__ = [
    "HEARTBEAT_S",
    "LEASE_S",
    "Lease",
    "hold_lease",
    "is_leased",
    "lease_part",
    "taken_error",
    "token_here",
]

HEARTBEAT_S = 5.0
"""Seconds between two renewals."""
LEASE_S = 15.0
"""Seconds after its last renewal from which on another process may have a run."""
_LOOK_S = 0.25

_logger = logging.getLogger("prefect_swarm.runs")

ADD_RUN = (
    "INSERT INTO @.runs (run_id, package) VALUES (%(run)s, %(package)s) ON CONFLICT DO NOTHING"
)
_TAKE = (
    "UPDATE @.runs SET token = token + 1, owner = %(owner)s, package = %(package)s, "
    "taken_at = now(), lease_until = now() + make_interval(secs => %(lease)s) "
    "WHERE run_id = %(run)s AND (owner IS NULL OR lease_until < now()) RETURNING token"
)
# Where nobody knows whether it was done: the owner's name is this lease's alone.
_TAKEN = "SELECT token FROM @.runs WHERE run_id = %(run)s AND owner = %(owner)s"
_HOLDER = "SELECT owner, lease_until::text FROM @.runs WHERE run_id = %(run)s"
_RENEW = (
    "UPDATE @.runs SET lease_until = now() + make_interval(secs => %(lease)s) "
    "WHERE run_id = %(run)s AND token = %(token)s AND owner = %(owner)s RETURNING 1"
)
_END = (
    "UPDATE @.runs SET owner = NULL, lease_until = NULL "
    "WHERE run_id = %(run)s AND token = %(token)s"
)
_IS_LEASED = (
    "SELECT 1 FROM @.runs WHERE run_id = %(run)s AND owner IS NOT NULL AND lease_until >= now()"
)


@dataclass
class Lease:
    """The lease of a run that this process has, or in whose name it works on an attempt.

    Attributes:
        token: Greater than that of every owner before.
        owner: Names machine and process, and this lease; "" where that is another process.
        start: The file that has `mark` as long as the attempt isn't begun once more; "" where this
            is no attempt's.
        is_lost: Whether another process has taken the run over.
    """

    server: StoreServer
    run_id: str
    token: int
    owner: str
    start: str = ""
    mark: bytes = b""
    is_lost: bool = False
    _pid: int = field(default_factory=os.getpid)
    _handlers: list[Callable[[], object]] = field(default_factory=list[Callable[[], object]])
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _over: threading.Event = field(default_factory=threading.Event)

    @property
    def is_own(self) -> bool:
        """Whether it is this process's, and not that of the one that this was forked from."""
        return self._pid == os.getpid()

    def when_lost(self, handler: Callable[[], object]) -> None:
        """Call something once the lease is lost, or now if it is."""
        with self._lock:
            if not self.is_lost:
                self._handlers.append(handler)
                return
        handler()

    def lose(self) -> None:
        """Note that another process has the run."""
        with self._lock:
            handlers, self._handlers = self._handlers, []
            self.is_lost = True
        for handler in handlers:
            handler()

    def keep(self) -> None:
        """Renew it until it is over or lost; for a thread of its own."""
        values = {"lease": LEASE_S, "run": self.run_id, "token": self.token, "owner": self.owner}
        while not self._over.wait(HEARTBEAT_S) and not self.is_lost:
            # A server that is away is waited for: nobody else gets the lease meanwhile.
            with suppress(StorageError):
                if not self.server.rows(_RENEW, values, patience_s=0) and not self._over.is_set():
                    _logger.warning("%s", taken_error(self.server, self.run_id))
                    self.lose()

    def end(self) -> None:
        """Give it up; where that can't be said, it ends by itself."""
        self._over.set()
        if not self.is_lost:
            with suppress(StorageError):
                self.server.rows(_END, {"run": self.run_id, "token": self.token}, patience_s=0)


_Key = tuple[str, str, str]
_leases: dict[_Key, Lease] = {}
_held: ContextVar[frozenset[_Key]] = ContextVar("swarm_held_leases", default=frozenset())
"""Runs whose lease the code around holds; a resume holds it around the flow, which asks again."""
_part: ContextVar[Lease | None] = ContextVar("swarm_lease_part", default=None)
"""The lease of another process in whose name the code around works on an attempt."""


def _key(server: StoreServer, run_id: str) -> _Key:
    return (server.dsn, server.schema, run_id)


def token_here(server: StoreServer, run_id: str) -> Lease | None:
    """Return the lease that this process has of a run, or works under; None if it has none."""
    part = _part.get()
    if part is not None and part.server is server and part.run_id == run_id:
        return part
    lease = _leases.get(_key(server, run_id))
    return lease if lease is not None and lease.is_own else None


@contextmanager
def lease_part(
    server: StoreServer, run_id: str, token: int, start: str = "", mark: str = ""
) -> Generator[None]:
    """Write inside as the process that has a lease does; see `Lease` for what bounds that."""
    part = Lease(server, run_id, token, "", start, mark.encode())
    before = _part.set(part)
    try:
        yield
    finally:
        _part.reset(before)


@contextmanager
def hold_lease(
    server: StoreServer, run_id: str, lost: Callable[[], object] = lambda: None
) -> Generator[None]:
    """Hold the lease of a run, and renew it; what holds it already may ask again.

    An owner that is gone is waited for until its lease ends, and one that renews it is refused.

    Raises:
        RunAliveError: Another process, or another task of this one, is executing the run.
        RunTakenError: Another process took the run over meanwhile.
        StorageError: The server can't be reached.
    """
    key = _key(server, run_id)
    if key in _held.get():
        if (lease := token_here(server, run_id)) is None:
            yield
            return
        lease.when_lost(lost)
        with _refused_if_lost(lease):
            yield
        return
    lease = _take(server, run_id)
    lease.when_lost(lost)
    _leases[key] = lease
    keeper = threading.Thread(target=lease.keep, name=f"lease of {run_id}", daemon=True)
    keeper.start()
    token = _held.set(_held.get() | {key})
    try:
        with _refused_if_lost(lease):
            yield
    finally:
        _held.reset(token)
        lease.end()
        keeper.join()
        del _leases[key]


@contextmanager
def _refused_if_lost(lease: Lease) -> Generator[None]:
    """Have what a lost run comes to be that it is lost, and no result or cancellation."""
    try:
        yield
    except Exception:
        if lease.is_lost:
            raise taken_error(lease.server, lease.run_id) from None
        raise
    if lease.is_lost:
        raise taken_error(lease.server, lease.run_id)


def _take(server: StoreServer, run_id: str) -> Lease:
    owner = f"{socket.gethostname()} process {os.getpid()} {uuid4().hex[:8]}"
    values = {"run": run_id, "owner": owner, "package": package_version(), "lease": LEASE_S}
    server.rows(ADD_RUN, values)
    end, before = time.monotonic() + LEASE_S + 2 * _LOOK_S, None
    while True:
        if taken := server.rows(_TAKE, values) or server.rows(_TAKEN, values):
            return Lease(server, run_id, int(taken[0][0]), owner)
        found = server.rows(_HOLDER, values)
        if not found or found[0][0] is None:
            server.rows(ADD_RUN, values)
            continue
        if before is None:
            before = found[0]
            holder = str(before[0]).rpartition(" ")[0]
            _logger.warning(
                "Run %s has an owner, %s; whether that is gone shows within %.0f s.",
                *(run_id, holder, LEASE_S),
            )
        # Who renews a lease, or took it meanwhile, is alive.
        if found[0] != before or time.monotonic() > end:
            holder = str(found[0][0]).rpartition(" ")[0]
            raise RunAliveError(
                f"Run {run_id} is being executed by {holder}.",
                "Wait until it ends, or end that process; then resume the run.",
            )
        time.sleep(_LOOK_S)


def is_leased(server: StoreServer, run_id: str) -> bool:
    """Whether a process of any machine executes the run."""
    return bool(server.rows(_IS_LEASED, {"run": run_id}))


def taken_error(server: StoreServer, run_id: str) -> RunTakenError:
    """Return the error of a process that has lost its run to another."""
    found = None
    with suppress(StorageError):
        found = next(iter(server.rows(_HOLDER, {"run": run_id}, patience_s=0)), None)
    holder = str(found[0]).rpartition(" ")[0] if found and found[0] else "another process"
    return RunTakenError(
        f"Run {run_id} was taken over by {holder}: this process had not renewed its lease for "
        f"{LEASE_S:.0f} s. What it would write now is refused.",
        f"Look how the run goes on: prefect-swarm watch {run_id}",
    )
