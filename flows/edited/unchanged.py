"""What of a plan stays as it was when another one takes its place. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ..compile import CompiledPlan

__all__ = ["read_compiled", "step_digests", "unchanged_steps"]

_PLAN: TypeAdapter[CompiledPlan] = TypeAdapter(CompiledPlan)


def unchanged_steps(
    before: CompiledPlan, after: CompiledPlan, finished: Collection[str]
) -> frozenset[str]:
    """Return the ids of the finished steps whose output another plan may take over.

    They are there under the same id in both, asked for the same in the same words, and read the
    same. Who does a step, on which model and tier, and within which bounds, doesn't count.

    Args:
        before: The plan by which they were done.
        after: The plan that takes its place.
        finished: Ids of the steps that have succeeded.
    """
    old, new = step_digests(before), step_digests(after)
    return frozenset(name for name in finished if name in new and old.get(name) == new[name])


def step_digests(plan: CompiledPlan) -> dict[str, str]:
    """Return a hash of each step, by its id: of what it is asked for, and of all that it reads.

    That is its instructions, prompt, output, gates and tools, the texts of its inputs, and the
    hashes of the steps before it.
    """
    digests: dict[str, str] = {}
    for step in plan.steps:
        content = {
            "instructions": step.instructions,
            "prompt": step.prompt,
            "output": step.output.model_dump(mode="json"),
            "gates": step.gates,
            "tools": step.tools,
            "inputs": plan.inputs_of(step),
            "upstream": [(name, digests[name]) for name in step.upstream],
        }
        digests[step.id] = _digest(content)
    return digests


def read_compiled(data: Mapping[str, Any]) -> CompiledPlan | None:
    """Return a plan as `CompiledPlan.to_json` wrote it; None if it is none."""
    try:
        plan = _PLAN.validate_python(data)
        step_digests(plan)
    except (ValidationError, KeyError):  # A step reads what isn't there.
        return None
    return plan


def _digest(content: Mapping[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
