"""An edited plan takes the place of a run's: what stays of what was done, and what is done anew.

All of it follows from the run's folder, and doing it again changes nothing: a process that is
killed in its middle leaves what the next one needs.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress

from ...approvals.question import Answer
from ...approvals.store import Approvals
from ...errors import RunDamagedError
from ...runs import RunFolder
from ...task_ir import PlanRules, TaskIR
from ...tasks.planner.task import Planned
from ..compile import CompiledPlan
from .plan_file import plan_from
from .unchanged import read_compiled, step_digests, unchanged_steps

__all__ = ["edited_source", "keep_unchanged", "steps_written"]

_logger = logging.getLogger("prefect_swarm.runs")
_EDITED = "edited by a person"


def edited_source(source: Planned, edits: Sequence[Answer], rules: PlanRules) -> Planned:
    """Return the plan that a person made of a run's, the last of several; it itself without any.

    Raises:
        PlanError: It breaks a rule.
    """
    if not edits:
        return source
    plan = source.plan
    for edit in edits:
        plan = plan_from(edit.plan or {}, plan, rules)
    choice = "; ".join(filter(None, [source.planning.choice, _EDITED]))
    return source.model_copy(
        update={"plan": plan, "planning": source.planning.model_copy(update={"choice": choice})}
    )


def steps_written(source: Planned, edited: TaskIR) -> frozenset[str]:
    """Return the ids of the steps of which a person wrote who does them.

    They are all but those that a plan of the orchestrator's still has as it wrote them.
    """
    steps = edited.steps
    if source.planning.source != "orchestrator":
        return frozenset(step.id for step in steps)
    before, after = _agents_of(source.plan), _agents_of(edited)
    return frozenset(step.id for step in steps if before.get(step.id) != after[step.id])


def _agents_of(plan: TaskIR) -> dict[str, tuple[str, str]]:
    prompts = {agent.name: agent.system_prompt for agent in plan.agents}
    return {step.id: (step.agent, prompts[step.agent]) for step in plan.steps}


def keep_unchanged(run: RunFolder, plan: CompiledPlan) -> None:
    """Forget what was done of steps that a plan has changed, and what was asked about them.

    Args:
        plan: The plan that takes the place of the one that `plan.json` has.
    """
    finished = run.finished_steps()
    before = _before(run)
    kept = unchanged_steps(before, plan, finished) if before else frozenset[str]()
    for name in finished:
        if name not in kept:
            # The step's record first: an output without one counts for nothing.
            run.remove(f"steps/{name}.json")
            run.remove(f"outputs/{name}.txt")
    _withdraw(run, plan)


def _withdraw(run: RunFolder, plan: CompiledPlan) -> None:
    approvals, current = Approvals(run), set(step_digests(plan).values())
    for question in approvals.pending():
        if question.asked == "plan" or question.subject not in current:
            approvals.withdraw(question)


def _before(run: RunFolder) -> CompiledPlan | None:
    with suppress(RunDamagedError):
        if data := run.read_json("plan.json"):
            if (found := read_compiled(data)) is not None:
                return found
            _logger.warning("%s is damaged. All steps are done anew.", run.folder / "plan.json")
    return None
