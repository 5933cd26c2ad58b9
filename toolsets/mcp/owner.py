"""The owner of a server: the task that opens its session, and closes it."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary

from pydantic import ValidationError
from pydantic_ai.exceptions import ToolFailed

from ...errors import ToolsetError
from ...host.network import CA_FIX, certificate_problem
from ..elicitation import ElicitedError, NoBackChannelError, Replies
from .configuration import McpEndpoint, StdioServer
from .listing import ToolList

if TYPE_CHECKING:
    from .connection import Connection

__all__ = [
    "PING_S",
    "START_S",
    "CallRequest",
    "ListRequest",
    "ServerOwner",
    "ServerRequest",
    "owned",
    "refuse",
    "resolve",
]


@dataclass(frozen=True, slots=True, eq=False)
class ServerRequest:
    """A request, and where its outcome goes.

    Attributes:
        seconds: How long it may take from when the server gets it.
        outcome: Cancelled by the caller who no longer wants it.
    """

    seconds: float
    outcome: asyncio.Future[Any] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )


@dataclass(frozen=True, slots=True, eq=False)
class ListRequest(ServerRequest):
    """Asks for the tools."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CallRequest(ServerRequest):
    """Asks for a call of a tool, by its server's name for it; `replies` answers what it asks."""

    tool: str
    arguments: Mapping[str, Any]
    replies: Replies | None = None


def resolve(request: ServerRequest, value: object) -> None:
    """Answer a request, if somebody still waits."""
    if not request.outcome.done():
        request.outcome.set_result(value)


def refuse(request: ServerRequest, error: Exception) -> None:
    """Let a request fail, if somebody still waits."""
    if not request.outcome.done():
        request.outcome.set_exception(error)


START_S = 30.0
"""Seconds that a server may take to start, or to be reached."""
_STARTS = 3
"""Times that a server is started without having answered anything, before that is given up."""
PING_S = 5.0


class ServerOwner:
    """Has one server of one event loop, from the first request until it is closed."""

    def __init__(
        self,
        endpoint: McpEndpoint,
        at_once: int,
        start_s: float = START_S,
    ) -> None:
        """Take a server, the limit of its parallel calls, and the seconds it may take to start."""
        self._endpoint, self._start_s = endpoint, start_s
        self._is_process = isinstance(endpoint.how, StdioServer)
        self._free = asyncio.Semaphore(at_once)
        self._queue: asyncio.Queue[ServerRequest] = asyncio.Queue()
        self._serving: dict[asyncio.Task[None], ServerRequest] = {}
        self._connection: Connection | None = None
        self._check: asyncio.Task[None] | None = None
        self._starts = 0
        self._is_older = False
        self._problem = ""
        # Of its own: spans and runs of the first caller end before the server does.
        self._task = asyncio.get_running_loop().create_task(
            self._own(), name=f"MCP server {endpoint.name}", context=contextvars.Context()
        )

    async def tools(self, seconds: float) -> ToolList:
        """Ask the server for its tools.

        Raises:
            ToolsetError: It is not available, or doesn't answer in time.
        """
        try:
            return await self._asked(ListRequest(seconds))
        except ToolFailed as error:
            fix = CA_FIX if certificate_problem(error) else _FIX
            raise ToolsetError(error.message, fix) from error

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        seconds: float,
        replies: Replies | None = None,
    ) -> Any:
        """Have the server call a tool, and return what that gives.

        Args:
            tool: The server's name for it.
            arguments: What it is called with.
            seconds: How long it may take, from when the server gets it.
            replies: Answers what the server asks its user meanwhile; without, that is declined.

        Raises:
            ElicitedError: The server asks something that nobody has answered yet.
            ToolFailed: It can't be called, failed, or took too long; says which, for a model.
        """
        request = CallRequest(seconds, tool=tool, arguments=arguments, replies=replies)
        return await self._asked(request)

    async def close(self) -> None:
        """End the server, and all that is asked of it; returns when nothing of it is left."""
        self._task.cancel()
        await asyncio.shield(asyncio.wait([self._task]))

    async def _asked(self, request: ServerRequest) -> Any:
        if self._task.done():
            raise ToolFailed(f"{self._title} was closed.")
        self._queue.put_nowait(request)
        return await request.outcome

    @property
    def _title(self) -> str:
        return f"The MCP server {self._endpoint.shown}"

    async def _own(self) -> None:
        try:
            while True:
                await self._begin(await self._queue.get())
        finally:
            await self._end()

    async def _begin(self, request: ServerRequest) -> None:
        """Begin to serve a request; waits for a session and for its turn, not for its end."""
        await self._free.acquire()
        try:
            # A call that was cancelled before its turn needs no session.
            connection = None if request.outcome.done() else await self._session()
        except ToolFailed as error:
            refuse(request, error)
            connection = None
        if connection is None:
            self._free.release()
            return
        task = asyncio.create_task(self._serve(connection, request))
        self._serving[task] = request
        task.add_done_callback(self._over)
        request.outcome.add_done_callback(lambda outcome: outcome.cancelled() and task.cancel())

    def _over(self, task: asyncio.Task[None]) -> None:
        del self._serving[task]
        self._free.release()

    async def _session(self) -> Connection:
        """Return a session that is open; opens one if there is none, or if it has ended."""
        if self._check is not None:
            await asyncio.wait([self._check])
        if self._connection is not None and self._connection.is_alive:
            if self._connection.is_older == self._is_older:
                return self._connection
            # Other calls end in the session that they began in.
            await self._leave(None)
        await self._leave(PING_S)
        if self._is_process and self._starts >= _STARTS:
            raise ToolFailed(f"{self._title} isn't started again: {self._problem}")
        self._starts += 1
        # Importing fastmcp takes seconds, in which others of this loop go on.
        module = await asyncio.to_thread(import_module, ".connection", __package__)
        connection: Connection = module.Connection(self._endpoint, is_older=self._is_older)
        try:
            async with asyncio.timeout(self._start_s):
                await connection.open()
        except BaseException as error:
            await connection.close()
            if not isinstance(error, Exception):
                raise
            raise self._not_opened(connection, error) from error
        self._connection = connection
        return connection

    def _not_opened(self, connection: Connection, error: Exception) -> ToolFailed:
        late = f"it gave no answer within {self._start_s:g} s"
        why = late if isinstance(error, TimeoutError) else connection.shown(_why(error))
        # Of a refusal the libraries say no more than that there was one.
        parts = [connection.refusal()] if connection.refusal() else [why, connection.trace()]
        self._problem = "; ".join(filter(None, parts))
        how = "started" if self._is_process else "reached"
        return ToolFailed(f"{self._title} can't be {how}: {self._problem}.")

    async def _serve(self, connection: Connection, request: ServerRequest) -> None:
        try:
            async with asyncio.timeout(request.seconds):
                value = await _served(connection, request)
        except asyncio.CancelledError:
            if not request.outcome.cancelled():
                raise
            # Its caller took it back, maybe since it took too long.
            self._suspect(connection)
        except NoBackChannelError:
            self._starts, self._is_older = 0, True
            self._queue.put_nowait(request)
        except (ToolFailed, ElicitedError) as error:
            self._starts = 0
            refuse(request, error)
        except TimeoutError:
            late = f"gave no answer within {request.seconds:g} s"
            refuse(request, self._fault(connection, request, late))
            self._suspect(connection)
        except ConnectionError:
            refuse(request, self._fault(connection, request, "ended before it answered"))
        except Exception as error:  # noqa: BLE001 - whatever the libraries make of nonsense
            why = f"gave no answer that can be read: {connection.shown(_why(error))}"
            refuse(request, self._fault(connection, request, why))
        else:
            self._starts = 0
            resolve(request, value)

    def _fault(self, connection: Connection, request: ServerRequest, what: str) -> ToolFailed:
        trace = connection.trace()
        self._problem = f"it {what}{f' ({trace})' if trace else ''}"
        is_call = isinstance(request, CallRequest)
        unsure = " Whether the call was carried out isn't known." if is_call else ""
        return ToolFailed(f"{self._title} {self._problem[3:]}.{unsure}")

    def _suspect(self, connection: Connection) -> None:
        """Look whether a process that owes an answer answers at all; what comes next waits for it.

        While it works on other calls it may have no time to answer.
        """
        is_alone = len(self._serving) == 1
        if is_alone and self._is_process and connection.is_alive:
            self._check = asyncio.create_task(_end_if_stuck(connection))

    async def _leave(self, seconds: float | None) -> None:
        """Close the session, after those that still wait for it have got its error, or an answer.

        Args:
            seconds: How long that may take; None where it hasn't ended.
        """
        if (connection := self._connection) is None:
            return
        self._connection = None
        if tasks := list(self._serving):
            _, late = await asyncio.wait(tasks, timeout=seconds)
            for task in late:
                task.cancel()
        await connection.close()

    async def _end(self) -> None:
        """Refuse what is left, and close the session."""
        error = ToolFailed(f"{self._title} was closed.")
        while not self._queue.empty():
            refuse(self._queue.get_nowait(), error)
        for task, request in list(self._serving.items()):
            refuse(request, error)
            task.cancel()
        if self._check is not None:
            self._check.cancel()
        await self._leave(PING_S)


async def _end_if_stuck(connection: Connection) -> None:
    """Give a process up that answers nobody: the next request starts another one."""
    try:
        async with asyncio.timeout(PING_S):
            answers = await connection.answers()
    except Exception:  # noqa: BLE001 - late or strange: either is not an answer
        answers = False
    if not answers:
        connection.give_up()


async def _served(connection: Connection, request: ServerRequest) -> Any:
    if isinstance(request, CallRequest):
        return await connection.call(request.tool, request.arguments, request.replies)
    return await connection.tools()


def _why(error: BaseException) -> str:
    """Return what an error says, or the first of a group of errors."""
    if isinstance(error, BaseExceptionGroup):
        return _why(cast("BaseExceptionGroup[BaseException]", error).exceptions[0])
    if isinstance(error, ValidationError):
        problems = error.errors(include_url=False, include_input=False, include_context=False)
        return "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in problems)
    return str(error).rstrip(".") or type(error).__name__


_FIX = "Look at its configuration; prefect-swarm doctor --mcp FILE tries each server."


@dataclass(slots=True)
class _Shared:
    owner: ServerOwner
    users: int = 0


_by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, _Shared]] = WeakKeyDictionary()


@asynccontextmanager
async def owned(endpoint: McpEndpoint, at_once: int) -> AsyncGenerator[ServerOwner]:
    """Yield the owner of a server in this loop; the server starts with the first request.

    Args:
        endpoint: The server; the same configuration is the same server.
        at_once: Its parallel calls; what the first user asks for counts.
    """
    mine = _by_loop.setdefault(asyncio.get_running_loop(), {})
    key = endpoint.model_dump_json()
    if (shared := mine.get(key)) is None:
        shared = mine[key] = _Shared(ServerOwner(endpoint, at_once))
    shared.users += 1
    try:
        yield shared.owner
    finally:
        shared.users -= 1
        if not shared.users:
            del mine[key]
            await shared.owner.close()
