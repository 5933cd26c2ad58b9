"""A part of a plan that another run does: one step, with what it reads. Pure."""

from __future__ import annotations

from .step import needed_for
from .task_ir import TaskIR

__all__ = ["part_of_plan"]


def part_of_plan(plan: TaskIR, name: str) -> TaskIR:
    """Return the plan of the run that does one step of a plan: that step, and those above it.

    All ids, prompts, agents and inputs are as they were, so that what is asked is the same. The
    steps above are over; whether they succeeded is known, and none of them blocks the part. Whether
    the step is done at all was decided before, by its condition and by a person.

    Args:
        plan: The whole plan.
        name: The step's id.

    Raises:
        KeyError: The plan has no such step.
    """
    known = {step.id: step for step in plan.steps}
    has_asking_members = bool(known[name].for_each or known[name].repeat)
    part = known[name].model_copy(
        update={
            "pool": None,
            "when": None,
            "optional": False,
            # Each instance is asked about by itself; a plan inside was asked about as a whole.
            "approval": known[name].approval and has_asking_members,
        }
    )
    above = needed_for(tuple({**known, name: part}.values()), name) - {name}
    steps = [
        step.model_copy(update={"pool": None, "optional": True, "approval": False})
        for step in plan.steps
        if step.id in above
    ]
    return plan.model_copy(update={"steps": (*steps, part), "final_step": name})
