"""Toolsets that other packages register."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType
from typing import Any, cast

from pydantic_ai.toolsets import AbstractToolset

from ..errors import InputError
from ..gates.registry import package_of
from .given import GivenToolset
from .names import checked_name
from .source import ToolsetSource

__all__ = ["GROUP", "registered_toolsets"]

GROUP = "prefect_swarm.toolsets"
"""The entry point group in which other packages register toolsets."""


@cache
def registered_toolsets() -> Mapping[str, ToolsetSource]:
    """Return them by their names: those of the entry points, or the sources' own.

    An entry point is a pydantic-ai toolset, a `ToolsetSource`, or what returns one when called.

    Raises:
        InputError: One can't be loaded, is no toolset, or has another's name.
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
            made = GivenToolset(point.name, cast("AbstractToolset[None]", made))
        fits = _is_source(made) and bool(checked_name(made.name))
    except Exception as error:
        raise InputError(
            f"The toolset {point.name} of {package_of(point)} can't be loaded: {error!r}.",
            "Fix or uninstall that package.",
        ) from error
    if not fits:
        raise InputError(
            f"The toolset {point.name} of {package_of(point)} is no toolset.",
            "Give a pydantic-ai toolset, or the attributes of "
            "prefect_swarm.toolsets.source.ToolsetSource.",
        )
    return made


def _is_any(made: Any) -> bool:
    return isinstance(made, AbstractToolset) or _is_source(made)


def _is_source(made: Any) -> bool:
    texts = (getattr(made, name, None) for name in ("name", "about", "server"))
    return all(isinstance(text, str) for text in texts) and callable(getattr(made, "toolset", None))
