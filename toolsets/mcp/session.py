"""A session in which what is wrong with one tool, or one part of a result, costs no other."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, cast

from fastmcp.client.transports.base import VersionAwareClientSession
from mcp.types import CallToolResult, Tool
from mcp_types.methods import validate_server_result
from pydantic import ValidationError
from pydantic_core import to_json

from .listed import readable_tools
from .results import readable_result

__all__ = ["MOST_TOOLS", "ForgivingSession"]

_LIST, _CALL = "tools/list", "tools/call"
_BEFORE_HANDSHAKE = "2025-11-25"


MOST_TOOLS = 1_000
"""Of a server. Models are told of a hundred or two at most."""
_MOST_LISTED = 8 * 1024 * 1024
"""Bytes of all tools of a server, page by page."""


class ForgivingSession(VersionAwareClientSession):
    """The library refuses a whole list where one tool in it is wrong, and so a whole result.

    Attributes:
        left_out: Why tools of the list can't be used, by their names.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Take what the library's session takes."""
        super().__init__(*args, **kwargs)
        self.left_out: dict[str, str] = {}
        self._tools = self._size = 0
        dispatcher: Any = self._dispatcher
        send = dispatcher.send_raw_request

        async def send_raw_request(
            method: str, params: Mapping[str, Any] | None, opts: Any = None, **more: Any
        ) -> dict[str, Any]:
            raw: dict[str, Any] = await send(method, params, opts, **more)
            # What servers send may be large: the run's other steps go on meanwhile.
            if method == _LIST:
                return await asyncio.to_thread(self._readable, raw, params)
            return await asyncio.to_thread(readable_result, raw) if method == _CALL else raw

        # A result is checked as a whole before anybody else sees it.
        dispatcher.send_raw_request = send_raw_request

    async def validate_tool_result(self, name: str, result: CallToolResult) -> None:
        """Take a result that isn't what its tool's `outputSchema` says: a model may read it.

        To look may take for ever: the schema and its patterns are the server's.
        """

    def _readable(self, raw: dict[str, Any], params: Mapping[str, Any] | None) -> dict[str, Any]:
        if not (params or {}).get("cursor"):
            self.left_out = {}
            self._tools = self._size = 0
        if not raw.get("nextCursor"):
            # Some servers write an empty one, which the library takes for another page.
            raw = {key: value for key, value in raw.items() if key != "nextCursor"}
        listed = raw.get("tools")
        if not isinstance(listed, list):
            return raw
        every = cast("list[Any]", listed)
        tools, left_out = readable_tools(
            every[: max(0, MOST_TOOLS - self._tools)], lambda tool: self._wrong_parts(raw, tool)
        )
        self._tools += len(every)
        self._size += len(to_json(tools))
        self.left_out |= left_out
        if self._tools > MOST_TOOLS or self._size > _MOST_LISTED:
            # Servers with so many don't mean a model to read them; some page without end.
            raw = {key: value for key, value in raw.items() if key != "nextCursor"}
            self.left_out["…"] = (
                f"the server lists {self._tools:,} tools or more in {self._size:,} bytes, and "
                f"{MOST_TOOLS:,} in {_MOST_LISTED:,} are read at most"
            )
        return {**raw, "tools": tools}

    def _wrong_parts(self, raw: Mapping[str, Any], tool: Mapping[str, Any]) -> set[str]:
        """Name the parts of a tool that the protocol's version, or the library, refuses."""
        wrong: set[str] = set()
        try:
            Tool.model_validate(tool, by_name=False)
        except ValidationError as error:
            wrong |= {str(each["loc"][0]) for each in error.errors() if each["loc"]}
        version = self._negotiated_version or _BEFORE_HANDSHAKE
        try:
            validate_server_result(_LIST, version, {**raw, "tools": [tool]})
        except KeyError:
            pass
        except ValidationError as error:
            places = [each["loc"] for each in error.errors()]
            wrong |= {str(loc[loc.index(0) + 1]) for loc in places if 0 in loc[:-1]}
        return wrong
