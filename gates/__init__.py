"""Deterministic checks that an artifact must pass before another step may read it."""

from __future__ import annotations

from .cache import Cache
from .check import check
from .gate import STAGES, Gate, Material, Stage, Subject
from .pipeline import Line, Passage, line_of, run_line
from .registry import find_gate, gates
from .result import Diagnostic, Finding, GateResult, GateStatus, said
from .selection import DEFAULT_GATES, chosen, gate_name, is_required

__all__ = [
    "DEFAULT_GATES",
    "STAGES",
    "Cache",
    "Diagnostic",
    "Finding",
    "Gate",
    "GateResult",
    "GateStatus",
    "Line",
    "Material",
    "Passage",
    "Stage",
    "Subject",
    "check",
    "chosen",
    "find_gate",
    "gate_name",
    "gates",
    "is_required",
    "line_of",
    "run_line",
    "said",
]
