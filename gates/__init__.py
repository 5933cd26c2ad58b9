"""Deterministic checks that an artifact must pass before another step may read it.

One gate a file behind one protocol. `plan.gate_names` says which a step gets, `pipeline` in which
order.
Decisions are pure; a model's code runs in `gates.sandbox`.
"""

from __future__ import annotations

from ..plan.gate_names import DEFAULT_GATES, gate_name, is_required, select_gates
from ..plan.output import StepOutput
from .base import (
    LIGHT_STAGES,
    STAGES,
    Diagnostic,
    Finding,
    Gate,
    GateResult,
    GateStatus,
    Stage,
    Subject,
    format_diagnostics,
)
from .pipeline import (
    GateCache,
    GatePipeline,
    PipelineResult,
    build_pipeline,
    check,
    find_gate,
    gates,
    ready_for,
    run_pipeline,
)

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
