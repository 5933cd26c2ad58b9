"""JSON as people write it by hand: with comments, and commas before a closing bracket. Pure."""

from __future__ import annotations

import json
import re
from typing import Any

__all__ = ["parse_jsonc"]

# A text, a comment that ends with its line, a comment with an end of its own, or a comma.
_PART = re.compile(r'"(?:[^"\\\n]|\\.)*+"?|//[^\n]*+|/\*.*?(?:\*/|\Z)|,', re.DOTALL)
_BLANKS = re.compile(r"[^\n]")
_SPACE = re.compile(r"\s*")
_MARK = "\ufeff"


def parse_jsonc(text: str) -> Any:
    """Return the data of a JSON text that may have comments and trailing commas.

    Raises:
        ValueError: It is no such text; says the line and the column. An object has a key twice of
            which both values are objects: one of them would be lost.
        RecursionError: It is nested too deeply.
    """
    text = _PART.sub(_blanked, text.removeprefix(_MARK))
    return json.loads(_PART.sub(_without_trailing, text), object_pairs_hook=_object)


def _blanked(found: re.Match[str]) -> str:
    """Put blanks in the place of a comment, so that lines and columns stay what they are."""
    part = found[0]
    return _BLANKS.sub(" ", part) if part.startswith("/") else part


def _without_trailing(found: re.Match[str]) -> str:
    if found[0] != ",":
        return found[0]
    text = found.string
    # What follows the last match of blanks is there, or the text has ended.
    after = _SPACE.match(text, found.end())
    closing = text[after.end() : after.end() + 1] if after else ""
    return " " if closing in ("}", "]") else ","


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if isinstance(value, dict) and isinstance(found.get(key), dict):
            raise ValueError(f"it has {key!r} twice")
        found[key] = value
    return found
