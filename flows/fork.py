"""Forks of runs: a new run takes over finished steps of another one."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from ..data_types import Frozen
from ..errors import InputError, RunDamagedError
from ..plan.compile import CompiledStep, compile_plan
from ..plan.documents import plan_from
from ..plan.ids import is_within, root_of
from ..plan.task_ir import TaskIR, check_objective, is_orchestrated
from ..store.approvals import Approvals
from ..store.attempt import Usage
from ..store.diff import RunDiff
from ..store.events import ExpandedEvent
from ..store.protocol import PlanRecord, RunStore
from ..store.result import Planning
from ..store.runs import find_run
from ..store.step import StepState, TakenFrom
from ..store.workspace import patch_bases, take_workspace, workspace_state
from ..tasks.planner.task import Planned
from ..text import plural
from .members import states_stored, take_items
from .options import SwarmOptions
from .plan_changes import (
    current_plan,
    options_of,
    plan_so_far,
    root_bases,
    rules_of,
    unchanged_steps,
    without_rebuilt,
)
from .planning import plan_rules
from .stored_plan import (
    StoredPlanning,
    StoredTurn,
    finished_step,
    load,
    save,
    stored_turns,
)

__all__ = [
    "FinishedWork",
    "ForkSource",
    "begin_fork",
    "check_choice",
    "compared_run",
    "finished_work",
    "fork_plan",
    "plan_at_turn",
    "plan_done",
    "steps_taken_over",
    "taken_by",
]


_logger = logging.getLogger("prefect_swarm.runs")


@dataclass(frozen=True, slots=True)
class FinishedWork:
    """What a run has finished so far, by which plan.

    Attributes:
        steps: The steps that have succeeded, by their ids; members are among them.
        over: Ids of steps without an output of their own of which nothing is left to do: all of
            their members are done, or a condition skipped them.
    """

    run: RunStore
    plan: TaskIR
    steps: Mapping[str, StepState]
    over: frozenset[str] = frozenset()


def finished_work(name: str) -> FinishedWork:
    """Return what a run has finished; it may still go on.

    Args:
        name: The run's id, or its flow run's.

    Raises:
        InputError: The run has no plan that can be read.
        RunNotFoundError: No such run is stored.
    """
    run = find_run(name)
    # The plan first: of a run that goes on, a step that ends meanwhile is one more.
    plan = plan_done(run)
    steps = {step: found for step in run.finished_steps() if (found := _finished(run, step))}
    return FinishedWork(run, plan, steps, _over(states_stored(run), steps))


def _over(states: Sequence[StepState], steps: Collection[str]) -> frozenset[str]:
    """Return which steps are over although they are not among those that have an output."""
    unfinished = {root_of(state.id) for state in states if state.parent and not _is_done(state)}
    known = unfinished | {*steps}
    return frozenset(
        state.id
        for state in states
        if not state.parent and state.id not in known and _is_done(state)
    )


def _is_done(state: StepState) -> bool:
    return state.status == "succeeded" or state.by_condition


def plan_done(run: RunStore) -> TaskIR:
    """Return the plan by which the steps of a run were done, without edits that wait.

    Raises:
        InputError: It has none yet, or none that can be read.
    """
    with suppress(RunDamagedError):
        if result := run.result():
            return result.plan
    return current_plan(run, _edits_applied(run))


def _edits_applied(run: RunStore) -> int:
    with suppress(RunDamagedError):
        return plan.edits if (plan := run.plan()) else 0
    return 0


def _finished(run: RunStore, name: str) -> StepState | None:
    try:
        found = finished_step(run, name)
    except RunDamagedError as error:
        _logger.warning("%s The step is done anew.", error.problem)
        return None
    return found[0] if found else None


class ForkSource(Frozen):
    """What a run takes finished steps over from.

    Attributes:
        run: The run's id, or its flow run's.
        again: Ids of steps that are done anew although they are finished, and with them all that
            depend on them; an instance may be one.
        turn: The turn of the orchestrator's after which the run goes on, as the other one was then;
            0: it takes the whole plan, and the orchestrator has no more turns.
        part: The step that the run does for the other one, which follows it; "" for a fork.
    """

    run: str
    again: tuple[str, ...] = ()
    turn: int = 0
    part: str = ""


def steps_taken_over(
    before: TaskIR,
    after: TaskIR,
    finished: Collection[str],
    again: Collection[str] = (),
    bases: Mapping[str, Collection[str]] = MappingProxyType({}),
) -> tuple[str, ...]:
    """Return the ids of the steps that a fork takes over, in the order of its plan.

    A step is taken over if it is finished, if nothing that it is asked for or reads has changed,
    and if all that it reads is taken over too. The memory has no say: what it advises changes
    from run to run.

    Args:
        before: The plan by which the steps were done.
        after: The fork's own.
        finished: Ids of the steps that have succeeded.
        again: Ids of steps that are to be done anew.
        bases: On whose patches each step's was made, by their ids.
    """
    new = compile_plan(after)
    # A step of which one instance is done anew isn't as it was.
    unchanged = unchanged_steps(compile_plan(before), new, finished) - set(map(root_of, again))
    taken: dict[str, None] = {}
    for step in new.steps:
        if step.id in unchanged and _are_in(step, taken):
            taken[step.id] = None
    stands = without_rebuilt(taken, bases, {step.id: step.needs for step in new.steps})
    return tuple(name for name in taken if name in stands)


def check_choice(
    source: ForkSource,
    before: TaskIR,
    after: TaskIR,
    taken: Sequence[str],
    finished: int,
    members: Collection[str] = (),
) -> None:
    """Refuse a fork that is asked for something that isn't there, or that would do nothing.

    Args:
        source: What is asked for.
        before: The source's plan.
        after: The fork's.
        taken: Ids of the steps that it takes over.
        finished: How many steps the source has finished.
        members: Ids of the instances, rounds and inner steps that the source has.

    Raises:
        InputError: It names a step that the plan doesn't have, nothing can be taken over although
            no step was named, or everything is and the answer is the same.
    """
    ids = [step.id for step in after.steps]
    if unknown := [name for name in source.again if name not in {*ids, *members}]:
        raise InputError(
            f"The plan has no step {unknown[0]!r}.", f"There are {ids[0]} to {ids[-1]}."
        )
    if not taken and not members and not source.again:
        why = "the plan leaves none as it was" if finished else "no step of it is finished"
        raise InputError(
            f"Nothing of run {source.run} can be taken over: {why}.",
            f"Name a step to run it again anyway: --from {ids[0]}",
        )
    is_directed = bool(source.turn) or is_orchestrated(after)
    if len(taken) == len(ids) and before == after and not is_directed:
        raise InputError(
            f"A fork of run {source.run} would do nothing: all {len(ids)} steps are finished.",
            f"Name a step to run again (--from {ids[-1]}), or edit the plan (--plan FILE).",
        )


def _are_in(step: CompiledStep, taken: Collection[str]) -> bool:
    return {*step.needs} <= {*taken}


def begin_fork(
    run: RunStore,
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
    after = _plan_after(work, source, plan, options)
    check_objective(after, objective)
    take_items(work.run, run)
    taken = taken_by(work, source, after)
    plain = [name for name in taken if name in work.steps]
    all_taken = [*plain, *_members_taken(work, source, after, taken)]
    if options.workspace is not None and options.workspace == options_of(work.run).workspace:
        take_workspace(work.run, run, all_taken)
    for name in all_taken:
        if not run.take_output(name, work.run):
            raise InputError(
                f"{work.run.place('output', name)} went away while run {work.run.run_id} was "
                "forked.",
                "Fork it once more.",
            )
        run.save_step(_taken_step(work.run, run, work.steps[name]), required=True)
    run.write_plan(PlanRecord(compile_plan(after).to_json()), required=True)
    if source.turn:
        _take_turns(work.run, run, source.turn, after)
    else:
        save(run, StoredPlanning(planned=_planned(work.run, after, is_edited=after != work.plan)))


def _take_turns(source: RunStore, run: RunStore, last: int, plan: TaskIR) -> None:
    """Let a fork have the turns of its source up to one, as if they had been its own."""
    planned, turns = _turns_until(source, last)
    is_edited = any(turn.edits for turn in turns)
    # The turns before an edit don't lead to the plan that there is: then it is the first one.
    kept = () if is_edited else turns
    for turn in kept:
        run.write_record("turn", turn.model_copy(update={"usage": Usage()}), str(turn.number))
    first = planned.plan if kept or last == 1 else plan
    forked = _planned(source, first, is_edited=is_edited, turn=last)
    update = {"look_after": planned.look_after}
    save(run, StoredPlanning(planned=forked.model_copy(update=update)))


def _turns_until(run: RunStore, last: int) -> tuple[Planned, tuple[StoredTurn, ...]]:
    """Return the plan of a run's first turn, and its turns after that up to one.

    Raises:
        InputError: It has not had so many.
    """
    stored = load(run, StoredPlanning)
    taken = [turn for turn in stored_turns(run) if not turn.waits]
    if stored is None or last > len(taken) + 1:
        had = plural(len(taken) + 1 if stored else 0, "turn")
        raise InputError(f"Run {run.run_id} has had {had}.", "Name one of these.")
    if stored.planned.planning.source == "user":
        raise InputError(
            f"The plan of run {run.run_id} was given: no orchestrator directs it.",
            "Leave the turn out.",
        )
    return stored.planned, tuple(taken[: last - 1])


def _members_taken(
    work: FinishedWork, source: ForkSource, after: TaskIR, taken: Collection[str]
) -> list[str]:
    """Return the finished members that read nothing which is done anew, by their ids.

    The fork takes those of them that it asks for the same.
    """
    states = {state.id: state for state in states_stored(work.run)}
    within: dict[str, list[str]] = {}
    for state in states.values():
        within.setdefault(state.parent, []).append(state.id)
    needs = {
        member.id: member.upstream
        for event in work.run.events({"expanded"})
        if isinstance(event, ExpandedEvent)
        for member in event.steps
    }
    bases = patch_bases(workspace_state(work.run))
    known: dict[str, bool] = {}

    def is_as_it_was(name: str) -> bool:
        if name not in known:
            known[name] = find_out(name)
        return known[name]

    def find_out(name: str) -> bool:
        if any(name == again or is_within(name, again) for again in source.again):
            return False
        state = states.get(name)
        if state is None or not state.parent:
            return name in taken
        if not all(map(is_as_it_was, {*needs.get(name, ()), *bases.get(name, ())})):
            return False
        members = within.get(name, [])
        return name in work.steps or (_is_done(state) and all(map(is_as_it_was, members)))

    roots = {step.id for step in after.steps}
    members = (name for name, state in work.steps.items() if state.parent)
    return [name for name in members if root_of(name) in roots and is_as_it_was(name)]


def fork_plan(
    run: RunStore, source: ForkSource, plan: TaskIR | None, options: SwarmOptions
) -> TaskIR:
    """Return the plan of a fork that has begun; from its source where its own file is damaged.

    Raises:
        InputError: Neither has it.
    """
    if stored := load(run, StoredPlanning):
        return stored.planned.plan
    return _plan_after(finished_work(source.run), source, plan, options)


def taken_by(work: FinishedWork, source: ForkSource, after: TaskIR) -> tuple[str, ...]:
    """Return the ids of the steps that a fork takes over.

    Raises:
        InputError: It names a step that the plan doesn't have, or nothing would come of it.
    """
    finished = {*work.steps, *work.over}
    members = [state.id for state in states_stored(work.run) if state.parent]
    bases = root_bases(work.run)
    taken = steps_taken_over(work.plan, after, finished, source.again, bases)
    check_choice(source, work.plan, after, taken, len(finished), members)
    return taken


def _plan_after(
    work: FinishedWork, source: ForkSource, plan: TaskIR | None, options: SwarmOptions
) -> TaskIR:
    if source.turn:
        return plan_at_turn(work.run, source.turn)
    data: Mapping[str, Any] = (
        work.plan.model_dump(mode="json") if plan is None else plan.model_dump(mode="json")
    )
    return plan_from(data, work.plan, plan_rules(options))


def plan_at_turn(run: RunStore, turn: int) -> TaskIR:
    """Return the plan that a run had after a turn of the orchestrator's.

    Raises:
        InputError: It has not had so many turns.
    """
    planned, turns = _turns_until(run, turn)
    done = turns[-1].edits if turns else 0
    edits = Approvals(run).edits()[:done]
    return plan_so_far(planned, edits, turns, rules_of(run)).plan


def _planned(source: RunStore, plan: TaskIR, *, is_edited: bool, turn: int = 0) -> Planned:
    # What the source's plan took is the source's to count.
    choice = "edited by a person" if is_edited else ""
    planning = Planning(source="fork", forked_from=source.run_id, forked_turn=turn, choice=choice)
    return Planned(plan=plan, planning=planning)


def _taken_step(source: RunStore, run: RunStore, step: StepState) -> StepState:
    """Return a step as a fork keeps it: whose it is, and none of what it took."""
    origin = TakenFrom(run=source.run_id, output_ref=source.output_ref(step.id))
    return step.model_copy(
        update={
            "taken_from": step.taken_from or origin,
            "output_ref": run.output_ref(step.id),
            "attempts": (),
            "task_runs": (),
            "slack_s": None,
            "critical": False,
        }
    )


def compared_run(name: str) -> RunDiff:
    """Return what is compared of a run, which may not have ended.

    Args:
        name: The run's id, or its flow run's.

    Raises:
        InputError: It has no plan that can be read.
        RunDamagedError: Its result can't be read.
        RunNotFoundError: No such run is stored.
    """
    run = find_run(name)
    result = run.result()
    if result is None:
        return RunDiff(
            run_id=run.run_id, status="unfinished", plan=plan_done(run), steps=run.steps()
        )
    return RunDiff(
        run_id=run.run_id,
        status=result.status,
        plan=result.plan,
        answer=result.answer,
        steps=result.steps,
        metrics=result.metrics,
        cost=result.cost,
    )
