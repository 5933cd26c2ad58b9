"""Texts that PostgreSQL takes: it has no NUL, so that is written in two other characters.

SUB and a digit stand for NUL (0) and for SUB itself (1); any other text is as it is.
"""

from __future__ import annotations

import re
from typing import Any, cast

__all__ = ["escape_nul", "restore_nul"]

_SUB = "\x1a"
_WRITTEN = {"\x00": f"{_SUB}0", _SUB: f"{_SUB}1"}
_MEANT = {written: meant for meant, written in _WRITTEN.items()}


def escape_nul(value: Any) -> Any:
    """Write a text, or all texts in lists and objects, without NUL."""
    return _in_all_texts(value, re.compile("[\x00\x1a]"), _WRITTEN)


def restore_nul(value: Any) -> Any:
    """Return what `escape_nul` was given."""
    return _in_all_texts(value, re.compile("\x1a[01]"), _MEANT)


def _in_all_texts(value: Any, pattern: re.Pattern[str], table: dict[str, str]) -> Any:
    if isinstance(value, str):
        return pattern.sub(lambda found: table[found.group()], value)
    if isinstance(value, list):
        return [_in_all_texts(part, pattern, table) for part in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {
            _in_all_texts(name, pattern, table): _in_all_texts(part, pattern, table)
            for name, part in cast("dict[str, Any]", value).items()
        }
    return value
