"""The names of gates in a plan, and which of them a step gets. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from .output import Output, OutputKind

__all__ = ["DEFAULT_GATES", "gate_name", "is_required", "select_gates"]


DEFAULT_GATES: Mapping[OutputKind, tuple[str, ...]] = MappingProxyType(
    {
        "text": ("repetition", "length", "sections", "form", "citations"),
        "json": ("schema",),
        "python": ("format", "lint", "unit", "integration"),
        "shell": ("shellcheck", "format"),
        "files": ("integration",),
        "patch": (
            *("applies", "secrets", "tests-kept"),
            *("project-format", "project-lint", "project-types", "check"),
        ),
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
