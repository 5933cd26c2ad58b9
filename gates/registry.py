"""The gates there are, and which of them a step gets."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType
from typing import Any

from ..errors import InputError
from ..plan.task_ir import Output, OutputKind
from .base import STAGES, Gate
from .code_gates import Format, Lint, Shellcheck, Typecheck
from .json_schema import JsonSchema
from .python.gates import Integration, Unit
from .text_gates import Citations, Form, Length, Repetition, Sections

__all__ = [
    "DEFAULT_GATES",
    "GROUP",
    "find_gate",
    "gate_name",
    "gates",
    "is_required",
    "package_of",
    "select_gates",
]


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


DEFAULT_GATES: Mapping[OutputKind, tuple[str, ...]] = MappingProxyType(
    {
        "text": ("repetition", "length", "sections", "form", "citations"),
        "json": ("schema",),
        "python": ("format", "lint", "unit", "integration"),
        "shell": ("shellcheck", "format"),
        "files": ("integration",),
    }
)
"""The gates of each output kind. `?` behind a name: it is tried, and its failure stops nothing."""


def gate_name(asked: str) -> str:
    """The gate's name, without the signs around it."""
    return asked.removeprefix("+").removeprefix("-").removesuffix("?")


def is_required(asked: str) -> bool:
    """Whether the artifact has to pass it."""
    return not asked.endswith("?")


def select_gates(
    output: Output, plan: Sequence[str] | None = None, person: Sequence[str] | None = None
) -> tuple[str, ...]:
    """The gates of a step, each once, in the order they are named.

    Args:
        plan: What the step's plan asks for: names replace the kind's own, `+name` adds a gate,
            `-name` removes it. None changes nothing.
        person: The same, of the person who starts the run; applied last.
    """
    found = tuple(name for name in DEFAULT_GATES[output.kind] if _applies(gate_name(name), output))
    for asked in (plan, person):
        found = found if asked is None else _change(found, asked)
    return found


def _change(found: tuple[str, ...], asked: Sequence[str]) -> tuple[str, ...]:
    replaces = not asked or any(name[0] not in "+-" for name in asked)
    kept = {gate_name(name): name for name in (() if replaces else found)}
    for name in asked:
        kept.pop(gate_name(name), None)
        if not name.startswith("-"):
            kept[gate_name(name)] = name.removeprefix("+")
    return tuple(kept.values())


def _applies(name: str, output: Output) -> bool:
    """Whether a gate has anything to look at: a gate that can only pass is left out."""
    match name:
        case "length":
            return output.min_words is not None or output.max_words is not None
        case "sections":
            return bool(output.sections)
        case "form":
            return output.form is not None
        case "citations":
            return output.citations
        case _:
            return True
