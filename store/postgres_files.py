"""`PostgresFiles`: the files of a run as rows of a database, written by who may write them."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

from ..errors import RunAliveError, RunTakenError
from ..host.system import package_version
from ..untrusted.folder import MOST_BYTES
from ..untrusted.opening import UnsafeFileError, parts_of
from .layout import LINES
from .lease import ADD_RUN, Lease, taken_error, token_here
from .postgres_server import StoreServer

__all__ = ["PIECE_BYTES", "PostgresFiles"]

PIECE_BYTES = 8 << 20
"""Bytes of a file that are written or read at once."""

# Who may write: the lease's owner, by its token; without a lease, anybody while nobody has one. The
# run's row is held until the statement ends, so that no other process takes the lease meanwhile.
_BY_OWNER = "SELECT 1 FROM @.runs WHERE run_id = %(run)s AND token = %(token)s FOR SHARE"
# For an attempt that another process works on: only its last start may.
_BY_START = (
    "SELECT 1 FROM @.runs WHERE run_id = %(run)s AND token = %(token)s AND EXISTS "
    "(SELECT 1 FROM @.files f where f.run_id = %(run)s AND f.name = %(start)s "
    "AND position(%(begun)s in f.data) > 0) FOR SHARE"
)
_BY_NOBODY = (
    "SELECT 1 FROM @.runs WHERE run_id = %(run)s AND (owner IS NULL OR lease_until < now()) "
    "FOR SHARE"
)
_BY_ANYBODY = "SELECT 1 FROM @.runs WHERE run_id = %(run)s FOR KEY SHARE"
# An action on a file returns how many pieces it has besides its row, see `_DROP`.
_REPLACE = (
    "INSERT INTO @.files (run_id, name, data, more) "
    "SELECT %(run)s, %(name)s, %(data)s, %(more)s FROM allowed ON CONFLICT (run_id, name) "
    "DO UPDATE SET data = excluded.data, more = excluded.more, changed_at = now() RETURNING more"
)
_CREATE = (
    "INSERT INTO @.files (run_id, name, data, more) "
    "SELECT %(run)s, %(name)s, %(data)s, %(more)s FROM allowed "
    "ON CONFLICT (run_id, name) DO NOTHING RETURNING more"
)
# It may have been created before the connection broke.
_CREATE_AGAIN = (
    "INSERT INTO @.files AS old (run_id, name, data, more) "
    "SELECT %(run)s, %(name)s, %(data)s, %(more)s FROM allowed ON CONFLICT (run_id, name) "
    "DO UPDATE SET data = excluded.data WHERE old.data = excluded.data "
    "AND old.more = excluded.more RETURNING more"
)
_REMOVE = (
    "DELETE FROM @.files WHERE run_id = %(run)s AND name = %(name)s "
    "AND EXISTS (SELECT 1 FROM allowed) RETURNING 0 AS more"
)
_SHARE = (
    "INSERT INTO @.files (run_id, name, data, more) SELECT %(run)s, name, data, more "
    "FROM @.files, allowed WHERE run_id = %(source)s AND name = %(name)s "
    "ON CONFLICT (run_id, name) DO UPDATE SET data = excluded.data, more = excluded.more "
    "RETURNING more"
)
_SHARE_PIECES = (
    "INSERT INTO @.pieces (run_id, name, number, data) "
    "SELECT %(run)s, name, number, data FROM @.pieces, acted "
    "WHERE run_id = %(source)s AND name = %(name)s AND number <= acted.more "
    "ON CONFLICT (run_id, name, number) DO UPDATE SET data = excluded.data"
)
_PIECE = (
    "INSERT INTO @.pieces (run_id, name, number, data) "
    "VALUES (%(run)s, %(name)s, %(number)s, %(data)s) "
    "ON CONFLICT (run_id, name, number) DO UPDATE SET data = excluded.data"
)
# What a larger file had that was in a file's place goes.
_DROP = (
    "DELETE FROM @.pieces USING acted "
    "WHERE run_id = %(run)s AND name = %(name)s AND number > acted.more"
)
# Functions, whose statements a connection plans once. What need not survive a crash of the server's
# machine doesn't wait for its disk.
_APPEND = "@.append_line(%(run)s, %(name)s, %(mark)s, %(line)s, %(token)s::bigint, %(durable)s)"
_PUT = "@.put_file(%(run)s, %(name)s, %(data)s, %(token)s::bigint)"
_READ = (
    "SELECT octet_length(data), CASE WHEN octet_length(data) <= %(most)s THEN data END, more "
    "FROM @.files WHERE run_id = %(run)s AND name = %(name)s"
)
# One statement, so that all pieces are of one write.
_READ_PIECES = (
    "SELECT number, data FROM (SELECT 0 AS number, data FROM @.files "
    "WHERE run_id = %(run)s AND name = %(name)s UNION ALL SELECT p.number, p.data "
    "FROM @.files f JOIN @.pieces p ON p.run_id = f.run_id AND p.name = f.name "
    "AND p.number <= f.more WHERE f.run_id = %(run)s AND f.name = %(name)s) AS all_pieces "
    "ORDER BY number"
)
_READ_LINES = (
    "SELECT line FROM @.entries WHERE run_id = %(run)s AND name = %(name)s ORDER BY number"
)
_HEAD = (
    "SELECT substring(data FROM 1 FOR %(most)s) FROM @.files "
    "WHERE run_id = %(run)s AND name = %(name)s"
)
_SIZE = (
    "SELECT octet_length(data) + coalesce((SELECT sum(octet_length(p.data)) FROM @.pieces p "
    "WHERE f.more > 0 AND p.run_id = f.run_id AND p.name = f.name AND p.number <= f.more), 0) "
    "FROM @.files f WHERE run_id = %(run)s AND name = %(name)s"
)
_NAMES = (
    "SELECT name FROM @.files WHERE run_id = %(run)s AND name >= %(first)s AND name < %(end)s "
    "UNION SELECT DISTINCT name FROM @.entries "
    "WHERE run_id = %(run)s AND name >= %(first)s AND name < %(end)s ORDER BY 1"
)
_ALL = (
    "SELECT name, data, more FROM @.files "
    "WHERE run_id = %(run)s AND name >= %(first)s AND name < %(end)s"
)
_LAST_NAME = "\U0010ffff"


class PostgresFiles:
    """The files of a run in a database; see `UntrustedFolder` for what the methods do.

    Each write is one statement, which a process that has lost the run's lease can't do any more. A
    large file's pieces are written in one transaction with it.

    Raises:
        RunAliveError: Something but a new file is written of a run that another process executes.
        RunTakenError: Another process has taken the run over from this one.
        StorageError: The server can't be reached or refuses.
    """

    def __init__(self, server: StoreServer, run_id: str) -> None:
        self.server, self.run_id = server, run_id

    def read(self, name: str, most: int = MOST_BYTES) -> bytes:
        """Return what a file holds; one of lines is put together of them."""
        if name.endswith(LINES):
            found = self._rows(_READ_LINES, name)
            if not found:
                raise _missing(name)
            data = b"\n".join(row[0] for row in found)
            return data if len(data) <= most else _too_large(name, len(data), most)
        found = self._rows(_READ, name, most=most)
        if not found:
            raise _missing(name)
        size, data, more = found[0]
        if more:
            return self._read_pieces(name, most)
        return _too_large(name, size, most) if data is None else data

    def _read_pieces(self, name: str, most: int) -> bytes:
        if (size := self.size(name)) > most:
            return _too_large(name, size, most)
        whole = bytearray()
        values = {"run": self.run_id, "name": name}
        for _, piece in self.server.stream(_READ_PIECES, values):
            whole += piece
        return bytes(whole)

    def read_all(self, folder: str) -> dict[str, bytes]:
        """Return what the files below a folder hold, without those of lines, by their paths."""
        rows = self.server.rows(_ALL, {"run": self.run_id, **_range(folder)})
        return {name: self.read(name) if more else data for name, data, more in rows}

    def head(self, name: str, most: int) -> bytes:
        """Return the first bytes of a file."""
        return self._one(_HEAD, name, most=most)

    def size(self, name: str) -> int:
        """Return how many bytes a file has."""
        return int(self._one(_SIZE, name))

    def has(self, name: str) -> bool:
        """Say whether a file is there."""
        return name in self._names(name, f"{name}\0")

    def names(self, folder: str = "") -> list[str]:
        """Return the names in a folder, sorted; none where it isn't there."""
        start = len(folder) + 1 if folder else 0
        return sorted({name[start:].partition("/")[0] for name in self._below(folder)})

    def files(self, folder: str = "") -> list[str]:
        """Return the files in a folder and in those below it, by their paths from it, sorted."""
        return sorted(name[len(folder) + 1 if folder else 0 :] for name in self._below(folder))

    def replace(self, name: str, data: bytes) -> None:
        """Write a file, in the place of the one that has its name."""
        self._write_whole(_REPLACE, name, data)

    def create(self, name: str, data: bytes) -> None:
        """Write a file that isn't there yet, whoever executes the run.

        Raises:
            FileExistsError: It is there.
        """
        if not self._write_whole(_CREATE, name, data, again=_CREATE_AGAIN, by_others=True):
            raise FileExistsError(errno.EEXIST, "it is there", name)

    def append_line(self, name: str, line: str, *, durable: bool = False) -> None:
        """Add a line to a file."""
        mark = uuid4()
        self._write(_APPEND, name, mark=mark, line=line.encode(), durable=durable)

    def remove(self, name: str) -> None:
        """Remove a file; nothing is wrong where there is none."""
        self._write(_REMOVE, name, drops=True)

    def prune(self, folder: str) -> None:
        """Do nothing: there are no folders without files."""

    def share(self, name: str, source: PostgresFiles) -> bool:
        """Copy another run's file within the database; False if it isn't there."""
        return self._write(_SHARE, name, drops=True, shares=True, source=source.run_id)

    def _write_whole(self, action: str, name: str, data: bytes, **how: Any) -> bool:
        """Write a file, with its further pieces before it if it is large."""
        more = max(0, len(data) - 1) // PIECE_BYTES
        how |= {"drops": True, "data": data[:PIECE_BYTES], "more": more}
        if not more:
            return self._write(_PUT if action is _REPLACE else action, name, **how)

        def pieces() -> Iterator[tuple[str, dict[str, Any]]]:
            for number in range(1, more + 1):
                piece = data[number * PIECE_BYTES : (number + 1) * PIECE_BYTES]
                given = {"run": self.run_id, "name": name, "number": number, "data": piece}
                yield _PIECE, given

        self._add()
        return self._write(action, name, before=pieces, **how)

    def _write(
        self,
        action: str,
        name: str,
        *,
        again: str = "",
        by_others: bool = False,
        drops: bool = False,
        shares: bool = False,
        before: Callable[[], Iterator[tuple[str, dict[str, Any]]]] | None = None,
        **values: Any,
    ) -> bool:
        """Do it if this process may; return whether it did anything.

        Args:
            before: What has to be done in the same transaction. It is taken back where this process
                may not do the rest: the run's row is held for no longer than the last statement.
        """
        _check(name)
        lease = token_here(self.server, self.run_id)
        if lease is not None and lease.is_lost:
            raise self._taken(lease)
        who = _BY_OWNER if lease else _BY_ANYBODY if by_others else _BY_NOBODY
        filled = {**values, "run": self.run_id, "name": name, "token": lease and lease.token}
        also = (_SHARE_PIECES,) * shares + (_DROP,) * drops
        if lease is not None and lease.start:
            who = _BY_START
            filled |= {"start": lease.start, "begun": lease.mark}
        for _ in range(2):
            statement = _statement(who, action, also)
            repeated = _statement(who, again, also) if again else ""
            if before is None:
                ((allowed, done),) = self.server.rows(statement, filled, again=repeated)
            else:
                found = self.server.together(before, statement, filled, again=repeated)
                ((allowed, done),) = found
            if allowed:
                return bool(done)
            if lease is not None:
                break
            self._add()
        raise self._refused(lease)

    def _add(self) -> None:
        """Begin to keep something of the run, unless that has begun."""
        self.server.rows(ADD_RUN, {"run": self.run_id, "package": package_version()})

    def _refused(self, lease: Lease | None) -> RunAliveError:
        if lease is not None:
            lease.lose()
            return self._taken(lease)
        return RunAliveError(
            f"Run {self.run_id} is being executed by another process, which alone may write it.",
            "Wait until it ends, or end that process; then resume the run.",
        )

    def _taken(self, lease: Lease) -> RunTakenError:
        if lease.owner:
            return taken_error(self.server, self.run_id)
        return RunTakenError(
            f"What is written of run {self.run_id} here is refused: another process executes the "
            "run by now, or the attempt was begun once more.",
            f"Look how the run goes on: prefect-swarm watch {self.run_id}",
        )

    def _rows(self, query: str, name: str, **values: Any) -> Any:
        _check(name)
        return self.server.rows(query, {"run": self.run_id, "name": name, **values})

    def _one(self, query: str, name: str, **values: Any) -> Any:
        if not (found := self._rows(query, name, **values)):
            raise _missing(name)
        return found[0][0]

    def _below(self, folder: str) -> list[str]:
        asked = _range(folder)
        return self._names(asked["first"], asked["end"])

    def _names(self, first: str, end: str) -> list[str]:
        # A text can't have NUL: it stands for the smallest name after another.
        if end.endswith("\0"):
            found = self.server.rows(
                "SELECT name FROM @.files WHERE run_id = %(run)s AND name = %(name)s UNION ALL "
                "(SELECT name FROM @.entries WHERE run_id = %(run)s AND name = %(name)s LIMIT 1)",
                {"run": self.run_id, "name": _check(first)},
            )
        else:
            found = self.server.rows(_NAMES, {"run": self.run_id, "first": first, "end": end})
        return [row[0] for row in found]


def _statement(who: str, action: str, also: tuple[str, ...]) -> str:
    if action in (_APPEND, _PUT):
        # It looks whose token it is, not which start of an attempt.
        call = f"coalesce((SELECT {action} FROM ({who}) AS may), false)"  # noqa: S608
        call = call if who == _BY_START else action
        return f"SELECT allowed, allowed FROM (SELECT {call}) AS done (allowed)"  # noqa: S608
    more = "".join(f", also{number} AS ({each})" for number, each in enumerate(also))
    return (
        f"WITH allowed AS MATERIALIZED ({who}), acted AS ({action}){more} "  # noqa: S608 - all are above
        "SELECT (SELECT count(*) FROM allowed), (SELECT count(*) FROM acted)"
    )


def _range(folder: str) -> dict[str, str]:
    """Return the first name below a folder, and the first one after them."""
    if not folder:
        return {"first": "", "end": _LAST_NAME}
    _check(folder)
    return {"first": f"{folder}/", "end": f"{folder}0"}  # 0 comes after the slash.


def _check(name: str) -> str:
    """Refuse what can't be a file's name in a folder: a run may be brought into one."""
    parts_of(name)
    try:
        name.encode()
    except UnicodeEncodeError:
        raise UnsafeFileError(errno.EINVAL, f"{name!a} is not a path of characters") from None
    return name


def _missing(name: str) -> FileNotFoundError:
    return FileNotFoundError(errno.ENOENT, "it isn't there", name)


def _too_large(name: str, size: int, most: int) -> bytes:
    raise UnsafeFileError(errno.EFBIG, f"{name} has {size:,} bytes, and {most:,} are read at most")
