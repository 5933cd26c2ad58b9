"""An open session with a server. Its owner's task alone opens and closes it."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from fastmcp.client import Client
from fastmcp.client.logging import LogMessage
from fastmcp.client.transports.base import ClientTransport
from mcp import MCPError
from mcp.client.session import ElicitationFnT
from mcp.types import CONNECTION_CLOSED, INVALID_REQUEST
from mcp_types import ToolListChangedNotification
from pydantic_ai.exceptions import ModelRetry, ToolFailed
from pydantic_ai.mcp import MCPToolset

from ...host.secrets import mask
from ...text import one_line
from ..elicitation import NoBackChannelError, Replies
from .configuration import McpEndpoint, StdioServer
from .elicitation import CallsInProgress
from .listing import ToolList, described
from .process import ProcessTransport
from .session import ForgivingSession

if TYPE_CHECKING:
    from .address import Refusals

__all__ = ["MOST_BYTES", "AskingClient", "Connection"]

T = TypeVar("T")
_logger = logging.getLogger("prefect_swarm.toolsets")
MOST_BYTES = 8 * 1024 * 1024
"""The largest message of a server that is read."""
_FORGOTTEN = (INVALID_REQUEST, -32001)
"""What servers at an address answer that don't know the session, as after a start of theirs."""
_LOOKED_AT = 12_000
"""Characters beyond what is shown of a text that secrets are looked for in."""


_PUSHES = re.compile(
    "'elicitation/create': this transport context has no back-channel"
    "|elicitation via server-initiated requests is unavailable on 2026-07-28"
)
"""What Python's two libraries for servers say where a tool asks as the older protocol has it."""


class Connection:
    """A session with a server, with what is known of how it ended."""

    def __init__(self, endpoint: McpEndpoint, *, is_older: bool = False) -> None:
        """Take a server, and whether it is spoken to as before 2026-07-28 whatever it knows."""
        self._endpoint, self.is_older = endpoint, is_older
        self._abandoned = False
        self._process: ProcessTransport | None = None
        self._refusals: Refusals | None = None
        self._tools: ToolList | None = None
        self._changes = 0
        self._named: Mapping[str, str] = {}
        if isinstance(endpoint.how, StdioServer):
            transport = ProcessTransport(endpoint, endpoint.how, MOST_BYTES)
            self._process = transport
        else:
            # Importing it takes what only servers at an address need.
            from .address import address_transport

            transport, self._refusals = address_transport(endpoint.how, MOST_BYTES)
        self._calls = CallsInProgress(endpoint.shown, lambda text: self.shown(text, None))
        self._client = AskingClient(
            transport,
            log_handler=_pass_over,
            message_handler=self._handle,
            init_timeout=0,
        )
        if is_older:
            self._client.mode = "legacy"
        self._client.answer_with(self._calls.answer)
        self._toolset: MCPToolset[None] = MCPToolset(
            self._client, id=endpoint.name, tool_error_behavior="failed", max_retries=0
        )

    async def open(self) -> None:
        """Start the server or reach it, and agree with it on the protocol.

        Raises:
            Exception: It is not available, whatever the libraries make of that.
        """
        await self._toolset.__aenter__()

    async def close(self) -> None:
        """End the session, and the server if it is a process; takes seconds at most."""
        if self._toolset.is_running:
            # The error of a session that has ended went to those who used it.
            with suppress(Exception):
                await self._toolset.__aexit__(None, None, None)
        if self._process is not None:
            await self._process.exited.wait()

    def give_up(self) -> None:
        """Ask it nothing more."""
        self._abandoned = True

    @property
    def is_alive(self) -> bool:
        """Whether another request makes sense."""
        has_ended = self._process is not None and self._process.ended
        return self._client.is_connected() and not has_ended and not self._abandoned

    async def tools(self) -> ToolList:
        """Return the tools that it has now: it is asked where that may have changed."""
        if self._tools is not None:
            return self._tools
        changes, session = self._changes, self._client.session
        listed = await self._answered(self._client.list_tools())
        left_out = session.left_out if isinstance(session, ForgivingSession) else {}
        tools = described(self._endpoint, listed, left_out)
        self._emit(tools)
        # What changed while the list was on its way isn't in it.
        if changes == self._changes and not self._unseen_changes():
            self._tools = tools
        return tools

    async def _handle(self, message: object) -> None:
        if isinstance(message, ToolListChangedNotification):
            self._changes += 1
            self._tools = None

    def _unseen_changes(self) -> bool:
        """Say whether its tools may change without a word: newer servers tell those who ask."""
        abilities = self._client.server_capabilities
        is_newer = self._client.initialize_result is None
        return is_newer and bool(abilities and abilities.tools and abilities.tools.list_changed)

    def _emit(self, tools: ToolList) -> None:
        for name, why in tools.left_out.items():
            if self._named.get(name) != why:
                text = self.shown(f"the tool {name!r} is left out: {why}")
                _logger.warning("The MCP server %s: %s", self._endpoint.shown, text)
        self._named = tools.left_out

    async def _answered(self, answer: Awaitable[T]) -> T:
        """Wait for an answer that comes on a stream, or for a refusal after which none comes.

        Raises:
            ConnectionError: It was refused.
        """
        refusals = self._refusals
        if refusals is None or self._endpoint.transport != "SSE":
            return await answer
        asked = asyncio.ensure_future(answer)
        lost = asyncio.create_task(refusals.lost.wait())
        try:
            await asyncio.wait({asked, lost}, return_when=asyncio.FIRST_COMPLETED)
            if not asked.done():
                self._abandoned = True
                raise ConnectionError(refusals.last)
            return asked.result()
        finally:
            asked.cancel()
            lost.cancel()

    async def call(
        self, tool: str, arguments: Mapping[str, Any], replies: Replies | None = None
    ) -> Any:
        """Call a tool by its server's name for it, and return what it gave.

        Args:
            tool: The name.
            arguments: What it is called with.
            replies: Answers what the server asks its user meanwhile; without, that is declined.

        Raises:
            ElicitedError: It asks something that nobody has answered yet, and was taken back.
            NoBackChannelError: It asks as only the older protocol lets it; nothing came of it.
            ToolFailed: The tool reports an error.
            ConnectionError: The session ended before there was an answer.
            Exception: The answer can't be read.
        """
        refused = self._refusals.count if self._refusals else 0
        try:
            return await self._calls.make(
                lambda: self._answered(self._toolset.direct_call_tool(tool, dict(arguments))),
                replies,
            )
        except ModelRetry as error:
            self._require_back_channel(error)
            cause = error.__cause__
            if isinstance(cause, MCPError) and self._has_ended(cause):
                self._abandoned = True
                raise ConnectionError(str(cause)) from error
            if self._refusals and self._refusals.count > refused:
                raise ToolFailed(
                    f"The MCP server {self._endpoint.shown}: {self.refusal()}"
                ) from error
            raise ToolFailed(self.shown(error.message)) from error
        except ToolFailed as error:
            self._require_back_channel(error)
            raise ToolFailed(self.shown(error.message, None)) from error

    def _require_back_channel(self, error: ToolFailed | ModelRetry) -> None:
        is_newer = self._client.initialize_result is None
        if is_newer and _PUSHES.search(error.message[:_LOOKED_AT]):
            raise NoBackChannelError from error

    async def answers(self) -> bool:
        """Say whether it answers at all, however long that takes.

        Raises:
            Exception: What it says can't be read.
        """
        try:
            # Each version of the protocol has this request.
            await self._client.list_tools()
        except MCPError as error:
            return error.code != CONNECTION_CLOSED
        return True

    def _has_ended(self, error: MCPError) -> bool:
        is_forgotten = self._process is None and error.code in _FORGOTTEN
        return is_forgotten or error.code == CONNECTION_CLOSED

    def shown(self, text: str, most: int | None = 600) -> str:
        """Return a text of the server without secrets, in one line of so many characters."""
        if most is None:
            return mask(text, self._endpoint.secrets)
        return one_line(mask(text[: most + _LOOKED_AT], self._endpoint.secrets), most)

    def refusal(self) -> str:
        """Return what a server at an address refused last, and why; "" if it didn't."""
        return self.shown(self._refusals.last) if self._refusals else ""

    def trace(self) -> str:
        """Return what the server left behind: how it ended, and its last words; "" for nothing."""
        if (process := self._process) is None:
            return self.refusal()
        parts = [process.strange]
        if process.ended:
            code = "" if process.exit_code is None else f" with code {process.exit_code}"
            parts.insert(0, f"its process ended{code}")
        if process.last_lines:
            parts.append(f"its last words: {' / '.join(process.last_lines)}")
        # The lines belong to this fault, not to the next.
        process.strange = ""
        return self.shown("; ".join(filter(None, parts)))


class AskingClient(Client[ClientTransport]):
    """A client whose user is asked; the library's own way makes a type of each schema first."""

    def answer_with(self, answer: ElicitationFnT) -> None:
        """Have what servers ask answered by this."""
        self._elicitation_callback = answer
        self._session_kwargs["elicitation_callback"] = answer


async def _pass_over(message: LogMessage) -> None:
    """Leave out what a server wants logged: results are what it is asked for."""
