"""A server's result of a call: what is wrong with one part of it costs no other. Pure."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, cast

from mcp.types import ContentBlock
from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json

__all__ = ["readable_result"]

_DATA_URI = re.compile(r"data:([\w.+-]+/[\w.+-]+)?[^,]{0,100},")
_MOST_PARTS = 1_000
"""Of a result; a text of a million characters is a single one."""
_DATA = ("data", "blob")
"""Fields that hold bytes in base64."""
_OPTIONAL = ("annotations", "_meta", "icons")
"""Parts of a content without which it can be read as well."""


def readable_result(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return a result as the protocol has it: the call is made, and must not be made again.

    What is no content becomes a text that shows it.
    """
    read = dict(result)
    if not _CONTENTS & set(read) and set(read) - _BESIDE:
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
_BESIDE = frozenset({"_meta", "isError", "resultType"})


def _readable(part: Any) -> dict[str, Any]:
    if not isinstance(part, dict):
        return _text(part)
    held = _with_bytes(cast("dict[str, Any]", part))
    if _is_content(held):
        return held
    bare = {key: value for key, value in held.items() if key not in _OPTIONAL}
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
