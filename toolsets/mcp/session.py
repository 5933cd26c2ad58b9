"""A session in which what is wrong with one tool, or one part of a result, costs no other."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, cast

from fastmcp.client.transports.base import VersionAwareClientSession
from mcp.types import CallToolResult, Tool
from mcp_types.methods import validate_server_result
from pydantic import ValidationError

from ...text import one_line
from .listed import readable_tools
from .results import readable_result

__all__ = ["ForgivingSession"]

_logger = logging.getLogger("prefect_swarm.toolsets")
_LIST, _CALL = "tools/list", "tools/call"
_BEFORE_HANDSHAKE = "2025-11-25"


class ForgivingSession(VersionAwareClientSession):
    """The library refuses a whole list where one tool in it is wrong, and so a whole result.

    Attributes:
        left_out: Why tools of the list can't be used, by their names.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Take what the library's session takes."""
        super().__init__(*args, **kwargs)
        self.left_out: dict[str, str] = {}
        dispatcher: Any = self._dispatcher
        send = dispatcher.send_raw_request

        async def send_raw_request(
            method: str, params: Mapping[str, Any] | None, opts: Any = None, **more: Any
        ) -> dict[str, Any]:
            raw: dict[str, Any] = await send(method, params, opts, **more)
            if method == _LIST:
                return self._readable(raw, params)
            return readable_result(raw) if method == _CALL else raw

        # A result is checked as a whole before anybody else sees it.
        dispatcher.send_raw_request = send_raw_request

    async def validate_tool_result(self, name: str, result: CallToolResult) -> None:
        """Take a result that isn't what its tool's `outputSchema` says: a model may read it."""
        try:
            await super().validate_tool_result(name, result)
        except RuntimeError as error:
            _logger.debug("%s", one_line(str(error), 400))

    def _readable(self, raw: dict[str, Any], params: Mapping[str, Any] | None) -> dict[str, Any]:
        if not (params or {}).get("cursor"):
            self.left_out = {}
        if not raw.get("nextCursor"):
            # Some servers write an empty one, which the library takes for another page.
            raw = {key: value for key, value in raw.items() if key != "nextCursor"}
        listed = raw.get("tools")
        if not isinstance(listed, list):
            return raw
        tools, left_out = readable_tools(
            cast("list[Any]", listed), lambda tool: self._wrong_parts(raw, tool)
        )
        self.left_out |= left_out
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
