"""Deterministic checks that an artifact must pass before another step may read it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from ..task_ir import Output, OutputKind
from . import json_schema
from .result import GateResult, GateStatus

__all__ = ["DEFAULT_GATES", "GATES", "Gate", "GateResult", "GateStatus"]

Gate = Callable[[str, Output], GateResult]

GATES: Mapping[str, Gate] = MappingProxyType({json_schema.NAME: json_schema.check})
"""Every gate there is, by name."""

DEFAULT_GATES: Mapping[OutputKind, tuple[str, ...]] = MappingProxyType(
    {
        "text": (),
        "json": (json_schema.NAME,),
        "python": (),
        "shell": (),
        "files": (),
    }
)
"""The gates a step gets where its plan names none, by output kind, in the order they run."""
