"""The toolsets that a run has: where each comes from, its tools and their marks."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType
from typing import Any, Protocol, cast

from pydantic_ai.models.test import TestModel
from pydantic_ai.tools import RunContext, ToolDefinition
from pydantic_ai.toolsets import AbstractToolset
from pydantic_ai.usage import RunUsage

from ..errors import InputError, SwarmError, ToolsetError
from ..gates.pipeline import package_of
from ..store.protocol import RunStore
from ..workspace.place import Workplace
from .names import ToolLimits, checked_name

__all__ = [
    "GROUP",
    "Catalogue",
    "Toolset",
    "ToolsetOverride",
    "ToolsetSource",
    "ToolsetUse",
    "acting_names",
    "is_acting",
    "is_idempotent",
    "listed_tools",
    "marked",
    "needs_approval",
    "place_of",
    "placed",
    "registered_toolsets",
]


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
        workplace: What it starts from in the run's workspace; None where it has none.
        changes: Whether what it makes is a patch of that.
    """

    run: RunStore
    step: str
    attempt: str
    conversation: str = ""
    texts: Mapping[str, str] = field(default_factory=dict[str, str])
    workplace: Workplace | None = None
    changes: bool = False


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
            ToolsetError: It is not available.
        """
        ...


async def listed_tools(
    source: ToolsetSource, use: ToolsetUse, seconds: float
) -> Mapping[str, ToolDefinition]:
    """Return the tools of a toolset by their names, as an attempt would have them.

    Raises:
        ToolsetError: It is not available, or doesn't say within so many seconds.
    """
    try:
        async with asyncio.timeout(seconds):
            async with source.toolset(use) as toolset:
                # Toolsets may look at the model of a run; this one is asked nothing.
                context = RunContext(deps=None, model=TestModel(), usage=RunUsage())
                tools = await toolset.get_tools(context)
    except TimeoutError:
        raise ToolsetError(
            f"The toolset {source.name} doesn't say within {seconds:g} s which tools it has.",
            "Check what it needs, or remove it.",
        ) from None
    except SwarmError:
        raise
    except Exception as error:
        raise ToolsetError(
            f"The toolset {source.name} doesn't say which tools it has: {error!r}.",
            "Check what it needs, or remove it.",
        ) from error
    return {name: tool.tool_def for name, tool in tools.items()}


_ACTING, _IDEMPOTENT, _PLACE = "acting", "idempotent", "place"


def marked(*, acting: bool = False, idempotent: bool = False) -> dict[str, Any]:
    """Return the metadata of a tool that acts on the world, or may be called twice as well as once.

    For `Tool(…, metadata=…)`, `FunctionToolset.tool(metadata=…)` or `toolset.with_metadata(…)`.
    """
    return {_ACTING: acting, _IDEMPOTENT: idempotent}


def placed(place: str) -> dict[str, Any]:
    """Return the metadata of a tool whose calls go to a server: a hash of how that is reached."""
    return {_PLACE: place}


def place_of(tool: ToolDefinition) -> str:
    """Return where a tool's calls go, as `placed` has it; "" for a tool of this process."""
    place = (tool.metadata or {}).get(_PLACE)
    return place if isinstance(place, str) else ""


def needs_approval(tool: ToolDefinition) -> bool:
    """Say whether a person is always asked before it is called: pydantic-ai's `requires_approval`.

    With `approve` set to tools, they are asked about all that acts.
    """
    return tool.kind == "unapproved"


def is_idempotent(tool: ToolDefinition) -> bool:
    """Say whether a call that may have been made already may be made again.

    Its own metadata says so, or the annotations of its MCP server: it only reads, or repeating it
    changes nothing (`readOnlyHint`, `idempotentHint`).
    """
    metadata, hints = _marks(tool)
    if _IDEMPOTENT in metadata:
        return bool(metadata[_IDEMPOTENT])
    return bool(hints.get("readOnlyHint") or hints.get("idempotentHint"))


def is_acting(tool: ToolDefinition) -> bool:
    """Say whether a tool changes something outside the run, so that a person may want to be asked.

    Its own metadata says so, or pydantic-ai's `requires_approval`. A tool of an MCP server acts
    unless its annotations say that it only reads: that is what the protocol takes for granted.
    """
    metadata, hints = _marks(tool)
    if needs_approval(tool):
        return True
    if _ACTING in metadata:
        return bool(metadata[_ACTING])
    return "annotations" in metadata and not hints.get("readOnlyHint")


def acting_names(tools: Mapping[str, ToolDefinition]) -> tuple[str, ...]:
    """Return the names of the tools that act."""
    return tuple(name for name, tool in tools.items() if is_acting(tool))


def _marks(tool: ToolDefinition) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    metadata: Mapping[str, Any] = tool.metadata or {}
    hints = metadata.get("annotations")
    if not isinstance(hints, Mapping):
        return metadata, {}
    return metadata, cast("Mapping[str, Any]", hints)


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


@dataclass(frozen=True, slots=True)
class ToolsetOverride:
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


GROUP = "prefect_swarm.toolsets"
"""The entry point group in which other packages register toolsets."""


@cache
def registered_toolsets() -> Mapping[str, ToolsetSource]:
    """Return them by their names: those of the entry points, or the sources' own.

    An entry point is a pydantic-ai toolset, a `ToolsetSource`, or what returns one when called.

    Raises:
        InputError: One can't be loaded, is not a toolset, or has another's name.
    """
    found: dict[str, ToolsetSource] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        source = _load(point)
        if source.name in found:
            raise InputError(
                f"Two toolsets are named {source.name}.", f"Rename that of {package_of(point)}."
            )
        found[source.name] = source
    return MappingProxyType(found)


def _load(point: EntryPoint) -> ToolsetSource:
    try:
        made: Any = point.load()
        if isinstance(made, type) or not _is_any(made):
            made = made()
        if isinstance(made, AbstractToolset):
            made = ToolsetOverride(point.name, cast("AbstractToolset[None]", made))
        fits = _is_source(made) and bool(checked_name(made.name))
    except Exception as error:
        raise InputError(
            f"The toolset {point.name} of {package_of(point)} can't be loaded: {error!r}.",
            "Fix or uninstall that package.",
        ) from error
    if not fits:
        raise InputError(
            f"The toolset {point.name} of {package_of(point)} is not a toolset.",
            "Give a pydantic-ai toolset, or the attributes of "
            "prefect_swarm.toolsets.catalogue.ToolsetSource.",
        )
    return made


def _is_any(made: Any) -> bool:
    return isinstance(made, AbstractToolset) or _is_source(made)


def _is_source(made: Any) -> bool:
    texts = (getattr(made, name, None) for name in ("name", "about", "server"))
    return all(isinstance(text, str) for text in texts) and callable(getattr(made, "toolset", None))
