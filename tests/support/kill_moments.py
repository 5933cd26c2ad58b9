"""Moments of a process at which it may be killed: before it changes a file, or asks the server."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx

__all__ = ["KillMoments"]

_CHANGES = {"os.rename", "os.link", "os.remove", "os.mkdir", "os.truncate"}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_APPEND


class KillMoments:
    """Counts the moments of this process, notes each, and kills it at one of them.

    A moment is right before a file below one of the folders is opened for writing, named, linked
    or removed; before and after a request to a server; and whatever `at` is called for.

    Args:
        folders: Where the files lie.
        notes: A file that gets a line for each moment.
        last: The moment at which the process is killed, by its number, from 1, or by what it is;
            0: it lives.
    """

    def __init__(self, folders: Sequence[Path], notes: Path, last: int | str) -> None:
        self._folders = tuple(map(str, folders))
        self._last = last
        self._count = 0
        # Opened once: what is written to it is not a moment.
        self._notes = os.open(notes, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_TRUNC)

    def watch(self) -> None:
        """Begin to count, for as long as this process lives."""
        sys.addaudithook(self._handle)
        send = httpx.AsyncClient.send

        async def sent(client: httpx.AsyncClient, request: httpx.Request, **more: Any) -> Any:
            self.at(f"ask {request.method} {request.url.path}")
            response = await send(client, request, **more)
            self.at(f"asked {request.method} {request.url.path}")
            return response

        httpx.AsyncClient.send = sent  # type: ignore[method-assign]

    def at(self, what: str) -> None:
        """Count a moment, which may be the last."""
        self._count += 1
        os.write(self._notes, f"{what}\n".encode(errors="replace"))
        if self._last in (self._count, what):
            os.kill(os.getpid(), signal.SIGKILL)

    def _handle(self, event: str, args: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = args
            if isinstance(flags, int) and flags & _WRITING and self._is_ours(path):
                self.at(f"open {_short(path)}")
        elif event in _CHANGES and any(self._is_ours(path) for path in args):
            self.at(f"{event} {' '.join(_short(path) for path in args if self._is_ours(path))}")

    def _is_ours(self, path: object) -> bool:
        return isinstance(path, str | os.PathLike) and str(path).startswith(self._folders)


def _short(path: object) -> str:
    return "/".join(str(path).split("/")[-2:])
