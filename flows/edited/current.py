"""The plan that a run has now, as its folder tells: with what persons have made of it."""

from __future__ import annotations

from ...approvals.store import Approvals
from ...errors import InputError
from ...runs import RunFolder
from ...task_ir import PlanRules, TaskIR
from ..options import SwarmOptions, stored_options
from ..planning import plan_rules
from ..stored.planned import StoredPlanning, load
from .applied import edited_source

__all__ = ["current_plan", "options_of", "rules_of"]


def current_plan(run: RunFolder) -> TaskIR:
    """Return the plan of a run.

    Raises:
        InputError: It has none yet, or none that can be read.
    """
    kept = load(run, StoredPlanning)
    if kept is None:
        raise InputError(
            f"Run {run.run_id} has no plan yet.", f"See: prefect-swarm inspect {run.run_id}"
        )
    return edited_source(kept.planned, Approvals(run).edits(), rules_of(run)).plan


def options_of(run: RunFolder) -> SwarmOptions:
    """Return the options that a run was started with.

    Raises:
        RunDamagedError: They aren't options.
    """
    with run.readable("run.json"):
        return stored_options(run.about().get("options"))


def rules_of(run: RunFolder) -> PlanRules:
    """Return what bounds a plan of a run."""
    return plan_rules(options_of(run))
