"""A run that has not ended, as its files tell it, as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...flows.stored.ended_early import ended_early
from .asked import question_records
from .explored import exploration_of
from .printing import print_json

if TYPE_CHECKING:
    from ...runs import RunFolder

__all__ = ["print_unfinished_json"]


def print_unfinished_json(run: RunFolder, plan: Mapping[str, Any]) -> None:
    """Print as JSON what there is: the plan, what is finished, and the steps that were begun."""
    about, explored = run.about(), exploration_of(run)
    print_json(
        {
            "run_id": run.run_id,
            "flow_run_id": about.get("flow_run_id"),
            "status": "unfinished",
            "objective": about.get("objective"),
            "problem": ended_early(run),
            "plan": plan or None,
            "finished_steps": list(run.finished_steps()),
            "steps": [step.model_dump(mode="json") for step in run.steps()],
            "questions": question_records(run),
            "explored": explored.model_dump(mode="json") if explored else None,
        }
    )
