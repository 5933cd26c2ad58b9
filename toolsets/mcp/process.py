"""A server that is a process: how it starts and ends, and bounded lines each way."""

from __future__ import annotations

import asyncio
import codecs
import logging
import os
import re
import signal
import sys
from asyncio import StreamReader, StreamWriter
from asyncio.subprocess import PIPE, Process
from collections import deque
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, cast

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from fastmcp.client.transports.base import ClientTransport, TransportOptions
from mcp import ClientSession
from mcp.shared.message import SessionMessage
from mcp.types import INTERNAL_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter

from ...host.secrets import mask
from ...text import one_line
from .configuration import McpEndpoint, StdioServer
from .session import ForgivingSession

__all__ = [
    "CHUNK",
    "BoundedLines",
    "ProcessTransport",
    "TooLong",
    "WholeText",
    "end_child",
    "request_of",
    "start_child",
    "with_whole_characters",
]


_ENDS = 200
"""Bytes that are kept of either end of a line that is too long."""
# Where the servers that there are write the id of what they answer: first, or last.
_FIRST = re.compile(rb'\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*(\d{1,15})\s*,')
_LAST = re.compile(rb'"id"\s*:\s*(\d{1,15})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$')

_PAIR = re.compile(rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_HALF = re.compile(rb"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
_PARTIAL_ESCAPE = re.compile(
    rb"(?:\\u[dD][89abAB][0-9a-fA-F]{2})?\\(?:u[0-9a-fA-F]{0,3})?|\\u[dD][89abAB][0-9a-fA-F]{2}"
)
_PAIR_LENGTH, _HALF_LENGTH = 12, 6


class TooLong(NamedTuple):
    """Both ends of a line that is too long, and its size in bytes."""

    head: bytes
    tail: bytes
    size: int


class BoundedLines:
    """Cuts bytes into lines; of what is too long it keeps the ends alone."""

    def __init__(self, most: int) -> None:
        """Take the most bytes of a line, its end not counted."""
        self._most = most
        self._parts: list[bytes] = []
        self._size = 0
        self._tail = b""

    def feed(self, chunk: bytes) -> Iterator[bytes | TooLong]:
        """Yield the lines that end in the next bytes, without their ends."""
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            self._add(part)
            yield self._take()
        self._add(rest)

    def _add(self, part: bytes) -> None:
        self._size += len(part)
        self._tail = (self._tail + part)[-_ENDS:]
        if self._size <= self._most:
            self._parts.append(part)
        else:
            # After the first time this is one short part, however many bytes follow.
            self._parts = [b"".join([*self._parts, part])[:_ENDS]]

    def _take(self) -> bytes | TooLong:
        line = b"".join(self._parts)
        taken = line if self._size <= self._most else TooLong(line, self._tail, self._size)
        self._parts, self._size, self._tail = [], 0, b""
        return taken


class WholeText:
    """Makes U+FFFD of what is not a character in JSON: half a pair in an escape, or no UTF-8.

    Readers of JSON refuse a whole message for one of them.
    """

    def __init__(self) -> None:
        """Begin with nothing."""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = b""

    def feed(self, chunk: bytes, *, final: bool = False) -> bytes:
        """Return the next bytes, except for an escape that has only begun at their end."""
        text = self._held + self._decoder.decode(chunk, final).encode()
        self._held = b""
        parts: list[bytes] = []
        place = 0
        while (escape := text.find(b"\\", place)) >= 0:
            parts.append(text[place:escape])
            found = text[escape : escape + _PAIR_LENGTH]
            if not final and len(found) < _PAIR_LENGTH and _PARTIAL_ESCAPE.fullmatch(found):
                self._held = found
                return b"".join(parts)
            if _PAIR.match(found):
                part, length = found, _PAIR_LENGTH
            elif _HALF.match(found):
                part, length = rb"\ufffd", _HALF_LENGTH
            else:
                part, length = found[:2], 2
            parts.append(part)
            place = escape + length
        return b"".join([*parts, text[place:]])


def with_whole_characters(line: bytes) -> bytes:
    """Return a line of JSON in which everything is a character."""
    return WholeText().feed(line, final=True)


def request_of(line: TooLong) -> int | None:
    """Return the request that a line answers, if one of its ends says so for certain."""
    found = _FIRST.match(line.head) or _LAST.search(line.tail)
    return int(found[1]) if found else None


CHUNK = 64 * 1024
"""Bytes of one read."""
_INHERITED = ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "LC_ALL", "TMPDIR", "TZ")
"""What each server may know of ours: its configuration gives the rest."""
_LEAVE_S, _TERM_S, _KILL_S = 2.0, 1.0, 2.0


async def start_child(
    command: Sequence[str], variables: Mapping[str, str], folder: str | None
) -> Process:
    """Start a process with three pipes, in a group of its own; it ends with this process on Linux.

    Raises:
        OSError: It can't be started.
    """
    own = {name: value for name in _INHERITED if (value := os.environ.get(name)) is not None}
    return await asyncio.create_subprocess_exec(
        *_with_parent(command),
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        env={**own, **variables},
        cwd=folder,
        # Ctrl-C on the terminal is this process's to hear, which ends its servers in order.
        start_new_session=True,
    )


async def end_child(process: Process) -> None:
    """Close its standard input, and end it and what it started if it stays; takes 5 s at most."""
    if process.stdin is not None:
        process.stdin.close()
    for how, seconds in ((None, _LEAVE_S), (signal.SIGTERM, _TERM_S), (signal.SIGKILL, _KILL_S)):
        if how is not None:
            # Its group is there as long as anything of it runs, such as what it started.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, how)
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await process.wait()
                return


def _with_parent(command: Sequence[str]) -> Sequence[str]:
    if sys.platform != "linux":
        return command
    script = Path(__file__).with_name("with_parent.py")
    return (sys.executable, "-I", "-S", str(script), str(os.getpid()), *command)


_logger = logging.getLogger("prefect_swarm.toolsets")
_MOST_LOGGED = 4096
_LAST_LINES = 5

_ToSession = MemoryObjectSendStream[SessionMessage | Exception]
_FromSession = MemoryObjectReceiveStream[SessionMessage]


class ProcessTransport(ClientTransport):
    """Starts a server for a session, and ends it after that.

    Attributes:
        ended: Whether the server has closed its output: nothing more is answered.
        last_lines: The last lines of its standard error, which go to the debug log.
        strange: The last line of its standard output that is not a message; "" without any.
        exited: Set while nothing of it runs.
    """

    def __init__(self, endpoint: McpEndpoint, server: StdioServer, most_bytes: int) -> None:
        """Take a server, how it is started, and the most bytes of one of its messages."""
        self._name, self._secrets = endpoint.name, endpoint.secrets
        self._server, self._most = server, most_bytes
        self.ended = False
        self.last_lines: deque[str] = deque(maxlen=_LAST_LINES)
        self.strange = ""
        self.exit_code: int | None = None
        self.exited = anyio.Event()
        self.exited.set()

    @asynccontextmanager
    async def connect_session(
        self,
        *,
        transport_options: TransportOptions | None = None,  # noqa: ARG002 - one kind of session
        **session_kwargs: Any,
    ) -> AsyncGenerator[ClientSession]:
        """Start the server and yield a session; afterwards nothing of the server is left.

        Raises:
            OSError: It can't be started.
        """
        server = self._server
        process = await start_child((server.command, *server.args), server.env, server.cwd)
        self.exited = anyio.Event()
        # No await before the group: a cancellation there would leave the process alone.
        incoming, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        write, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._read, process, incoming)
            tasks.start_soon(self._log, cast("StreamReader", process.stderr))
            tasks.start_soon(_write, cast("StreamWriter", process.stdin), outgoing)
            try:
                async with ForgivingSession(read, write, **session_kwargs) as session:
                    yield session
            finally:
                with anyio.CancelScope(shield=True):
                    await end_child(process)
                self.exit_code = process.returncode
                tasks.cancel_scope.cancel()
                for stream in (incoming, read, write, outgoing):
                    stream.close()
                self.exited.set()

    async def _read(self, process: Process, to_session: _ToSession) -> None:
        output = cast("StreamReader", process.stdout)
        lines = BoundedLines(self._most)
        try:
            while chunk := await output.read(CHUNK):
                for line in lines.feed(chunk):
                    if (message := self._message(line)) is not None:
                        # A closed session still needs a reader, or the server can't end.
                        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                            await to_session.send(message)
        finally:
            self.ended = True
            self.exit_code = process.returncode
            to_session.close()

    def _message(self, line: bytes | TooLong) -> SessionMessage | None:
        if isinstance(line, TooLong):
            return self._refusal(line)
        if not line.strip():
            return None
        for text in (line, with_whole_characters(line)):
            with suppress(ValueError):
                return SessionMessage(jsonrpc_message_adapter.validate_json(text, by_name=False))
        self._note(line[:_MOST_LOGGED], "which is not a message")
        return None

    def _refusal(self, line: TooLong) -> SessionMessage | None:
        """Return an error in the place of an answer that is too large to be read."""
        size = f"{line.size:,} bytes, more than the {self._most:,} that are read"
        if (request := request_of(line)) is None:
            self._note(line.head, f"of {size}")
            return None
        error = ErrorData(code=INTERNAL_ERROR, message=f"The answer has {size}.")
        return SessionMessage(JSONRPCError(jsonrpc="2.0", id=request, error=error))

    def _note(self, line: bytes, what: str) -> None:
        text = self._shown(line, 120)
        self.strange = f"it wrote a line {what}: {text}"
        _logger.debug("The MCP server %s wrote a line %s: %s", self._name, what, text)

    def _shown(self, line: bytes, most: int) -> str:
        return one_line(mask(line.decode("utf-8", "replace"), self._secrets), most)

    async def _log(self, errors: StreamReader) -> None:
        lines = BoundedLines(_MOST_LOGGED)
        while chunk := await errors.read(CHUNK):
            for line in lines.feed(chunk):
                shown = line.head if isinstance(line, TooLong) else line
                if text := self._shown(shown, 400):
                    self.last_lines.append(text)
                    _logger.debug("The MCP server %s: %s", self._name, text)


async def _write(to_server: StreamWriter, from_session: _FromSession) -> None:
    # What can't be written was said to a server that has ended: its reader sees that as well.
    with suppress(OSError, anyio.ClosedResourceError):
        async for sent in from_session:
            text = sent.message.model_dump_json(by_alias=True, exclude_unset=True)
            to_server.write(text.encode() + b"\n")
            await to_server.drain()
