"""Where a toolset comes from, and what it is made for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from pydantic_ai.toolsets import AbstractToolset

from ..runs import RunFolder

__all__ = ["Toolset", "ToolsetSource", "ToolsetUse"]

Toolset = AbstractToolset[None]
"""What tools are called through: a pydantic-ai toolset that needs no dependencies."""


@dataclass(frozen=True, slots=True)
class ToolsetUse:
    """Whom a toolset is made for.

    Attributes:
        run: The run's folder.
        step: The step's id; "" for the orchestrator, which looks around before it plans.
        attempt: Names the attempt within the run, samples among it: `S1.1`, `S1.1.2`.
        conversation: Tells its conversation from others of that attempt, which is asked anew where
            its request has changed: what its journal is called by.
        texts: What the step reads: outputs of earlier steps by their ids, and inputs by name.
    """

    run: RunFolder
    step: str
    attempt: str
    conversation: str = ""
    texts: Mapping[str, str] = field(default_factory=dict[str, str])


class ToolsetSource(Protocol):
    """A toolset's name, what is known of it without opening it, and how to get it."""

    @property
    def name(self) -> str:
        """What plans call it."""
        ...

    @property
    def about(self) -> str:
        """What it is good for, in a sentence; "" if only its tools can say."""
        ...

    @property
    def server(self) -> str:
        """What its calls have in common that are bounded together: a server's name, or its own."""
        ...

    def toolset(self, use: ToolsetUse) -> Toolset:
        """Return the toolset for an attempt, which enters and leaves it.

        Raises:
            ToolsetError: It can't be had.
        """
        ...
