"""A Kuzu database file, open in this process; the only file that imports kuzu."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

from ...errors import MemoryStoreError

__all__ = ["Database"]

_POOL_BYTES = 256 << 20
_READ_POOL_BYTES = 64 << 20
_LARGEST_BYTES = 1 << 36
"""Address space that a database reserves; the library's own figure is 8 TB."""


class Database:
    """A Kuzu file, open in this process. `GraphProcess` writes such files.

    Args:
        path: The file. It is made if need be, unless it is opened read-only.
        read_only: Refuse to change it.

    Raises:
        MemoryStoreError: It can't be opened or made.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        import kuzu

        try:
            self._database = kuzu.Database(
                path,
                read_only=read_only,
                buffer_pool_size=_READ_POOL_BYTES if read_only else _POOL_BYTES,
                max_num_threads=1,
                max_db_size=_LARGEST_BYTES,
            )
            self._connection = kuzu.Connection(self._database)
        except (RuntimeError, OSError, IndexError) as error:
            raise MemoryStoreError(
                f"The graph {path} can't be opened: {error}.", "Rebuild the memory's index."
            ) from error

    def rows(self, cypher: str, parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Rows of a statement's answer, by column.

        Raises:
            MemoryStoreError: Kuzu refuses the statement.
        """
        try:
            answer: Any = self._connection.execute(cypher, dict(parameters))
            names = cast("list[str]", answer.get_column_names())
            found = [
                dict(zip(names, map(_as_integer, row), strict=True)) for row in answer.get_all()
            ]
            answer.close()
        except (RuntimeError, ValueError) as error:
            raise MemoryStoreError(
                f"The graph could not answer {cypher!r}: {error}.",
                "Check the query; if it is right, rebuild the memory's index.",
            ) from error
        return found

    def close(self) -> None:
        """Write what is still in memory, and close the file."""
        self._connection.close()
        self._database.close()


def _as_integer(value: Any) -> Any:
    return int(value) if isinstance(value, Decimal) and value == value.to_integral() else value
