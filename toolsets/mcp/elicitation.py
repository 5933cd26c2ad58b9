"""The calls of a session, and which of them a server's question belongs to.

The protocol up to 2025-11-25 doesn't say in the middle of which call a server asks its user. So a
server that has asked gets one call at a time.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from mcp_types import ElicitRequestFormParams, ElicitRequestParams, ElicitResult

from ...store.requested import Content, SchemaProblemError, fields_in
from ...text import one_line, whole_characters
from ..elicitation import Elicited, ElicitedError, Replies, Reply

__all__ = ["CallsInProgress"]

T = TypeVar("T")
_logger = logging.getLogger("prefect_swarm.toolsets")
_MOST_ASKED = 20
"""Questions in one call, after which all are declined."""


class _AskedTogetherError(Exception):
    """Several calls wait for answers, and nobody can say which answer is for which."""


@dataclass(slots=True, eq=False)
class _Call:
    """A call that a server carries out.

    Attributes:
        asked: How often each question came in it.
        stopped: Why it is taken back, once it is.
        ended: Set when the server knows that it is over.
    """

    replies: Replies | None
    asked: Counter[str] = field(default_factory=Counter[str])
    stopped: asyncio.Future[Exception] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    def stop(self, why: Exception) -> None:
        if not self.stopped.done():
            self.stopped.set_result(why)

    def note(self, text: str) -> None:
        if self.replies is not None:
            self.replies.note(text)


_this_call: ContextVar[_Call | None] = ContextVar("prefect_swarm_call", default=None)


class CallsInProgress:
    """The calls that one session carries out, and the answers to what its server asks in them."""

    def __init__(self, server: str, shown: Callable[[str], str]) -> None:
        """Take a server's name as people see it, and what masks its words."""
        self._server, self._shown = server, shown
        self._calls: list[_Call] = []
        self._asks = False
        self._unclear = self._resolved = 0
        self._change = asyncio.Event()

    async def make(self, call: Callable[[], Awaitable[T]], replies: Replies | None) -> T:
        """Make a call, and answer what is asked in it.

        Raises:
            ElicitedError: It asks something that nobody has answered yet; it is taken back.
            Exception: What the call raises.
        """
        while True:
            await self._until(lambda: not (self._asks and self._calls))
            current = _Call(replies)
            self._calls.append(current)
            try:
                return await self._made(current, call)
            except _AskedTogetherError:
                continue
            finally:
                self._calls.remove(current)
                current.ended.set()
                self._changed()

    async def _made(self, current: _Call, call: Callable[[], Awaitable[T]]) -> T:
        token = _this_call.set(current)
        try:
            task = asyncio.ensure_future(call())
        finally:
            _this_call.reset(token)
        try:
            await asyncio.wait({task, current.stopped}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
        finally:
            await _taken_back(task)
        raise current.stopped.result()

    async def answer(self, context: Any, params: ElicitRequestParams) -> ElicitResult:  # noqa: ARG002 - the protocol's library passes it
        """Answer what the server asks its user: the library's callback."""
        # Newer servers ask by the result of a call, so that is known.
        current = _this_call.get() or await self._asking_call()
        if current is None:
            return ElicitResult(action="cancel")
        try:
            reply = self._reply(current, params)
        except Exception as error:  # noqa: BLE001 - whatever it is, the call's caller gets it
            reply = None
            current.stop(error)
        if reply is not None:
            return ElicitResult(action=reply.action, content=_listed(reply.content))
        # The server learns first that the call is taken back, lest it act on no answer.
        await current.ended.wait()
        return ElicitResult(action="cancel")

    def _reply(self, current: _Call, params: ElicitRequestParams) -> Reply | None:
        if not isinstance(params, ElicitRequestFormParams):
            where = self._shown(params.url)
            return self._declined(
                current, params, f"it asks that its user opens {where}, and only forms are shown"
            )
        try:
            fields = fields_in(params.requested_schema)
        except SchemaProblemError as error:
            return self._declined(current, params, f"no form can be made of it: {error}")
        masked = (
            each.model_copy(
                update={
                    "title": self._shown(each.title),
                    "description": self._shown(each.description),
                }
            )
            for each in fields
        )
        if current.replies is None:
            return self._declined(current, params, "nobody can be asked here")
        message = whole_characters(self._shown(params.message))
        elicited = Elicited(self._server, message, tuple(masked))
        current.asked[elicited.digest] += 1
        if current.asked.total() > _MOST_ASKED:
            return self._declined(current, params, f"it asked {_MOST_ASKED} times before")
        elicited = replace(elicited, number=current.asked[elicited.digest])
        reply = current.replies.reply(elicited)
        if reply is None:
            current.stop(ElicitedError(elicited))
        return reply

    def _declined(self, current: _Call, params: ElicitRequestParams, why: str) -> Reply:
        words = one_line(self._shown(params.message), 300)
        current.note(f"The server asked its user: {words!r}. That was declined: {why}.")
        _logger.warning("The MCP server %s asks its user; declined: %s", self._server, why)
        return Reply("decline")

    async def _asking_call(self) -> _Call | None:
        """Return the call in which a question came; None if its call is over, or made again.

        As long as several go on, it waits until the others have ended. Where all of them wait for
        answers, all are taken back, and made again one by one.
        """
        self._asks = True
        resolved = self._resolved
        self._unclear += 1
        self._changed()
        try:
            await self._until(
                lambda: (
                    self._resolved != resolved
                    or len(self._calls) <= 1
                    or self._unclear >= len(self._calls)
                )
            )
            if self._resolved == resolved and len(self._calls) <= 1:
                return self._calls[0] if self._calls else None
            if self._resolved == resolved:
                self._resolved += 1
                for call in self._calls:
                    call.stop(_AskedTogetherError())
            await self._until(lambda: not any(call.stopped.done() for call in self._calls))
            return None
        finally:
            self._unclear -= 1

    async def _until(self, holds: Callable[[], bool]) -> None:
        while not holds():
            await self._change.wait()

    def _changed(self) -> None:
        self._change.set()
        self._change = asyncio.Event()


def _listed(content: Content | None) -> dict[str, Any] | None:
    if content is None:
        return None
    return {name: [*of] if isinstance(of, tuple) else of for name, of in content.items()}


async def _taken_back(task: asyncio.Future[Any]) -> None:
    """Cancel a call that is not over; returns when its server was told."""
    if not task.done():
        task.cancel()
        await asyncio.wait({task})
        if not task.cancelled():
            task.exception()
