"""`PostgresProcedures`: procedures in the database of the runs, which every machine reaches."""

from __future__ import annotations

from collections.abc import Sequence

from .postgres_server import server_at
from .procedure_stores import Versions

__all__ = ["PostgresProcedures"]

_NAMES = "SELECT DISTINCT name FROM @.procedures ORDER BY name"
_VERSIONS = "SELECT version, current_until FROM @.procedures WHERE name = %(name)s ORDER BY version"
_READ = "SELECT data FROM @.procedures WHERE name = %(name)s AND version = %(version)s"
_ADD = (
    "INSERT INTO @.procedures AS p (name, version, data) VALUES (%(name)s, %(version)s, %(data)s) "
    "ON CONFLICT (name, version) DO "
)
_ADD_NEW = f"{_ADD} NOTHING RETURNING 1"
# The same text may be what this process wrote before the connection broke.
_ADD_AGAIN = f"{_ADD} UPDATE SET data = p.data WHERE p.data = excluded.data RETURNING 1"
_CHOOSE = (
    "UPDATE @.procedures p SET current_until = CASE WHEN version = %(version)s THEN "
    "(SELECT max(q.version) FROM @.procedures q WHERE q.name = p.name) END WHERE name = %(name)s"
)
_REMOVE = "DELETE FROM @.procedures WHERE name = %(name)s"


class PostgresProcedures:
    """Procedures whose versions are rows of a database."""

    def __init__(self, dsn: str) -> None:
        self._server = server_at(dsn)

    def place(self, name: str, version: int) -> str:
        """Return the server, without user and password, and the version."""
        return f"{self._server} {name}@{version}"

    def names(self) -> Sequence[str]:
        """Return the names that have a row."""
        return [name for (name,) in self._server.rows(_NAMES)]

    def versions(self, name: str) -> Versions | None:
        """Return the versions that have a row."""
        if not (rows := self._server.rows(_VERSIONS, {"name": name})):
            return None
        numbers = tuple(version for version, _ in rows)
        chosen = (version for version, until in rows if until == numbers[-1])
        return Versions(numbers, next(chosen, numbers[-1]))

    def read(self, name: str, version: int) -> str | None:
        """Return the text of a row."""
        rows = self._server.rows(_READ, {"name": name, "version": version})
        return bytes(rows[0][0]).decode("utf-8", "replace") if rows else None

    def add(self, name: str, version: int, text: str) -> bool:
        """Make a row."""
        values = {"name": name, "version": version, "data": text.encode()}
        return bool(self._server.rows(_ADD_NEW, values, again=_ADD_AGAIN))

    def choose(self, name: str, version: int) -> None:
        """Have a row say that it is the current one, and the others not."""
        self._server.rows(_CHOOSE, {"name": name, "version": version})

    def remove(self, name: str) -> None:
        """Remove the rows."""
        self._server.rows(_REMOVE, {"name": name})
