"""How a fork begins: what it takes over is put into its folder before anything runs.

Everything follows from the flow run's parameters and the source's folder until the fork's
`run.json` is there, and from the fork's own folder from then on. So a process that is killed at
any moment leaves what the next one needs, and the source may be removed once the fork has begun.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import InputError
from ...result import Planning, StepResult, TakenFrom
from ...runs import RunFolder
from ...task_ir import TaskIR, check_objective
from ...tasks.planner.task import Planned
from ..compile import compile_plan
from ..edited.plan_file import plan_from
from ..options import SwarmOptions
from ..planning import plan_rules
from ..stored.planned import StoredPlanning, load, save
from .choice import ForkSource, check_choice, steps_taken_over
from .source import FinishedWork, finished_work

__all__ = ["begin_fork", "fork_plan", "taken_by"]


def begin_fork(
    run: RunFolder,
    objective: str,
    source: ForkSource,
    plan: TaskIR | None,
    options: SwarmOptions,
) -> None:
    """Put the plan of a fork, and the steps that it takes over, into its folder.

    Doing it again changes nothing.

    Args:
        run: The fork's folder, whose lock is held.
        objective: What the fork is asked for; it has to be the source's.
        plan: The plan that takes the place of the source's, if any.

    Raises:
        InputError: It can't be forked so; see `taken_by`.
        RunNotFoundError: The source isn't stored.
        StorageError: There is no room for it.
    """
    work = finished_work(source.run)
    after = _plan_after(work, plan, options)
    check_objective(after, objective)
    for name in taken_by(work, source, after):
        _link(work.run, run, name)
        run.write(f"steps/{name}.json", _taken_step(work.run, run, work.steps[name]))
    run.write("plan.json", compile_plan(after).to_json())
    save(run, StoredPlanning(planned=_planned(work.run, after, is_edited=after != work.plan)))


def fork_plan(
    run: RunFolder, source: ForkSource, plan: TaskIR | None, options: SwarmOptions
) -> TaskIR:
    """Return the plan of a fork that has begun; from its source where its own file is damaged.

    Raises:
        InputError: Neither has it.
    """
    if kept := load(run, StoredPlanning):
        return kept.planned.plan
    return _plan_after(finished_work(source.run), plan, options)


def taken_by(work: FinishedWork, source: ForkSource, after: TaskIR) -> tuple[str, ...]:
    """Return the ids of the steps that a fork takes over.

    Raises:
        InputError: It names a step that the plan doesn't have, or nothing would come of it.
    """
    taken = steps_taken_over(work.plan, after, work.steps.keys(), source.again)
    check_choice(source, work.plan, after, taken, len(work.steps))
    return taken


def _plan_after(work: FinishedWork, plan: TaskIR | None, options: SwarmOptions) -> TaskIR:
    data: Mapping[str, Any] = (
        work.plan.model_dump(mode="json") if plan is None else plan.model_dump(mode="json")
    )
    return plan_from(data, work.plan, plan_rules(options))


def _planned(source: RunFolder, plan: TaskIR, *, is_edited: bool) -> Planned:
    # What the source's plan took is the source's to count.
    choice = "edited by a person" if is_edited else ""
    return Planned(
        plan=plan, planning=Planning(source="fork", forked_from=source.run_id, choice=choice)
    )


def _taken_step(source: RunFolder, run: RunFolder, step: StepResult) -> StepResult:
    """Return a step as a fork keeps it: whose it is, and none of what it took."""
    name = f"outputs/{step.id}.txt"
    origin = TakenFrom(run=source.run_id, output_ref=f"{source.run_id}/{name}")
    return step.model_copy(
        update={
            "taken_from": step.taken_from or origin,
            "output_ref": f"{run.run_id}/{name}",
            "attempts": (),
            "task_runs": (),
            "slack_s": None,
            "critical": False,
        }
    )


def _link(source: RunFolder, run: RunFolder, step: str) -> None:
    """Have a run share a step's output with another: a second name of the same file.

    No run ever writes into an output; it puts another file in its place. Where the file system
    has no links, it is copied.
    """
    name = f"outputs/{step}.txt"
    try:
        run.files.share(name, source.files)
    except OSError:
        _copy(source, run, name)


def _copy(source: RunFolder, run: RunFolder, name: str) -> None:
    text = source.read(name)
    if text is None:
        raise InputError(
            f"{source.folder / name} went away while run {source.run_id} was forked.",
            "Fork it once more.",
        )
    run.write(name, text)
