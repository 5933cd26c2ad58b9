"""What steps are asked for, as hashes: two with equal ones may take over each other's output. Pure.

Who does a step, on which model and tier, and within which bounds, doesn't count.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from .compile import CompiledPlan, CompiledStep
from .conditions import Condition, with_steps
from .ids import parse_id

__all__ = ["member_digest", "planned_digests", "step_digests", "text_digest", "work_digest"]


def step_digests(plan: CompiledPlan) -> dict[str, str]:
    """Return a hash of each step, by its id: of what it is asked for, and of all that it reads.

    That is its instructions, prompt, output, gates, review and tools, the texts of its inputs, what
    it is done for and when, the plan inside it, and the hashes of the steps before it.
    """
    digests: dict[str, str] = {}
    for step in plan.steps:
        content = {
            **_work(step, step.instructions),
            "inputs": plan.inputs_of(step),
            "upstream": [(name, digests[name]) for name in step.upstream],
        }
        if before := [digests[name] for name in _not_read(step)]:
            content["before"] = before
        digests[step.id] = _digest(content)
    return digests


def planned_digests(plan: CompiledPlan) -> dict[str, str]:
    """Return what `step_digests` does, of the steps as the plan has them, without the memory."""
    steps = (
        replace(step, instructions=step.planned_instructions or step.instructions)
        for step in plan.steps
    )
    return step_digests(replace(plan, steps=tuple(steps)))


def member_digest(
    step: CompiledStep, inputs: Sequence[tuple[str, str]], digests: Mapping[str, str]
) -> str:
    """Return a hash of what an instance, a round or an inner step is asked for, and reads.

    Its number isn't in it: the same item may have another one in another list.

    Args:
        step: The member.
        inputs: Names of the inputs that it reads, and the hashes of their texts.
        digests: The hashes of what it needs, by their ids.
    """
    content = {
        **_work(step, step.planned_instructions or step.instructions),
        "item": step.digest,
        "inputs": inputs,
        "upstream": [digests[name] for name in step.upstream],
        "before": [digests[name] for name in _not_read(step)],
    }
    return _digest(content)


def work_digest(step: CompiledStep) -> str:
    """Return a hash of what a member of a step is asked for, its item among it."""
    return _digest({**_work(step, step.instructions), "item": step.digest})


def text_digest(*texts: str) -> str:
    """Return a hash of texts, one after the other."""
    return _digest({"texts": texts})


def _not_read(step: CompiledStep) -> list[str]:
    names = dict.fromkeys((*step.waits_for, step.source, step.follows))
    return [name for name in names if name]


def _work(step: CompiledStep, instructions: str) -> dict[str, Any]:
    """Return what a step is asked for; parts that it doesn't have are left out."""
    work: dict[str, Any] = {
        "instructions": instructions,
        "prompt": step.prompt,
        "output": step.output.model_dump(mode="json"),
        "gates": step.gates,
        "tools": step.tools,
    }
    if step.review is not None:
        work["review"] = asdict(step.review)
    if step.when is not None:
        when = with_steps(step.when, _planned_step)
        work["when"] = when.model_dump(mode="json", exclude_unset=True)
    if step.for_each is not None:
        # A source counts by its own hash: its id may have a number.
        left_out = {"items"} if step.source or step.follows else set[str]()
        work["for_each"] = step.for_each.model_dump(mode="json", exclude=left_out)
    if step.repeat is not None:
        work["repeat"] = step.repeat.model_dump(mode="json")
    if step.collect is not None:
        work["collect"] = step.collect
    if step.call is not None:
        work["call"] = step.call.model_dump(mode="json", exclude_unset=True)
    if step.plan:
        work["plan"] = [_inner(inner) for inner in step.plan]
        work["final"] = step.final
    return work


def _inner(step: CompiledStep) -> dict[str, Any]:
    needs = {"upstream": step.upstream, "before": _not_read(step), "inputs": step.inputs}
    work = _work(step, step.planned_instructions or step.instructions)
    return {"id": step.id, "optional": step.optional, **needs, **work}


def _planned_step(condition: Condition) -> str | None:
    """Return the id that a condition's step has in the plan."""
    step = condition.step
    return ".".join(level.step for level in parse_id(step)) if step is not None else None


def _digest(content: Mapping[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
