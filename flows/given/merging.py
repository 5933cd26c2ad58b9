"""A plan with what its run is given. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from ...errors import PlanError
from ...task_ir import TaskIR

__all__ = ["with_inputs"]


def with_inputs(plan: TaskIR, inputs: Mapping[str, str]) -> TaskIR:
    """Return a plan with more inputs: texts by name, after the plan's own.

    Raises:
        PlanError: The plan has an input of that name already.
    """
    if twice := [name for name in inputs if name in plan.inputs]:
        raise PlanError(
            f"The plan has an input {twice[0]!r} of its own, and it is given too.",
            "Leave one of them out, or give it under another name.",
        )
    return plan.model_copy(update={"inputs": {**plan.inputs, **inputs}}) if inputs else plan
