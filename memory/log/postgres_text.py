"""Texts as PostgreSQL can store them: without NUL, which is escaped by two characters.

SUB and a digit stand for NUL (0) and for SUB itself (1); all else is unchanged.
"""

from __future__ import annotations

import re
from typing import Any, cast

__all__ = ["escape_nul", "restore_nul"]

_SUB = "\x1a"
_ESCAPES = {"\x00": f"{_SUB}0", _SUB: f"{_SUB}1"}
_ORIGINALS = {escape: original for original, escape in _ESCAPES.items()}


def escape_nul(value: Any) -> Any:
    """Escape NUL in a text, or in all texts in lists and objects."""
    return _replace_in_texts(value, re.compile("[\x00\x1a]"), _ESCAPES)


def restore_nul(value: Any) -> Any:
    """Undo `escape_nul`."""
    return _replace_in_texts(value, re.compile("\x1a[01]"), _ORIGINALS)


def _replace_in_texts(value: Any, pattern: re.Pattern[str], table: dict[str, str]) -> Any:
    if isinstance(value, str):
        return pattern.sub(lambda found: table[found.group()], value)
    if isinstance(value, list):
        return [_replace_in_texts(part, pattern, table) for part in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {
            _replace_in_texts(name, pattern, table): _replace_in_texts(part, pattern, table)
            for name, part in cast("dict[str, Any]", value).items()
        }
    return value
