"""What a toolset may be called. Pure."""

from __future__ import annotations

import re

from ..errors import InputError

__all__ = ["checked_name"]

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")


def checked_name(name: str) -> str:
    """Return the name of a toolset.

    Raises:
        InputError: It is none: letters, digits, `_` and `-`, a letter first, at most 64.
    """
    if _NAME.fullmatch(name) is None:
        raise InputError(
            f"{name!r} can't be a toolset's name.",
            "Use up to 64 letters, digits, _ and -, a letter first.",
        )
    return name
