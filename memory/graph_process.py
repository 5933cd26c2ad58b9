"""A graph's database in a process of its own: `python -m prefect_swarm.memory.graph_process PATH`.

Kuzu writes whole pages, and fills up the last one with whatever was in that memory before, which
may be a forgotten text or an API key. A process that only knows what it writes can't leak anything
else.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from queue import SimpleQueue
from typing import Any, cast

from ..errors import MemoryStoreError
from ..host.system import without_login

__all__ = ["Database", "GraphProcess", "serve"]


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


_CLOSE = b"null\n"


class GraphProcess:
    """A database that a process of its own has open for writing, for one caller at a time.

    Closing ends that process. If this process ends without closing, it ends immediately.

    Args:
        path: The file. It is made if need be.

    Raises:
        MemoryStoreError: It can't be opened or made.
    """

    def __init__(self, path: Path) -> None:
        # A session of its own, so that Ctrl-C reaches only this process, which then ends the other.
        self._process = subprocess.Popen(  # noqa: S603 - this interpreter, this package
            [sys.executable, "-P", "-m", __name__, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=without_login(),
            start_new_session=True,
        )
        try:
            self._ask(b"")
        except MemoryStoreError:
            self._end()
            raise

    def rows(self, cypher: str, parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Rows of a statement's answer, by column; values are JSON's.

        Raises:
            MemoryStoreError: It is refused, or the process has ended.
        """
        return self._ask(json.dumps([cypher, parameters]).encode() + b"\n")

    def close(self) -> None:
        """Let the process write what it has in memory, and end.

        Raises:
            MemoryStoreError: That failed.
        """
        if self._process.returncode is None:
            try:
                self._ask(_CLOSE)
            finally:
                self._end()

    def _ask(self, request: bytes) -> list[dict[str, Any]]:
        stdin, stdout = self._process.stdin, self._process.stdout
        answer = b""
        try:
            if stdin is not None and stdout is not None and not stdin.closed:
                stdin.write(request)
                stdin.flush()
                answer = stdout.readline()
        except OSError:
            pass  # The process has ended without an answer.
        except BaseException:
            # A late answer would be taken for the next request's.
            self._end()
            raise
        if not answer.endswith(b"\n"):
            raise MemoryStoreError(
                f"The process that writes the graph has ended with status {self._end()}.",
                "Build the memory's index again.",
            )
        rows: dict[str, str] | list[dict[str, Any]] = json.loads(answer)
        if isinstance(rows, dict):
            raise MemoryStoreError(**rows)
        return rows

    def _end(self) -> int:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        # It ends because its input is closed, even in the middle of a statement.
        return self._process.wait()


def serve(path: Path) -> None:
    """Answer statements, one a line, until the close request or the end of standard input."""
    os.umask(0o077)  # Kuzu leaves the mode of its files to it.
    requests = SimpleQueue[bytes]()
    threading.Thread(target=_read, args=(requests,), daemon=True).start()
    # So that nothing that a library prints is taken for an answer.
    with os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)
        for answer in _answers(path, requests):
            answers.write(json.dumps(answer, default=str).encode() + b"\n")
            answers.flush()
    # An orderly exit would wait for the thread that reads.
    os._exit(0)


def _answers(path: Path, requests: SimpleQueue[bytes]) -> Iterator[Any]:
    try:
        database = Database(path)
    except MemoryStoreError as error:
        yield _refusal(error)
        return
    yield []
    while (request := requests.get()) != _CLOSE:
        try:
            yield database.rows(*json.loads(request))
        except MemoryStoreError as error:
            yield _refusal(error)
    database.close()
    yield []


def _refusal(error: MemoryStoreError) -> dict[str, str]:
    return {"problem": error.problem, "fix": error.fix}


def _read(requests: SimpleQueue[bytes]) -> None:
    for line in sys.stdin.buffer:
        requests.put(line)
        if line == _CLOSE:
            return  # The parent may close the pipe before this process has ended in order.
    # The parent has ended or closed the pipe: stop, even in the middle of a statement.
    os._exit(1)


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
