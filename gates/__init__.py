"""Deterministic checks that an artifact must pass before another step may read it.

One gate a file behind one protocol. `selection` says which a step gets, `pipeline` in which order.
Pure decisions; what runs a model's code does so in `gates.sandbox`.
"""

from __future__ import annotations

from ..output import StepOutput
from .check import GateCache, check
from .gate import LIGHT_STAGES, STAGES, Gate, Stage, Subject
from .pipeline import GatePipeline, PipelineResult, build_pipeline, run_pipeline
from .ready import ready_for
from .registry import find_gate, gates
from .result import Diagnostic, Finding, GateResult, GateStatus, format_diagnostics
from .selection import DEFAULT_GATES, gate_name, is_required, select_gates

__all__ = [
    "DEFAULT_GATES",
    "LIGHT_STAGES",
    "STAGES",
    "Diagnostic",
    "Finding",
    "Gate",
    "GateCache",
    "GatePipeline",
    "GateResult",
    "GateStatus",
    "PipelineResult",
    "Stage",
    "StepOutput",
    "Subject",
    "build_pipeline",
    "check",
    "find_gate",
    "format_diagnostics",
    "gate_name",
    "gates",
    "is_required",
    "ready_for",
    "run_pipeline",
    "select_gates",
]
