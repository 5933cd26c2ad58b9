"""A launcher's process and the lines to it: started in any thread, used by any event loop."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import IO, Any

from ...errors import SandboxError
from .launcher.wire import BOOT

__all__ = ["LIMITS_HINT", "Launched", "launch"]

LIMITS_HINT = (
    "See what this process may have: ulimit -a (open files, user processes, memory, file size)."
)

_PATIENCE_S = 10.0
_CHUNK = 1 << 16
_CODE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "launcher")


class Launched:
    """A running launcher and what is said to it and heard of it."""

    def __init__(self, process: subprocess.Popen[bytes], line: socket.socket) -> None:
        self._process = process
        self._line = line

    @property
    def runs(self) -> bool:
        """Whether it hasn't ended by itself."""
        return self._process.poll() is None

    async def say(self, words: bytes) -> None:
        """Say something to the launcher."""
        try:
            await asyncio.get_running_loop().sock_sendall(self._line, words)
        except OSError:  # It is gone; what it answered says more.
            return

    async def answer(self) -> bytes:
        """Return all that the launcher says, to its end."""
        loop, data = asyncio.get_running_loop(), bytearray()
        try:
            while chunk := await loop.sock_recv(self._line, _CHUNK):
                data += chunk
        except OSError:  # It died with our words unread.
            return bytes(data)
        return bytes(data)

    async def feed(self, data: bytes) -> None:
        """Write the program's input, and close it."""
        pipe, left = _pipe(self._process.stdin), memoryview(data)
        try:
            while left:
                try:
                    left = left[os.write(pipe.fileno(), left[:_CHUNK]) :]
                except BlockingIOError:
                    await _ready(pipe, asyncio.get_running_loop().add_writer)
        except OSError:  # The program doesn't read it.
            return
        finally:
            pipe.close()

    async def read(self, name: str, take: Callable[[str, bytes], bool]) -> None:
        """Read an output stream to its end, which comes soon where `take` says it is enough."""
        pipe = _pipe(self._process.stdout if name == "stdout" else self._process.stderr)
        while True:
            try:
                chunk = os.read(pipe.fileno(), _CHUNK)
            except BlockingIOError:
                await _ready(pipe, asyncio.get_running_loop().add_reader)
                continue
            if not chunk:
                return
            if not take(name, chunk):
                self.hang_up()

    def hang_up(self) -> None:
        """Tell the launcher that the program is to end; it can still answer."""
        try:
            self._line.shutdown(socket.SHUT_WR)
        except OSError:  # It is gone.
            return

    async def end(self) -> None:
        """Have it end everything; kill it, and everything by that, if it takes long."""
        self.hang_up()
        try:
            async with asyncio.timeout(_PATIENCE_S):
                await self.answer()
        except (TimeoutError, asyncio.CancelledError) as error:
            # A loop that is being closed cancels this too, and nobody comes after it.
            self._process.kill()
            if isinstance(error, asyncio.CancelledError):
                raise
        finally:
            self._close()

    def end_now(self) -> None:
        """Have a launcher end whose program only waits, and wait for that."""
        self.hang_up()
        self._close()

    def _close(self) -> None:
        # The end of its line was the last that it did.
        try:
            self._process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr, self._line):
            if stream is not None:
                stream.close()


def launch(first: bytes = b"") -> Launched:
    """Start a launcher, and say a few words to it at once; raises SandboxError if it can't be."""
    with ExitStack() as stack:
        try:
            ours, theirs = map(stack.enter_context, socket.socketpair())
            process = _start(theirs)
        except (OSError, MemoryError) as problem:
            reason = getattr(problem, "strerror", None) or "there is no memory for it"
            raise SandboxError(
                f"The sandbox's launcher can't be started: {reason}.", LIMITS_HINT
            ) from None
        stack.pop_all()
        theirs.close()
    if first:
        ours.sendall(first)
    ours.setblocking(False)
    for stream in (process.stdin, process.stdout, process.stderr):
        os.set_blocking(_pipe(stream).fileno(), False)
    return Launched(process, ours)


def _start(line: socket.socket) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603
        [sys.executable, "-I", "-S", "-B", "-c", BOOT, _CODE, "outer", str(line.fileno())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=(line.fileno(),),
        env={},
        cwd="/",
    )


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise SandboxError("The sandbox's launcher has no streams.")
    return stream


async def _ready(pipe: IO[bytes], add: Callable[..., Any]) -> None:
    """Wait until something can be read or written; `add` is the loop's method for that."""
    loop, found = asyncio.get_running_loop(), asyncio.Event()
    add(pipe.fileno(), found.set)
    try:
        await found.wait()
    finally:
        loop.remove_reader(pipe.fileno())
        loop.remove_writer(pipe.fileno())
