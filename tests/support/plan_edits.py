"""Edits of a running plan, as `prefect-swarm edit` writes them down."""

from __future__ import annotations

from prefect_swarm.flows.plan_changes import current_plan
from prefect_swarm.store.approvals import Approvals
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.question import Answer, Question

__all__ = ["edit_prompt"]


def edit_prompt(name: str, step: str, prompt: str) -> None:
    """Have a step of a run ask for something else."""
    run = RunFolder.find(name)
    plan = current_plan(run).model_dump(mode="json", exclude={"inputs"})
    for each in plan["steps"]:
        if each["id"] == step:
            each["prompt"] = prompt
    approvals = Approvals(run)
    asked = approvals.ask(Question(id="plan", asked="plan", subject="edit", title="An edit"))
    approvals.answer(Answer(question=asked.id, verdict="edited", plan=plan))
