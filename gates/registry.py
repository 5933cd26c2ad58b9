"""The gates there are."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType
from typing import Any

from ..errors import InputError
from .base import STAGES, Gate
from .code_gates import Format, Lint, Shellcheck, Typecheck
from .json_schema import JsonSchema
from .python.gates import Integration, Unit
from .text_gates import Citations, Form, Length, Repetition, Sections

__all__ = ["GROUP", "find_gate", "gates", "package_of"]


GROUP = "prefect_swarm.gates"
"""The entry point group in which other packages register gates."""

_OWN: tuple[Gate, ...] = (
    JsonSchema(),
    Shellcheck(),
    Format(),
    Lint(),
    Typecheck(),
    Unit(),
    Integration(),
    Length(),
    Repetition(),
    Sections(),
    Form(),
    Citations(),
)
_NAME = re.compile(r"[a-z][a-z0-9_-]*")


@cache
def gates() -> Mapping[str, Gate]:
    """Every gate by its name, the package's own first.

    Raises:
        InputError: A registered gate can't be loaded, is not a gate, or has another's name.
    """
    found = {gate.name: gate for gate in _OWN}
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        gate = _load(point)
        if gate.name in found:
            raise InputError(
                f"Two gates are named {gate.name}.", f"Rename that of {package_of(point)}."
            )
        found[gate.name] = gate
    return MappingProxyType(found)


def find_gate(name: str) -> Gate:
    """Return the gate of that name.

    Raises:
        InputError: There is none.
    """
    if (gate := gates().get(name)) is None:
        raise InputError(f"There is no gate {name!r}.", f"There are {', '.join(gates())}.")
    return gate


def _load(point: EntryPoint) -> Gate:
    try:
        made: Any = point.load()
        gate: Any = made() if isinstance(made, type) else made
        fits = bool(_NAME.fullmatch(gate.name)) and gate.stage in STAGES
        fits = fits and callable(gate.check) and callable(gate.version)
    except Exception as error:
        raise InputError(
            f"The gate {point.name} of {package_of(point)} can't be loaded: {error!r}.",
            "Fix or uninstall that package.",
        ) from error
    if not fits:
        raise InputError(
            f"The gate {point.name} of {package_of(point)} is not a gate.",
            "Give it the attributes of prefect_swarm.gates.Gate.",
        )
    return gate


def package_of(point: EntryPoint) -> str:
    """Return the name of the package that registers an entry point."""
    return point.dist.name if point.dist is not None else point.value
