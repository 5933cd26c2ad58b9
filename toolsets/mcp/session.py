"""A session with a server, and its tools as models see them."""

from __future__ import annotations

import asyncio
import base64
import binascii
import logging
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, cast

from fastmcp.client.transports.base import VersionAwareClientSession
from mcp.types import CallToolResult, ClientCapabilities, ContentBlock, Tool
from mcp_types.methods import validate_server_result
from pydantic import TypeAdapter, ValidationError
from pydantic_ai.tools import ToolDefinition
from pydantic_core import to_json

from ...plan.output import schema_problem
from ..catalogue import placed
from ..names import fitted
from .configuration import McpEndpoint, OwnMarks

__all__ = [
    "MOST_TOOLS",
    "ForgivingSession",
    "SchemaError",
    "ToolList",
    "described",
    "distinct_names",
    "quieten",
    "readable_result",
    "readable_tools",
    "usable_schema",
]


_LARGEST = 200_000
_CHOICES = ("anyOf", "oneOf", "allOf")


class SchemaError(Exception):
    """A schema that no model can be given; says why."""


def usable_schema(schema: object) -> dict[str, Any]:
    """Return the schema of a tool's arguments as an object with properties.

    Providers want an object at the top, and no choice between several. What can be said so, is:
    the server checks arguments anyway.

    Raises:
        SchemaError: It can't be said so, or it is not JSON Schema.
    """
    if not isinstance(schema, dict):
        raise SchemaError(f"its JSON Schema is {_noun(schema)}, not an object")
    held = cast("dict[str, Any]", schema)
    try:
        size = len(to_json(held))
    except ValueError:
        raise SchemaError("its JSON Schema is nested too deeply") from None
    if size > _LARGEST:
        raise SchemaError(f"its JSON Schema has {size:,} bytes, more than {_LARGEST:,}")
    held = cast("dict[str, Any]", _with_readable_patterns(held))
    if problem := schema_problem(held):
        raise SchemaError(problem.replace("the output's", "its", 1))
    kind = held.get("type", "object")
    if kind != "object" and not (isinstance(kind, list) and "object" in kind):
        raise SchemaError(f"its JSON Schema describes {kind!r}, and arguments are an object")
    return _with_one_choice({"properties": {}, **held, "type": "object"})


def _with_readable_patterns(value: Any) -> Any:
    r"""Leave out regular expressions that Python hasn't, such as `\p{L}` and `(?<year>\d+)`."""
    if isinstance(value, list):
        return [_with_readable_patterns(each) for each in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    read = {
        key: _with_readable_patterns(each) for key, each in cast("dict[str, Any]", value).items()
    }
    if isinstance(pattern := read.get("pattern"), str) and not _is_pattern(pattern):
        del read["pattern"]
    if isinstance(named := read.get("patternProperties"), dict):
        held = cast("dict[str, Any]", named)
        read["patternProperties"] = {key: held[key] for key in held if _is_pattern(key)}
    return read


def _is_pattern(text: str) -> bool:
    try:
        re.compile(text)
    except (re.error, OverflowError, RecursionError):
        return False
    return True


def _with_one_choice(schema: dict[str, Any]) -> dict[str, Any]:
    """Take the choices at the top apart: their properties are all there, and none must be."""
    arms = [*_arms(schema)]
    if not arms:
        return schema
    plain = {key: value for key, value in schema.items() if key not in _CHOICES}
    properties: dict[str, Any] = dict(schema["properties"])
    required: list[str] = list(schema.get("required", []))
    for arm, always in arms:
        for name, value in cast("dict[str, Any]", arm.get("properties", {})).items():
            properties.setdefault(name, value)
        if always:
            required += arm.get("required", [])
    plain["properties"] = properties
    if required:
        plain["required"] = [*dict.fromkeys(required)]
    return plain


def _arms(schema: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], bool]]:
    """Yield the schemas of the choices at the top, and whether each of them holds in any case."""
    for key in _CHOICES:
        for arm in cast("list[Any]", schema.get(key, [])):
            if isinstance(arm, dict):
                found = _followed(cast("dict[str, Any]", arm), schema)
                yield found, key == "allOf"
                yield from ((inner, of and key == "allOf") for inner, of in _arms_within(found))


def _arms_within(schema: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], bool]]:
    for key in _CHOICES:
        for arm in cast("list[Any]", schema.get(key, [])):
            if isinstance(arm, dict):
                yield cast("dict[str, Any]", arm), key == "allOf"


def _followed(arm: dict[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a reference to `$defs` stands for; other schemas as they are."""
    reference = arm.get("$ref")
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return arm
    found: Any = schema
    for part in reference.removeprefix("#/").split("/"):
        found = cast("dict[str, Any]", found).get(part) if isinstance(found, dict) else None
    return cast("dict[str, Any]", found) if isinstance(found, dict) else arm


def _noun(value: object) -> str:
    return "null" if value is None else f"a {type(value).__name__}"


_OPTIONAL = frozenset(
    {"outputSchema", "annotations", "icons", "execution", "title", "_meta", "description"}
)
"""Parts without which a tool can be called as well."""
_SCHEMA = "inputSchema"


def readable_tools(
    tools: Sequence[Any], wrong_parts: Callable[[Mapping[str, Any]], set[str]]
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Return the tools that can be read, and why others can't be, by their names.

    Args:
        tools: As the server sent them.
        wrong_parts: Names the parts of a tool that the protocol's library refuses.
    """
    found: list[dict[str, Any]] = []
    left_out: dict[str, str] = {}
    for number, tool in enumerate(tools, 1):
        if not isinstance(tool, dict):
            left_out[f"#{number}"] = "it is not an object"
            continue
        read = cast("dict[str, Any]", tool)
        name = read.get("name")
        if not isinstance(name, str) or not name.strip():
            left_out[f"#{number}"] = "it has no name"
            continue
        try:
            read = {**read, _SCHEMA: usable_schema(read.get(_SCHEMA))}
        except SchemaError as error:
            left_out[name] = str(error)
            continue
        wrong = wrong_parts(read)
        if rest := wrong - _OPTIONAL:
            left_out[name] = f"its {', '.join(sorted(rest))} can't be read"
        else:
            found.append({key: value for key, value in read.items() if key not in wrong})
    return found, left_out


@dataclass(frozen=True, slots=True)
class ToolList:
    """Tools for a model.

    Attributes:
        definitions: By the names that the model gets.
        own_names: The server's names for them, by those.
        left_out: Why other tools can't be used, by the server's names for them.
    """

    definitions: Mapping[str, ToolDefinition] = field(default_factory=dict[str, ToolDefinition])
    own_names: Mapping[str, str] = field(default_factory=dict[str, str])
    left_out: Mapping[str, str] = field(default_factory=dict[str, str])


def distinct_names(own: Sequence[str]) -> dict[str, str]:
    """Return the names of a server's tools by distinct ones that any model takes.

    A name that any model takes stays. Others that would be equal end with a hash, so that no name
    depends on the order of the tools.
    """
    own = tuple(dict.fromkeys(own))
    times = Counter(fitted(name) for name in own)
    distinct: dict[str, str] = {}
    for name in own:
        plain = fitted(name)
        is_own = plain == name or times[plain] == 1
        distinct[plain if is_own else fitted(name, with_hash=True)] = name
    return distinct


def described(
    endpoint: McpEndpoint, tools: Sequence[Tool], left_out: Mapping[str, str] | None = None
) -> ToolList:
    """Return a server's tools.

    Args:
        endpoint: The server.
        tools: What it says that it has; the first of a name counts.
        left_out: Why others can't be used, by their names.
    """
    problems: dict[str, str] = dict(left_out or {})
    by_name: dict[str, Tool] = {}
    for tool in tools:
        if not _is_wanted(tool.name, endpoint):
            continue
        if by_name.get(tool.name, tool) != tool:
            problems[tool.name] = "the server has another tool of that name, which is used"
        by_name.setdefault(tool.name, tool)
    names, place = distinct_names([*by_name]), placed(endpoint.place)
    definitions = {
        shown: ToolDefinition(
            name=shown,
            description=by_name[own].description,
            parameters_json_schema=by_name[own].input_schema,
            metadata=_metadata(by_name[own], endpoint.marks) | place,
        )
        for shown, own in names.items()
    }
    return ToolList(definitions, names, problems)


def _is_wanted(name: str, endpoint: McpEndpoint) -> bool:
    is_in = endpoint.only is None or name in endpoint.only
    return is_in and name not in endpoint.without


def _metadata(tool: Tool, own: OwnMarks) -> dict[str, Any]:
    """Return the server's annotations, and what the user knows of the tool."""
    hints = tool.annotations.model_dump(by_alias=True) if tool.annotations else None
    metadata: dict[str, Any] = {"annotations": hints}
    if tool.name in own.idempotent:
        metadata |= {"idempotent": True}
    if own.acting is not None and (tool.name in own.acting or hints is None):
        metadata |= {"acting": tool.name in own.acting}
    return metadata


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
