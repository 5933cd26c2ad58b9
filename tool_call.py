"""A call of a tool, as people are shown it."""

from __future__ import annotations

from typing import Literal

from .frozen import Frozen
from .untrusted.figures import Finite, Moment

__all__ = ["ToolCall"]


class ToolCall(Frozen):
    """A call of a tool, as it is shown: texts are cut, and secrets masked.

    Attributes:
        ordinal: Its number among the calls of its attempt, from 1.
        toolset: The toolset that the tool is of; "" where the model named no tool that there is.
        arguments: As JSON.
        outcome: `started` while it runs; `returned`; `refused` if it failed, or was not made, and
            the model reads why; `stored` if an earlier process made it.
        result: What the model reads.
        characters: Those of the whole result.
        seconds: How long it took; 0 while it runs.
        started_at: When it was begun; 0 if it wasn't, or an earlier version made it.
    """

    ordinal: int
    tool: str
    toolset: str = ""
    arguments: str = ""
    outcome: Literal["started", "returned", "refused", "stored"] = "started"
    result: str = ""
    characters: int = 0
    seconds: Finite = 0.0
    started_at: Moment = 0.0
