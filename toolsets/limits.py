"""What bounds the calls of tools."""

from __future__ import annotations

from pydantic import Field

from ..frozen import Frozen

__all__ = ["ToolLimits"]


class ToolLimits(Frozen):
    """Bounds of an attempt's calls, and of a server's."""

    calls: int = Field(default=50, ge=1, description="Calls of tools an attempt may make.")
    seconds: float = Field(
        default=60.0, gt=0, allow_inf_nan=False, description="Seconds a call of a tool may take."
    )
    characters: int = Field(
        default=20_000, ge=200, description="Characters of a call's result that a model reads."
    )
    at_once: int = Field(default=4, ge=1, description="Calls at once to one server of tools.")
