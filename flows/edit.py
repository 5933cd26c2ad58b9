"""An edited plan takes the place of a run's: what stays of what was done, and what is done anew."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ..approvals.question import Answer
from ..approvals.store import Approvals
from ..errors import InputError, RunDamagedError
from ..runs import RunFolder
from ..task_ir import PlanRules, TaskIR
from ..tasks.planner.task import Planned
from .compile import CompiledPlan
from .options import SwarmOptions, stored_options
from .plan_file import plan_from
from .planning import plan_rules
from .stored.planned import StoredPlanning, load

__all__ = [
    "current_plan",
    "edited_source",
    "keep_unchanged",
    "options_of",
    "read_compiled",
    "rules_of",
    "step_digests",
    "steps_written",
    "unchanged_steps",
]


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
