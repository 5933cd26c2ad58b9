"""A run's figures by PARL's measures, from what the process that works on it knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from ..metrics.parl import OrchestratorTurn, ParlFigures, parl_figures
from ..parl.collapse import PlanRun, acted_steps, find_collapse
from ..plan.ids import root_of
from ..plan.task_ir import TaskIR
from ..store.step import StepState
from .context import RunContext, frontier

__all__ = ["parl_of_run"]


def parl_of_run(
    context: RunContext,
    plan: TaskIR,
    steps: Sequence[StepState],
    needs: Mapping[str, Sequence[str]],
    turns: Sequence[OrchestratorTurn],
    status: Literal["completed", "partial", "failed"],
) -> ParlFigures:
    """Return the figures of a run that is over.

    Args:
        plan: The plan, with what turns have added to it.
        steps: How each step and member ended.
        needs: Ids of the steps that each of them waited for.
        turns: The orchestrator's.
        status: How the run ended.
    """
    texts = {
        name: record.output.text
        for name, record in context.records.items()
        if record.output is not None and not record.parent
    }
    answered = frontier(context.plan, context.records)
    run = PlanRun(
        plan=plan,
        states={step.id: step for step in steps if not step.parent},
        outputs=texts,
        turns=turns,
        answered=frozenset(root_of(record.id) for record in answered),
        acted=frozenset(map(root_of, acted_steps(steps))),
    )
    return parl_figures(steps, needs, turns, status, find_collapse(run))
