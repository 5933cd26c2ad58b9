"""The rules of a valid plan: what its parts have to do with one another. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from ..inputs.contents import named_problem
from ..text import one_line
from .call import PlannedCall, names_item, outputs_in
from .collect import collected_output_problem
from .conditions import Condition, parts_of, steps_of
from .items import MOST_ITEMS, is_pattern
from .output import WORKSPACE
from .places import ItemPlace, has_items, item_place, places_problem
from .program import ForEach
from .step import Agent, InnerPlan, Step, asked_by, final_step, source_of

__all__ = ["MAX_DEPTH", "MAX_ITEMS", "MAX_STEPS", "PlanRules", "check_steps", "first_repeated"]

MAX_ITEMS = MOST_ITEMS
"""The most items `TaskIR.from_items` maps a template over."""
MAX_STEPS = 301
"""Steps a plan may have where nothing says otherwise."""


_SHOWN = 300
MAX_DEPTH = 3
"""Plans within plans: how many deep."""


class PlanRules(NamedTuple):
    """Limits that come from outside the plan; pass as the validation context.

    Attributes:
        max_steps: The most steps the plan may have.
        gates: The gates that exist, or None to leave gate names unchecked.
        inputs: Names of the run's inputs in addition to the plan's own, or None to leave the
            names that steps read unchecked.
        toolsets: The toolsets that agents may have, or None to leave their names unchecked.
        procedures: The procedures that steps may be, with the names of their parameters, or None to
            leave these names unchecked.
    """

    max_steps: int = MAX_STEPS
    gates: frozenset[str] | None = None
    inputs: frozenset[str] | None = None
    toolsets: frozenset[str] | None = None
    procedures: Mapping[str, Collection[str]] | None = None


@dataclass(frozen=True, slots=True)
class _Scope:
    """What a step may name.

    Attributes:
        prefix: What stands before the ids of an inner plan's steps.
        depth: Plans around it.
        item: The items of the step around it, if that is for each.
        has_items: Whether any step of the whole plan is for each.
    """

    rules: PlanRules
    agents: Mapping[str, Agent]
    inputs: frozenset[str] | None
    prefix: str = ""
    depth: int = 0
    item: ItemPlace | None = None
    has_items: bool = False


def check_steps(
    agents: Sequence[Agent],
    steps: Sequence[Step],
    final: str | None,
    rules: PlanRules,
    inputs: Collection[str],
) -> None:
    """Check that the parts of a plan fit together.

    Args:
        final: The id of the plan's final step, if it names one.
        inputs: The names of the plan's own inputs.

    Raises:
        ValueError: They don't; it names the step.
    """
    if (count := _count(steps)) > rules.max_steps:
        raise ValueError(f"{count} steps are more than the limit of {rules.max_steps}")
    known = None if rules.inputs is None else rules.inputs.union(inputs)
    scope = _Scope(rules, {}, known, has_items=has_items(steps))
    _check_plan(agents, steps, final, scope)


def _count(steps: Iterable[Step]) -> int:
    return sum(1 + (_count(step.plan.steps) if step.plan else 0) for step in steps)


def _check_plan(
    agents: Sequence[Agent], steps: Sequence[Step], final: str | None, scope: _Scope
) -> None:
    names = [agent.name for agent in agents]
    twice = first_repeated(names) or next((name for name in names if name in scope.agents), None)
    if twice:
        raise ValueError(f"agent {twice!r} is created twice")
    if scope.rules.toolsets is not None:
        _check_toolsets(agents, scope.rules.toolsets)
    scope = replace(scope, agents={**scope.agents, **{agent.name: agent for agent in agents}})
    if scope.rules.toolsets is not None:
        _check_workspace(steps, scope, scope.rules.toolsets)
    ids = {step.id for step in steps}
    earlier: dict[str, Step] = {}
    assigned: dict[tuple[str, ...], str] = {}
    for step in steps:
        name = scope.prefix + step.id
        if step.id in earlier:
            raise ValueError(f"step {name} is there twice")
        _check_step(step, name, _Around(earlier, ids, scope))
        if step.prompt:
            asked = asked_by(step)
            if other := assigned.get(asked):
                raise ValueError(f"step {name} gives {step.agent!r} the same prompt as {other}")
            assigned[asked] = name
        earlier[step.id] = step
    if final is not None and final not in ids:
        raise ValueError(f"final_step {scope.prefix}{final} is not a step of the plan")


class _Around(NamedTuple):
    """What stands around a step: the steps before it, the ids of all, what it may name."""

    earlier: Mapping[str, Step]
    ids: Collection[str]
    scope: _Scope


def _check_step(step: Step, name: str, around: _Around) -> None:
    scope = around.scope
    _check_work(step, name, scope)
    for needed in step.depends_on:
        _check_earlier(step, name, "depends on", needed, around)
    if twice := first_repeated(step.depends_on):
        raise ValueError(f"step {name} names its dependency {twice} twice")
    _check_gates(step, name, scope.rules.gates)
    if scope.inputs is not None and (problem := named_problem(step.inputs or (), scope.inputs)):
        raise ValueError(f"step {name} {problem}")
    if step.for_each:
        _check_items(step, step.for_each, name, around)
        _check_value_condition(step.for_each.where, name, "where")
    if step.when:
        _check_when(step.when, name)
        for needed in steps_of(step.when):
            _check_earlier(step, name, "has a condition on", needed, around)
    if step.repeat and isinstance(step.repeat.until, Condition):
        _check_value_condition(step.repeat.until, name, "until")
    earlier, item = around.earlier, scope.item
    if problem := places_problem(step, earlier, item, has_items=scope.has_items):
        raise ValueError(f"step {name} {problem}")
    if step.plan:
        _check_inner(step.plan, name, replace(scope, item=item_place(step, earlier) or item))


def _check_inner(plan: InnerPlan, name: str, scope: _Scope) -> None:
    if scope.depth + 1 >= MAX_DEPTH:
        raise ValueError(f"step {name} has a plan more than {MAX_DEPTH} deep")
    inner = replace(scope, prefix=f"{name}.", depth=scope.depth + 1)
    _check_plan(plan.agents, plan.steps, plan.final_step, inner)
    if (plan.final_step or final_step(plan.steps)) is None:
        raise ValueError(
            f"step {name} has a plan with several ends: final_step has to say which one is its "
            "output"
        )


_OF_AGENTS = ("review", "best_of", "model", "settings")
_OF_OUTPUTS = ("output", "gates", "inputs", "timeout_s")


def _check_work(step: Step, name: str, scope: _Scope) -> None:
    """Check what does the step, and where: an agent, a plan, a procedure, `collect` or a call."""
    _check_pool(step, name, scope)
    _check_calls(step, name, scope)
    _check_procedure(step, name, scope.rules)
    if step.plan or step.procedure or step.collect or step.call:
        _check_without_agent(step, name)
        return
    if step.agent not in scope.agents:
        raise ValueError(f"step {name} is assigned to an unknown agent {step.agent!r}")
    _check_reviewers(step, name, scope.agents)


def _check_pool(step: Step, name: str, scope: _Scope) -> None:
    if step.pool and not (step.plan or step.procedure or step.for_each):
        raise ValueError(
            f"step {name} has the pool {step.pool!r}, but neither a plan nor for_each; only such a "
            "part of a run has a flow run of its own"
        )
    if step.pool and (undone := _with_undo(step)):
        raise ValueError(
            f"step {name} has the pool {step.pool!r} and {undone} has undo; what is done on a pool "
            "can't be undone from here: leave out one of them"
        )
    if step.pool and scope.depth:
        raise ValueError(
            f"step {name} has the pool {step.pool!r} and is inside another step; name the pool in "
            "the outermost one"
        )


def _check_procedure(step: Step, name: str, rules: PlanRules) -> None:
    """Refuse a procedure that there isn't, or a parameter that it doesn't have."""
    own = step.procedure.partition("@")[0]
    if step.parameters and not own:
        raise ValueError(f"step {name} has parameters, but no procedure")
    if step.plan is not None and own == step.procedure and own:
        raise ValueError(
            f"step {name} has the procedure {own!r}, so it can't have a plan of its own"
        )
    if step.plan is not None or not own or rules.procedures is None:
        return
    if (known := rules.procedures.get(own)) is None:
        names = ", ".join(sorted(rules.procedures)) or "none"
        raise ValueError(
            f"step {name} names an unknown procedure {step.procedure!r}; there are {names}"
        )
    if unknown := [each for each in step.parameters if each not in known]:
        names = ", ".join(known) or "none"
        raise ValueError(
            f"step {name} names an unknown parameter {unknown[0]!r} of the procedure {own!r}; it "
            f"has {names}"
        )


def _with_undo(step: Step) -> str:
    """Return the id of a step that has undo, itself or one inside; "" if none has."""
    if step.undo is not None:
        return step.id
    inner = step.plan.steps if step.plan is not None else ()
    return next((f"{step.id}.{found}" for each in inner if (found := _with_undo(each))), "")


def _check_reviewers(step: Step, name: str, agents: Mapping[str, Agent]) -> None:
    """Refuse a reviewer or judge that there isn't, or that works with tools."""
    asked = (
        ("review", step.review.agent if step.review else ""),
        ("best_of", step.best_of.judging_agent if step.best_of else ""),
    )
    for where, agent in asked:
        if agent and agent not in agents:
            known = ", ".join(map(repr, agents))
            raise ValueError(
                f"step {name} names an unknown agent {agent!r} in {where}; there are {known}"
            )
        if agent and agents[agent].tools:
            raise ValueError(
                f"step {name} names {agent!r} in {where}, who works with tools; whoever reviews "
                "or judges only reads: name an agent without tools"
            )


def _check_calls(step: Step, name: str, scope: _Scope) -> None:
    """Refuse calls whose arguments name what isn't there, and an undo of what doesn't act."""
    may_act = step.call is not None or (
        step.agent in scope.agents and bool(scope.agents[step.agent].tools)
    )
    if step.undo and not may_act:
        raise ValueError(f"step {name} has undo, but neither a call nor an agent with tools")
    read = {"call": step.depends_on, "undo": (*step.depends_on, step.id)}
    for field, call in (("call", step.call), ("undo", step.undo)):
        if call is None:
            continue
        if unread := [each for each in outputs_in(call) if each not in read[field]]:
            raise ValueError(
                f"step {name} has {field} with the output of {unread[0]} in its arguments, and "
                "doesn't depend on it"
            )
        if names_item(call) and not (step.for_each or scope.item):
            raise ValueError(f"step {name} has {field} with a value of an item, and has no items")
        _check_toolset_of(call, name, scope.rules.toolsets)


def _check_toolset_of(call: PlannedCall, name: str, known: frozenset[str] | None) -> None:
    if known is not None and call.toolset not in known:
        names = ", ".join(sorted(known)) or "none"
        raise ValueError(
            f"step {name} calls {call.tool} of an unknown toolset {call.toolset!r}; there are "
            f"{names}"
        )


def _check_without_agent(step: Step, name: str) -> None:
    kinds = ("procedure", "plan", "collect", "call")
    what = next(kind for kind in kinds if getattr(step, kind))
    others = {
        **dict.fromkeys(("procedure", "plan"), _OF_OUTPUTS),
        "collect": ("repeat", "for_each"),
        "call": ("repeat", "inputs"),
    }
    inner = (*_OF_AGENTS, *_OF_OUTPUTS)
    for field in ("collect", "call", "agent", "prompt", *_OF_AGENTS, *others[what]):
        value = getattr(step, field)
        if field != what and value and value != Step.model_fields[field].default:
            inside = "; it belongs to a step inside" if what in kinds[:2] and field in inner else ""
            raise ValueError(f"step {name} has {what}, so it can't have {field}{inside}")
    if step.collect and (problem := collected_output_problem(step.collect, step.output)):
        raise ValueError(f"step {name}: {problem}")
    if step.collect and not step.depends_on:
        raise ValueError(f"step {name} collects, but depends on nothing")


def _check_items(step: Step, for_each: ForEach, name: str, around: _Around) -> None:
    items, inputs = for_each.items, around.scope.inputs
    if (source := source_of(step)) is not None:
        _check_earlier(step, name, "has its items from", source, around)
    elif isinstance(items, str) and (
        not items or (inputs is not None and not is_pattern(items) and items not in inputs)
    ):
        has = one_line(", ".join(sorted(inputs or ())), _SHOWN) or "none"
        raise ValueError(
            f"step {name} has its items from {items!r}, which is neither an earlier step nor an "
            f"input; the inputs are: {has}"
        )
    if for_each.at and (what := _without_places(items, inputs)):
        raise ValueError(
            f"step {name} has `at` {for_each.at!r} beside items that are {what}: it points into "
            "JSON that a step made or an input has; leave it out"
        )


def _without_places(items: str | Sequence[object], inputs: Collection[str] | None) -> str:
    """Say what items are that no pointer leads to; "" where there is one that may."""
    if not isinstance(items, str):
        return "a list in the plan"
    is_name = inputs is not None and items in inputs
    return f"the inputs that {items!r} matches" if is_pattern(items) and not is_name else ""


def _check_value_condition(condition: Condition | None, name: str, field: str) -> None:
    if condition and (named := steps_of(condition)):
        raise ValueError(
            f"step {name} has a condition `{field}` on {named[0]}; it is on the value at hand, "
            "without `step`"
        )


def _check_earlier(step: Step, name: str, how: str, needed: str, around: _Around) -> None:
    if needed == step.id:
        raise ValueError(f"step {name} {how} itself")
    if needed not in around.ids:
        raise ValueError(f"step {name} {how} {needed}, which is not a step of the plan")
    if needed not in around.earlier:
        raise ValueError(f"step {name} {how} {needed}, which comes later")


def _check_when(condition: Condition, name: str) -> None:
    if condition.step is None and condition.is_on_value:
        raise ValueError(f"step {name} has a condition `when` that names no step")
    for each in parts_of(condition):
        _check_when(each, name)


def _check_gates(step: Step, name: str, known: frozenset[str] | None) -> None:
    for choice in step.gates or ():
        gate = choice.lstrip("+-").removesuffix("?")
        if known is not None and gate not in known:
            names = ", ".join(sorted(known))
            raise ValueError(f"step {name} names an unknown gate {gate!r}; there are {names}")


def _check_workspace(steps: Iterable[Step], scope: _Scope, known: frozenset[str]) -> None:
    for step in steps:
        if step.output.kind == "patch" and WORKSPACE not in known:
            raise ValueError(
                f"step {scope.prefix}{step.id} makes a patch, and there is no workspace to change: "
                "give --workspace FOLDER"
            )
        if step.pool and _uses_workspace(step, scope.agents):
            raise ValueError(
                f"step {scope.prefix}{step.id} is done on a work pool, and the workspace is where "
                "the run is: leave its pool out"
            )


def _uses_workspace(step: Step, agents: Mapping[str, Agent]) -> bool:
    """Say whether a step, or one inside it, makes a patch or has an agent that reads the files."""
    if step.output.kind == "patch":
        return True
    if step.agent in agents and WORKSPACE in agents[step.agent].tools:
        return True
    if step.plan is None:
        return False
    within = {**agents, **{agent.name: agent for agent in step.plan.agents}}
    return any(_uses_workspace(inner, within) for inner in step.plan.steps)


def _check_toolsets(agents: Iterable[Agent], known: frozenset[str]) -> None:
    for agent in agents:
        for name in set(agent.tools) - known:
            names = ", ".join(sorted(known)) or "none"
            raise ValueError(f"{agent.name!r} names an unknown toolset {name!r}; there are {names}")


def first_repeated(values: Iterable[str]) -> str | None:
    """Return the first value that was there before; None if each is there once."""
    seen: set[str] = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None
