"""The toolsets that a run has, by name."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType

from ..errors import ToolsetError
from .limits import ToolLimits
from .source import ToolsetSource

__all__ = ["Catalogue", "catalogue_of", "open_catalogue"]


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Sources by name, and what bounds the calls of their tools.

    Attributes:
        offered: Names of those that a planner is shown; others are there for who names them.
        asks: Whether a person is asked before a tool acts.
        secrets: Values that no page, log or trace may show.
        titles: Names as files have them, with those of their sources. Plans may use either.
    """

    sources: Mapping[str, ToolsetSource] = field(default_factory=dict[str, ToolsetSource])
    offered: frozenset[str] = frozenset()
    limits: ToolLimits = field(default_factory=ToolLimits)
    asks: bool = False
    secrets: frozenset[str] = frozenset()
    titles: Mapping[str, str] = field(default_factory=dict[str, str])

    @staticmethod
    def of(
        sources: Iterable[ToolsetSource],
        limits: ToolLimits = ToolLimits(),  # noqa: B008 - frozen
        *,
        held_back: frozenset[str] = frozenset(),
        asks: bool = False,
        secrets: frozenset[str] = frozenset(),
        titles: Mapping[str, str] = MappingProxyType({}),
    ) -> Catalogue:
        """Return a catalogue; the first source of a name counts. `held_back` are not offered."""
        found: dict[str, ToolsetSource] = {}
        for source in sources:
            found.setdefault(source.name, source)
        offered = frozenset(found) - held_back
        return Catalogue(MappingProxyType(found), offered, limits, asks, secrets, titles)

    @property
    def names(self) -> frozenset[str]:
        """The names of all of them, those that files have among them."""
        return frozenset({*self.sources, *self.titles})

    def source(self, name: str) -> ToolsetSource:
        """Return the source of that name.

        Raises:
            ToolsetError: The run has none.
        """
        if (source := self.sources.get(self.titles.get(name, name))) is None:
            has = f"It has {', '.join(sorted(self.sources))}." if self.sources else "It has none."
            raise ToolsetError(
                f"The run has no toolset {name!r}. {has}",
                "Give it again: --mcp FILE, --documents FOLDER, or override_toolsets in Python.",
            )
        return source


# By the flow run's id: a task run takes JSON, and finds the toolsets of its run by that.
_open: dict[str, Catalogue] = {}


@contextmanager
def open_catalogue(flow_run_id: str, catalogue: Catalogue) -> Generator[Catalogue]:
    """Let the task runs of a flow run find its toolsets."""
    _open[flow_run_id] = catalogue
    try:
        yield catalogue
    finally:
        del _open[flow_run_id]


def catalogue_of(flow_run_id: str) -> Catalogue:
    """Return the toolsets of a flow run that runs in this process; an empty one if it doesn't."""
    return _open.get(flow_run_id, Catalogue())
