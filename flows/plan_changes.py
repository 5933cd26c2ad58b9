"""A plan that changes while its run goes on: replaced steps, and a person's edit."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ..errors import (
    Category,
    InputError,
    NoPlanError,
    RunDamagedError,
    StepWaivedError,
    UnusableReplacementError,
)
from ..plan.compile import CompiledPlan, CompiledStep
from ..plan.digests import step_digests
from ..plan.documents import plan_from
from ..plan.ids import root_of
from ..plan.step import placed_steps
from ..plan.task_ir import PlanRules, TaskIR
from ..plan.turns import extend_plan
from ..store.approvals import Approvals
from ..store.attempt import excerpt
from ..store.protocol import RunStore
from ..store.question import Answer
from ..store.step import StepState
from ..store.workspace import patch_bases, workspace_state
from ..tasks.planner.line_format import system_prompt
from ..tasks.planner.task import Planned
from ..tasks.replan import Replacement, read_replacement, replacement_request, replan
from ..tasks.subagent.request import SubagentRequest
from .context import RunContext
from .members import set_members_aside, states_stored
from .options import SwarmOptions, stored_options
from .planning import plan_rules
from .prefect_io.task_runs import result_in, states_of, task_run_of
from .stored_plan import StoredPlanning, StoredTurn, load, stored_turns
from .subagents import ask_orchestrator

__all__ = [
    "Replacements",
    "current_plan",
    "keep_unchanged",
    "options_of",
    "plan_after_edits",
    "plan_so_far",
    "read_compiled",
    "root_bases",
    "rules_of",
    "steps_written",
    "unchanged_steps",
    "without_rebuilt",
]


_SEEDS_APART = 1000
_REASON_CHARS = 200
_WRITTEN_WRONG = frozenset({Category.EARLY_ABORT, Category.FORMAT, Category.TRUNCATED})
"""What another answer to the same question may well not have."""


@dataclass(slots=True)
class Replacements:
    """Replaces steps, at most `left` times more."""

    context: RunContext
    left: int

    async def replacement_for(self, record: StepState) -> CompiledStep:
        """Return the step that takes a failed one's place, under its id.

        An answer that is none is asked for once more, with another seed. The step's last decision
        says what the question took and, where nothing is raised, what came of it.

        Raises:
            BudgetExceededError: The run can't afford the question.
            NoPlanError: The orchestrator didn't answer, or twice wrote nothing that can be used.
            StepWaivedError: It does without the step.
        """
        self.left -= 1
        replacement, asked_again = await self._replacement(record)
        if not replacement.agent:
            reason = f"The orchestrator does without {record.step.id}: {replacement.prompt}"
            raise StepWaivedError(reason + asked_again)
        record.note(outcome=f"{replacement.agent}: {replacement.prompt}{asked_again}")
        return self._replaced(record.step, replacement)

    async def _replacement(self, record: StepState) -> tuple[Replacement, str]:
        """Ask, and once more if need be; return what to say of that, too."""
        question = self._question(record)
        try:
            return await self._ask(record, question), ""
        except UnusableReplacementError as error:
            first = error
        again = f" (asked twice, since at first: {excerpt(first.problem, _REASON_CHARS)})"
        try:
            return await self._ask(record, self._again(question)), again
        except UnusableReplacementError as error:
            raise NoPlanError(error.problem + again, error.fix, error.text) from None

    def _question(self, record: StepState) -> SubagentRequest:
        context, step = self.context, record.step
        attempts = reversed(record.attempts)
        failures = [attempt.error or str(attempt.category) for attempt in attempts]
        name = context.options.model_of("orchestrator")
        return replacement_request(
            context.plan.objective,
            step.id,
            step.agent,
            step.prompt,
            failures,
            key=f"{context.key}.{step.id}.replan.{record.revision + 1}",
            run=context.flow_run_id,
            model=name,
            evidence_chars=context.models.profile(name).feedback_chars * 2,
            limits=context.limits,
        )

    def _again(self, question: SubagentRequest) -> SubagentRequest:
        policy = self.context.options.policy
        profile = self.context.models.profile(question.model)
        temperature = policy.sample_temperature or profile.sample_temperature
        changes = {
            "key": f"{question.key}.2",
            "attempt": 2,
            "seed": question.seed + _SEEDS_APART,
            "temperature": temperature or question.temperature,
        }
        return question.model_copy(update=changes)

    async def _ask(self, record: StepState, question: SubagentRequest) -> Replacement:
        again = ", once more" if question.attempt > 1 else ""
        name = f"{record.step.id}, Orchestrator, replan {record.revision + 1}{again}"
        ledger, before = self.context.ledger, states_of(record.task_runs)
        request = await ledger.reserve(question)
        state, content = await ask_orchestrator(ledger, replan, request, name=name, wait_for=before)
        if (result := result_in(content)) is not None:
            record.note_question(result.usage, result.work_s)
        record.wait_for(task_run_of(state))
        if result is None:
            raise NoPlanError(
                f"The orchestrator could not be asked for a replacement: {content!r}."
            )
        if result.category is not None:
            kind = UnusableReplacementError if result.category in _WRITTEN_WRONG else NoPlanError
            raise kind(f"The orchestrator wrote no replacement: {result.error}")
        return read_replacement(result.text, record.step.agent, record.step.prompt)

    def _replaced(self, step: CompiledStep, replacement: Replacement) -> CompiledStep:
        instructions = self.context.plan.instructions_for(system_prompt(replacement.agent))
        return replace(
            step,
            agent=replacement.agent,
            prompt=replacement.prompt,
            instructions=instructions,
            persona="",
            lesson="",
            used=(),
        )


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


def without_rebuilt(
    kept: Collection[str],
    bases: Mapping[str, Collection[str]],
    needs: Mapping[str, Collection[str]],
) -> frozenset[str]:
    """Return the steps whose patches still stand where the others are done anew. Pure.

    Args:
        kept: Steps that are otherwise as they were.
        bases: On whose patches each step's, or its members', was made, by ids of steps.
        needs: Which steps each reads.
    """
    whole = left = frozenset(kept)
    while gone := {
        name
        for name in left
        if not left.issuperset(bases.get(name, ()))
        or not (whole - left).isdisjoint(needs.get(name, ()))
    }:
        left -= gone
    return left


def root_bases(run: RunStore) -> Mapping[str, Collection[str]]:
    """Return on whose patches each step's was made, members counted to their steps."""
    bases: dict[str, set[str]] = {}
    for name, others in patch_bases(workspace_state(run)).items():
        root = root_of(name)
        bases.setdefault(root, set()).update({*map(root_of, others)} - {root})
    return bases


def read_compiled(data: Mapping[str, Any]) -> CompiledPlan | None:
    """Return a plan as `CompiledPlan.to_json` wrote it; None if it is none."""
    try:
        plan = _PLAN.validate_python(data)
        step_digests(plan)
    except (ValidationError, KeyError):  # A step reads what isn't there.
        return None
    return plan


_logger = logging.getLogger("prefect_swarm.runs")
_EDITED = "edited by a person"


def plan_after_edits(source: Planned, edits: Sequence[Answer], rules: PlanRules) -> Planned:
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


def plan_so_far(
    source: Planned, edits: Sequence[Answer], turns: Sequence[StoredTurn], rules: PlanRules
) -> Planned:
    """Return the plan that became of a run's, by its turns and a person's edits in their order.

    Raises:
        PlanError: It breaks a rule.
    """
    found, done = source, 0
    for turn in turns:
        if turn.waits:
            continue
        found = plan_after_edits(found, edits[done : turn.edits], rules)
        done = max(done, turn.edits)
        extended = extend_plan(found.plan, turn.reply, rules)
        found = found.model_copy(update={"plan": extended})
    return plan_after_edits(found, edits[done:], rules)


def steps_written(source: Planned, edited: TaskIR) -> frozenset[str]:
    """Return the ids of the steps of which a person wrote who does them.

    They are all but those that a plan of the orchestrator's still has as it wrote them.
    """
    before, after = _agents_of(source.plan), _agents_of(edited)
    if source.planning.source != "orchestrator":
        return frozenset(after)
    return frozenset(name for name in after if before.get(name) != after[name])


def _agents_of(plan: TaskIR) -> dict[str, tuple[str, str]]:
    placed = placed_steps(plan.agents, plan.steps)
    return {each.id: (each.step.agent, each.agent.system_prompt) for each in placed}


def keep_unchanged(run: RunStore, plan: CompiledPlan) -> None:
    """Forget what was done of steps that a plan has changed, and what was asked about them.

    What is finished of their members is set aside: those that are asked for the same are found
    there.

    Args:
        plan: The plan that takes the place of the stored one.
    """
    stored = [*run.finished_steps(), *(state.id for state in states_stored(run))]
    roots = dict.fromkeys(map(root_of, stored))
    before = _before(run)
    unchanged = unchanged_steps(before, plan, roots) if before else frozenset[str]()
    needs = {step.id: step.needs for step in plan.steps}
    unchanged = without_rebuilt(unchanged, root_bases(run), needs)
    finished = run.finished_steps()
    for name in roots:
        if name in unchanged:
            continue
        set_members_aside(run, name)
        if name in finished:
            run.forget_step(name)
    _withdraw(run, plan)


def _withdraw(run: RunStore, plan: CompiledPlan) -> None:
    approvals, current = Approvals(run), set(step_digests(plan).values())
    for question in approvals.pending():
        if question.asked == "plan" or question.subject not in current:
            approvals.withdraw(question)


def _before(run: RunStore) -> CompiledPlan | None:
    with suppress(RunDamagedError):
        if stored := run.plan():
            if (found := read_compiled(stored.plan)) is not None:
                return found
            _logger.warning("%s is damaged. All steps are done anew.", run.place("plan"))
    return None


def current_plan(run: RunStore, edits: int | None = None) -> TaskIR:
    """Return the plan of a run, with what turns and a person's edits have made of it.

    Args:
        run: The run.
        edits: How many of the edits count; None is all.

    Raises:
        InputError: It has none yet, or none that can be read.
    """
    stored = load(run, StoredPlanning)
    if stored is None:
        raise InputError(
            f"Run {run.run_id} has no plan yet.", f"See: prefect-swarm inspect {run.run_id}"
        )
    made = Approvals(run).edits()[:edits]
    return plan_so_far(stored.planned, made, stored_turns(run), rules_of(run)).plan


def options_of(run: RunStore) -> SwarmOptions:
    """Return the options that a run was started with.

    Raises:
        RunDamagedError: They aren't options.
    """
    try:
        return stored_options(run.about().options)
    except ValueError as error:
        raise run.damage("about", error) from None


def rules_of(run: RunStore) -> PlanRules:
    """Return what bounds a plan of a run."""
    return plan_rules(options_of(run))
