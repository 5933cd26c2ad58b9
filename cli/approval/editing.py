"""`prefect-swarm edit`: another plan in the place of a run's."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from uuid import uuid4

import typer

from ...approvals.question import PLAN_QUESTION, Answer, Question
from ...errors import InputError, PlanError
from ...task_ir import PlanRules, TaskIR
from ...text_files import read_text
from ..output.printing import print_text
from ..resume import RunName
from .answering import ResumeNow, go_on

if TYPE_CHECKING:
    from ...approvals.store import Approvals
    from ...runs import RunFolder

__all__ = ["edit", "read_edited"]

PlanYaml = Annotated[
    Path | None,
    typer.Argument(metavar="[PLAN]", help="A plan as YAML or JSON; - is standard input."),
]


def edit(
    run_name: RunName,
    plan: PlanYaml = None,
    resume_now: ResumeNow = False,
) -> int:
    """Give a run another plan; without PLAN its own is printed as YAML.

    What runs is finished first. Steps that are finished and that the plan leaves as they were are
    not done again; all others are.
    """
    from ...approvals.store import Approvals
    from ...flows.edited.current import current_plan, rules_of
    from ...flows.edited.plan_file import plan_text
    from ...runs import find_run

    run = find_run(run_name)
    before = current_plan(run)
    if plan is None:
        print_text(plan_text(before).rstrip())
        return 0
    _require_open(run)
    changed = read_edited(run, plan, before, rules_of(run))
    if changed == before:
        raise InputError(f"{plan} is the plan that run {run.run_id} has.", "Change something.")
    given = changed.inputs.items()
    inputs = {name: text for name, text in given if before.inputs.get(name) != text}
    data = {**changed.model_dump(mode="json", exclude={"inputs"}), "inputs": inputs}
    _answer(Approvals(run), data)
    return go_on(run, f"Run {run.run_id} has another plan.", resume_now)


def _require_open(run: RunFolder) -> None:
    result = run.result()
    if result is not None and result.status != "failed":
        raise InputError(
            f"Run {run.run_id} is {result.status}: its plan can't be changed any more.",
            f"Fork it with the edited plan: prefect-swarm fork {run.run_id} --plan FILE",
        )


def read_edited(run: RunFolder, path: Path, before: TaskIR, rules: PlanRules) -> TaskIR:
    """Read a plan as YAML or JSON that takes the place of a run's.

    Raises:
        PlanError: It can't be taken; says each problem with its line.
    """
    from ...flows.edited.plan_file import problems_of

    found = problems_of(read_text(path, "plan"), before, rules)
    if isinstance(found, TaskIR):
        return found
    problems = "; ".join(map(str, found))
    raise PlanError(
        f"The plan in {path} can't be taken: {problems}.",
        f"Mend it; `prefect-swarm edit {run.run_id}` prints the plan that there is.",
    )


def _answer(approvals: Approvals, plan: dict[str, Any]) -> None:
    """Write the plan down: it answers what is asked about the plan, or comes unasked."""
    now = time.time()
    pending = (q.id for q in approvals.pending() if q.asked == "plan")
    name = next(pending, None)
    if name is None:
        unasked = Question(
            id=PLAN_QUESTION,
            asked="plan",
            subject=f"edit {uuid4().hex}",
            title="An edited plan",
            at=now,
        )
        name = approvals.ask(unasked).id
    approvals.answer(Answer(question=name, verdict="edited", plan=plan, by="command", at=now))
