"""Steps that are procedures: they get the procedures' plans before the plan is compiled. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from typing import Protocol

from ..errors import InputError, PlanError
from .compile import shared_rules
from .documents import LineProblem
from .procedure import Parameter, ParameterValue, Procedure, fill_in, read_value
from .rules import PlanRules
from .step import Agent, InnerPlan, Step, final_step
from .task_ir import Escalation, TaskIR, parse_plan

__all__ = [
    "FindProcedure",
    "VersionedProcedure",
    "has_open_procedures",
    "inputs_in",
    "resolve",
    "resolve_edit",
    "resolve_steps",
    "step_problem",
    "toolsets_in",
]

_LONGEST_NAME = 80
"""Characters of an agent's name."""


class VersionedProcedure(Protocol):
    """A procedure, and its name with the version that it is."""

    @property
    def reference(self) -> str:
        """Its name with its version: `weekly-report@3`."""
        ...

    @property
    def procedure(self) -> Procedure:
        """The procedure itself."""
        ...


FindProcedure = Callable[[str], VersionedProcedure]
"""Returns a procedure by NAME or NAME@VERSION; an InputError where there is none."""


def has_open_procedures(steps: Iterable[Step]) -> bool:
    """Say whether any step, or one inside, is a procedure whose steps are not in the plan yet."""
    return any(
        has_open_procedures(step.plan.steps) if step.plan is not None else bool(step.procedure)
        for step in steps
    )


def resolve(plan: TaskIR, find: FindProcedure, rules: PlanRules | None = None) -> TaskIR:
    """Return a plan in which each step that is a procedure has the procedure's steps inside.

    Such a step names the version from then on, so that a later one doesn't change the plan. A step
    that has its plan already stays as it is.

    Args:
        plan: A plan.
        find: Finds a procedure by name, or by name and version.
        rules: Limits from outside the plan.

    Raises:
        PlanError: There is no such procedure, it can't be a step, its parameters are not what it
            takes, it leads back to itself, or the plan breaks a rule with its steps inside.
    """
    if not has_open_procedures(plan.steps):
        return plan
    fields = {name: getattr(plan, name) for name in plan.model_fields_set}
    return parse_plan({**fields, "steps": resolve_steps(plan.steps, plan.agents, find)}, rules)


def resolve_edit(
    found: TaskIR | tuple[LineProblem, ...], find: FindProcedure, rules: PlanRules
) -> TaskIR | tuple[LineProblem, ...]:
    """Return a plan that a person has edited as `resolve` does, or all that is wrong with it."""
    try:
        return resolve(found, find, rules) if isinstance(found, TaskIR) else found
    except PlanError as error:
        return (LineProblem(0, str(error)),)


def resolve_steps(
    steps: Sequence[Step], agents: Iterable[Agent], find: FindProcedure
) -> tuple[Step, ...]:
    """Return steps of which each that is a procedure has the procedure's steps inside.

    Args:
        steps: Steps of a plan.
        agents: The plan's agents.
        find: Finds a procedure by name, or by name and version.

    Raises:
        PlanError: As `resolve` does, but for the rules of the whole plan.
    """
    return _Resolver(find).steps(steps, {agent.name: agent for agent in agents}, "", ())


def step_problem(plan: TaskIR) -> str:
    """Say why a procedure's plan can't stand inside a step; "" if it can."""
    last = plan.final_step or final_step(plan.steps)
    if plan.inputs:
        return f"has inputs of its own: {', '.join(plan.inputs)}"
    if plan.escalation != Escalation():
        return "has an escalation of its own"
    if last is None:
        return "has several ends, and no final_step"
    if plan.definition_of_done and not _last(plan, last).prompt:
        return f"has a definition of done, and its last step {last} asks no agent"
    if pooled := [step.id for step in plan.steps if step.pool]:
        return f"has a step with a pool of its own: {pooled[0]}"
    return ""


def toolsets_in(agents: Iterable[Agent], steps: Iterable[Step]) -> frozenset[str]:
    """Return the toolsets that agents and calls of a plan name, those inside steps, too."""
    found = {name for agent in agents for name in agent.tools}
    for step in steps:
        found |= {call.toolset for call in (step.call, step.undo) if call is not None}
        if step.plan is not None:
            found |= toolsets_in(step.plan.agents, step.plan.steps)
    return frozenset(found)


def inputs_in(steps: Iterable[Step]) -> tuple[str, ...]:
    """Return the names of the inputs that steps name, those inside steps, too."""
    found: dict[str, None] = {}
    for step in steps:
        found |= dict.fromkeys(step.inputs or ())
        if step.plan is not None:
            found |= dict.fromkeys(inputs_in(step.plan.steps))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Resolver:
    find: FindProcedure

    def steps(
        self,
        steps: Sequence[Step],
        agents: Mapping[str, Agent],
        prefix: str,
        within: tuple[str, ...],
    ) -> tuple[Step, ...]:
        """Return steps with the plans of the procedures that they are.

        Args:
            agents: Agents that they may name.
            prefix: What stands before their ids.
            within: The procedures that they are inside of, the outermost first.
        """
        return tuple(self._step(step, agents, prefix + step.id, within) for step in steps)

    def _step(
        self, step: Step, agents: Mapping[str, Agent], name: str, within: tuple[str, ...]
    ) -> Step:
        if not has_open_procedures([step]):
            return step
        update: dict[str, object] = {}
        inner = step.plan
        if inner is None:
            found = self._found(step, name)
            if found.reference in within:
                circle = " → ".join([*within, found.reference])
                raise PlanError(
                    f"The plan breaks a rule: step {name} leads back to itself: {circle}.",
                    "Take one of these steps out of its procedure.",
                )
            within = (*within, found.reference)
            update["procedure"] = found.reference
            inner = _inner_plan(found, step.parameters, agents, name)
        known = {**agents, **{agent.name: agent for agent in inner.agents}}
        steps = self.steps(inner.steps, known, f"{name}.", within)
        update["plan"] = inner.model_copy(update={"steps": steps})
        return step.model_copy(update=update)

    def _found(self, step: Step, name: str) -> VersionedProcedure:
        try:
            return self.find(step.procedure)
        except InputError as error:
            raise PlanError(f"Step {name}: {error.problem}", error.fix) from None


def _inner_plan(
    found: VersionedProcedure,
    given: Mapping[str, ParameterValue],
    agents: Mapping[str, Agent],
    name: str,
) -> InnerPlan:
    """Return a procedure's plan with the given values, as a step has it inside."""
    if problem := step_problem(found.procedure.plan):
        raise PlanError(
            f"Step {name} is the procedure {found.reference}, which {problem}.",
            "Run it by itself, or save a version of it without that.",
        )
    try:
        plan = fill_in(found.procedure, _typed(given, found.procedure.parameters))
    except InputError as error:
        has = ", ".join(found.procedure.parameters) or "none"
        raise PlanError(
            f"Step {name}: {error.problem}",
            f"It has these parameters: {has}. Give them in the step's `parameters`.",
        ) from None
    rules = shared_rules(plan)
    own = [
        agent.model_copy(update={"system_prompt": "\n".join([agent.system_prompt, *rules])})
        for agent in plan.agents
    ]
    names = _new_names(own, agents, found.procedure.name)
    return InnerPlan(
        agents=tuple(
            agent.model_copy(update={"name": names.get(agent.name, agent.name)})
            for agent in own
            if agents.get(agent.name) != agent
        ),
        steps=_renamed(_with_end(plan), names),
        final_step=plan.final_step,
    )


def _typed(
    given: Mapping[str, ParameterValue], parameters: Mapping[str, Parameter]
) -> dict[str, ParameterValue]:
    """Return values as their parameters have them, where they say the same in another type."""
    values = {**given}
    for name, value in given.items():
        parameter = parameters.get(name)
        if parameter is not None and not isinstance(value, bool):
            with suppress(ValueError):  # `fill_in` says what is wrong with it.
                is_other = isinstance(value, str) or parameter.type == "text"
                values[name] = read_value(str(value), parameter) if is_other else value
    return values


def _with_end(plan: TaskIR) -> tuple[Step, ...]:
    """Return the steps of a plan, of which the last is told what has to be fulfilled."""
    if not plan.definition_of_done:
        return plan.steps
    last = plan.final_step or final_step(plan.steps)
    wanted = " ".join(f"It is done when: {each}." for each in plan.definition_of_done)
    return tuple(
        step.model_copy(update={"prompt": f"{step.prompt}\n\n{wanted}"})
        if step.id == last
        else step
        for step in plan.steps
    )


def _last(plan: TaskIR, name: str) -> Step:
    return next(step for step in plan.steps if step.id == name)


def _new_names(own: Sequence[Agent], around: Mapping[str, Agent], procedure: str) -> dict[str, str]:
    """Return other names of agents that the plan around has under their name, with other words."""
    taken = {*around, *(agent.name for agent in own)}
    names: dict[str, str] = {}
    for agent in own:
        if around.get(agent.name) in (None, agent):
            continue
        tails = (f" ({procedure[:40]}{'' if n == 1 else f' {n}'})" for n in count(1))
        others = (f"{agent.name[: _LONGEST_NAME - len(tail)]}{tail}" for tail in tails)
        names[agent.name] = next(other for other in others if other not in taken)
        taken.add(names[agent.name])
    return names


def _renamed(steps: Iterable[Step], names: Mapping[str, str]) -> tuple[Step, ...]:
    """Return steps that call agents by other names, those inside, too."""
    return tuple(_with_names(step, names) if names else step for step in steps)


def _with_names(step: Step, names: Mapping[str, str]) -> Step:
    update: dict[str, object] = {"agent": names.get(step.agent, step.agent)}
    if step.review is not None:
        agent = names.get(step.review.agent, step.review.agent)
        update["review"] = step.review.model_copy(update={"agent": agent})
    if step.best_of is not None:
        judge = names.get(step.best_of.judging_agent, step.best_of.judge)
        update["best_of"] = step.best_of.model_copy(update={"judge": judge})
    if step.plan is not None:
        steps = _renamed(step.plan.steps, names)
        update["plan"] = step.plan.model_copy(update={"steps": steps})
    return step.model_copy(update=update)
