"""Names of toolsets and tools, and bounds on their calls. Pure."""

from __future__ import annotations

import re
from hashlib import sha256

from pydantic import Field

from ..data_types import Frozen
from ..errors import InputError

__all__ = ["LONGEST", "ToolLimits", "checked_name", "fitted", "short_hash"]


LONGEST = 64
"""Characters that models' providers take in a tool's name."""
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_FOREIGN = re.compile(r"[^A-Za-z0-9_-]")


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


def fitted(name: str, *, with_hash: bool = False) -> str:
    """Return a tool's name as any model's provider takes it.

    Other characters become `_`, and what is too long ends with a hash of the whole.

    Args:
        name: What the tool is called.
        with_hash: Have the name end with the hash in any case.
    """
    plain = _FOREIGN.sub("_", name)
    # Some providers want a letter first, and take a `_`.
    if not plain[:1].isalpha() and plain[:1] != "_":
        plain = f"tool_{plain}"
    if not with_hash and len(plain) <= LONGEST:
        return plain
    return f"{plain[: LONGEST - 7]}_{short_hash(name)}"


def short_hash(text: str) -> str:
    """Return six digits that tell a text from others."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:6]


class ToolLimits(Frozen):
    """Bounds of an attempt's calls, and of a server's."""

    calls: int = Field(default=50, ge=1, description="Calls of tools an attempt may make.")
    seconds: float = Field(
        default=60.0, gt=0, allow_inf_nan=False, description="Seconds a call of a tool may take."
    )
    characters: int = Field(
        default=20_000, ge=200, description="Characters of a call's result that a model reads."
    )
    at_once: int = Field(default=4, ge=1, description="Parallel calls to one server of tools.")
