"""A session with a server, which reads what servers really send."""

from __future__ import annotations

import asyncio
import base64
import binascii
import logging
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, cast

from fastmcp.client.transports.base import VersionAwareClientSession
from mcp.types import CallToolResult, ClientCapabilities, ContentBlock, Tool
from mcp_types.methods import validate_server_result
from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json

from .listing import readable_tools

__all__ = ["MOST_TOOLS", "ForgivingSession", "quieten", "readable_result"]


_DATA_URI = re.compile(r"data:([\w.+-]+/[\w.+-]+)?[^,]{0,100},")
_MOST_PARTS = 1_000
"""Of a result; a text of a million characters is a single one."""
_DATA = ("data", "blob")
"""Fields that hold bytes in base64."""
_OPTIONAL_OF_CONTENT = ("annotations", "_meta", "icons")
"""Parts of a content without which it can be read as well."""


def readable_result(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return a result as the protocol has it: the call is made, and must not be made again.

    What is not a content becomes a text that shows it.
    """
    read = dict(result)
    if not _CONTENTS & set(read) and set(read) - _EXTRA_FIELDS:
        return read  # It is of another kind, such as a question.
    content: Any = read.get("content")
    structured = read.get("structuredContent")
    if content is not None and not isinstance(content, str | dict | list):
        return read
    parts = cast("list[Any]", [content] if isinstance(content, str | dict) else content or [])
    read["content"] = [*map(_readable, parts[:_MOST_PARTS])]
    if (more := len(parts) - _MOST_PARTS) > 0:
        read["content"].append(_text(f"[… {more:,} more parts are left out …]"))
    if "structuredContent" in read and not isinstance(structured, dict):
        del read["structuredContent"]
        if not parts and structured is not None:
            read["content"] = [_text(structured)]
    if not isinstance(read.get("_meta", {}), dict):
        del read["_meta"]
    return read


_CONTENTS = frozenset({"content", "structuredContent"})
_EXTRA_FIELDS = frozenset({"_meta", "isError", "resultType"})


def _readable(part: Any) -> dict[str, Any]:
    if not isinstance(part, dict):
        return _text(part)
    held = _with_bytes(cast("dict[str, Any]", part))
    if _is_content(held):
        return held
    bare = {key: value for key, value in held.items() if key not in _OPTIONAL_OF_CONTENT}
    return bare if _is_content(bare) else _text(part)


def _text(value: Any) -> dict[str, Any]:
    """Return a content that shows a value; bytes are left out."""
    if isinstance(value, dict):
        held = cast("dict[str, Any]", value)
        if isinstance(held.get("text"), str):
            return {"type": "text", "text": held["text"]}
        value = {key: _NOT_SHOWN if key in _DATA else each for key, each in held.items()}
    text = value if isinstance(value, str) else to_json(value, fallback=repr).decode()
    return {"type": "text", "text": text}


_NOT_SHOWN = "not shown"


def _with_bytes(part: dict[str, Any]) -> dict[str, Any]:
    """Return a content whose bytes are in the base64 that readers take."""
    resource = part.get("resource")
    if isinstance(resource, dict):
        return {**part, "resource": _with_bytes(cast("dict[str, Any]", resource))}
    found = {key: _plain_base64(part[key]) for key in _DATA if isinstance(part.get(key), str)}
    if not found:
        return part
    kinds = [_DATA_URI.match(part[key]) for key in found]
    kind = next((match[1] for match in kinds if match and match[1]), _UNNAMED)
    return {**part, **found, "mimeType": part.get("mimeType") or kind}


_UNNAMED = "application/octet-stream"
"""The kind of bytes of which nothing is said: what they are is seen in them."""


def _plain_base64(text: str) -> str:
    """Return base64 without the head of a `data:` address, and padded."""
    plain = _DATA_URI.sub("", text, count=1) if text.startswith("data:") else text
    plain = "".join(plain.split()).rstrip("=").replace("-", "+").replace("_", "/")
    return plain + "=" * (-len(plain) % 4)


def _is_content(part: dict[str, Any]) -> bool:
    try:
        _adapter().validate_python(part, by_name=False)
    except ValidationError:
        return False
    held = part.get("resource", part)
    try:
        for key in _DATA:
            if key in held:
                base64.b64decode(held[key], validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


@cache
def _adapter() -> TypeAdapter[Any]:
    return TypeAdapter(ContentBlock)


_LIST, _CALL = "tools/list", "tools/call"
_BEFORE_HANDSHAKE = "2025-11-25"


MOST_TOOLS = 1_000
"""Of a server. Models are offered a hundred or two at most."""
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

    def _build_capabilities(self, version: str) -> ClientCapabilities:
        """Return what the library says of us, without a way to open addresses for a user."""
        found = super()._build_capabilities(version)
        if found.elicitation is None:
            return found
        forms = found.elicitation.model_copy(update={"url": None})
        return found.model_copy(update={"elicitation": forms})

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


_logger = logging.getLogger("prefect_swarm.toolsets")


class _ToDebug(logging.Filter):
    """Takes what the library says of a server's faults to our debug log: errors tell it as well."""

    def filter(self, record: logging.LogRecord) -> bool:
        _logger.debug("%s: %s", record.name, record.getMessage())
        return False


_to_debug = _ToDebug()


def quieten() -> None:
    """Keep what the libraries log of servers' faults off the terminal."""
    for name in (
        "mcp.client.streamable_http",
        "mcp.client.sse",
        "mcp.client.auth.oauth2",
        "httpx2",
    ):
        logging.getLogger(name).addFilter(_to_debug)
