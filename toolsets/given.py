"""Toolsets that are given in Python, by the names that plans call them."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from .names import checked_name
from .source import Toolset, ToolsetUse

__all__ = ["GivenToolset", "given_toolsets", "override_toolsets"]

_given: ContextVar[Mapping[str, GivenToolset]] = ContextVar("given_toolsets")


@dataclass(frozen=True, slots=True)
class GivenToolset:
    """A source whose toolset was made before; all attempts share it."""

    name: str
    made: Toolset
    about: str = ""

    @property
    def server(self) -> str:
        """Its own name: what is given together isn't bounded together."""
        return self.name

    def toolset(self, use: ToolsetUse) -> Toolset:  # noqa: ARG002 - shared by all
        """Return the toolset that was given."""
        return self.made


def given_toolsets() -> Mapping[str, GivenToolset]:
    """Return what `override_toolsets` gives here."""
    return _given.get({})


@contextmanager
def override_toolsets(**toolsets: Toolset) -> Generator[None]:
    """Give the runs that begin inside toolsets by name; they come before others of these names.

    They are this process's alone: a run that is resumed elsewhere has to be given them again.

    Raises:
        InputError: A name isn't one.

    Example:
        ```python
        tools = FunctionToolset()
        tools.add_function(stock_of)
        with override_toolsets(stock=tools):
            asyncio.run(swarm("…"))
        ```
    """
    made = {name: GivenToolset(checked_name(name), given) for name, given in toolsets.items()}
    token = _given.set({**given_toolsets(), **made})
    try:
        yield
    finally:
        _given.reset(token)
