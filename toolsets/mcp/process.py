"""A session with a server that is a process: bounded lines each way, and what it says beside."""

from __future__ import annotations

import logging
from asyncio import StreamReader, StreamWriter
from asyncio.subprocess import Process
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any, cast

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from fastmcp.client.transports.base import ClientTransport, TransportOptions
from mcp import ClientSession
from mcp.shared.message import SessionMessage
from mcp.types import INTERNAL_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter

from ...text import one_line
from ..calling.masking import mask
from .child import CHUNK, end_child, start_child
from .configuration import McpEndpoint, StdioServer
from .lines import BoundedLines, TooLong, request_of, with_whole_characters
from .session import ForgivingSession

__all__ = ["ProcessTransport"]

_logger = logging.getLogger("prefect_swarm.toolsets")
_MOST_LOGGED = 4096
_LAST_LINES = 5

_ToSession = MemoryObjectSendStream[SessionMessage | Exception]
_FromSession = MemoryObjectReceiveStream[SessionMessage]


class ProcessTransport(ClientTransport):
    """Starts a server for a session, and ends it after that.

    Attributes:
        ended: Whether the server has closed its output: nothing more is answered.
        heard: The last lines of its standard error, which go to the debug log.
        strange: The last line of its standard output that is no message; "" without any.
        left: Set while nothing of it runs.
    """

    def __init__(self, endpoint: McpEndpoint, server: StdioServer, most_bytes: int) -> None:
        """Take a server, how it is started, and the most bytes of one of its messages."""
        self._name, self._secrets = endpoint.name, endpoint.secrets
        self._server, self._most = server, most_bytes
        self.ended = False
        self.heard: deque[str] = deque(maxlen=_LAST_LINES)
        self.strange = ""
        self.exit_code: int | None = None
        self.left = anyio.Event()
        self.left.set()

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
        self.left = anyio.Event()
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
                self.left.set()

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
        self._note(line[:_MOST_LOGGED], "which is no message")
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
                    self.heard.append(text)
                    _logger.debug("The MCP server %s: %s", self._name, text)


async def _write(to_server: StreamWriter, from_session: _FromSession) -> None:
    # What can't be written was said to a server that has ended: its reader sees that as well.
    with suppress(OSError, anyio.ClosedResourceError):
        async for sent in from_session:
            text = sent.message.model_dump_json(by_alias=True, exclude_unset=True)
            to_server.write(text.encode() + b"\n")
            await to_server.drain()
