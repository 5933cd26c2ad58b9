"""The orchestrator's turns: what one decides, and the plan that follows from it. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ..data_types import Frozen
from ..errors import PlanError
from .ids import sort_key
from .step import Agent, Step, StepId, asked_by, final_step, needed_for, needs_of
from .task_ir import PlanRules, TaskIR, parse_plan

__all__ = ["GivenUp", "TurnReply", "ended_by", "extend_plan", "next_number"]


class GivenUp(Frozen):
    """A step that the orchestrator does without: `cancel_task`."""

    step: StepId
    why: str = ""


class TurnReply(Frozen):
    """What the orchestrator decides in a turn: `create_subagent`, `assign_task` and so on.

    Attributes:
        agents: Those that it adds.
        steps: Those that it adds; their numbers go on after the plan's last one.
        given_up: Steps that are not to be done any more.
        look_after: Ids of the steps after whose end it wants its next turn; none for all.
        answer: The answer, with which the run ends; None where it doesn't write one.
        final_step: The step whose output is the answer, with which the run ends.
    """

    agents: tuple[Agent, ...] = ()
    steps: tuple[Step, ...] = ()
    given_up: tuple[GivenUp, ...] = ()
    look_after: tuple[StepId, ...] = ()
    answer: str | None = None
    final_step: StepId | None = None

    @property
    def is_last(self) -> bool:
        """Whether the run ends with it."""
        return self.answer is not None or self.final_step is not None


def next_number(steps: Sequence[Step]) -> int:
    """Return the number of the first step that a turn adds."""
    return max((int(step.id[1:]) for step in steps), default=0) + 1


def ended_by(reply: TurnReply, steps: Sequence[Step]) -> frozenset[str]:
    """Return the ids of the steps that a turn ends, if they aren't over.

    They are those that it gives up. Where it finishes, they are all but the step that is the
    answer, with what that needs.
    """
    given_up = frozenset(each.step for each in reply.given_up)
    if not reply.is_last:
        return given_up
    kept = needed_for(steps, reply.final_step) if reply.final_step else frozenset[str]()
    return given_up | (frozenset(step.id for step in steps) - kept)


def extend_plan(
    plan: TaskIR, reply: TurnReply, rules: PlanRules, without_output: Collection[str] = ()
) -> TaskIR:
    """Return a plan with what a turn adds to it.

    Args:
        plan: The plan so far.
        reply: What the turn decides.
        rules: The limits that the whole plan has to keep.
        without_output: Ids of the steps that are over and have no output: none can be added that
            needs one of them.

    Raises:
        PlanError: The turn breaks a rule.
    """
    known = {step.id for step in plan.steps}
    _check(plan, reply, known, without_output)
    if not (reply.steps or reply.agents or reply.final_step):
        return plan
    data = plan.model_dump(mode="json", by_alias=True)
    added = [step.model_dump(mode="json", by_alias=True) for step in reply.steps]
    data["steps"] = [*data["steps"], *added]
    agents = [agent.model_dump(mode="json") for agent in _new_agents(plan, reply)]
    data["agents"] = [*data["agents"], *agents]
    data["final_step"] = reply.final_step
    extended = parse_plan(data, rules)
    last = reply.final_step or final_step(extended.steps)
    return extended.model_copy(update={"final_step": last})


def _check(
    plan: TaskIR, reply: TurnReply, known: Collection[str], without_output: Collection[str]
) -> None:
    done = {asked_by(step): step.id for step in plan.steps if step.prompt}
    for step in reply.steps:
        if before := done.get(asked_by(step)):
            raise PlanError(
                f"The turn breaks a rule: step {step.id} asks {step.agent} for what {before} does.",
                f"Use the output of {before}, or ask for something else.",
            )
        for name in needs_of(step):
            if name in without_output:
                raise PlanError(
                    f"The turn breaks a rule: step {step.id} needs {name}, which has no output.",
                    "Assign it anew, or leave it out.",
                )
    all_known = {*known, *(step.id for step in reply.steps)}
    named = [(each.step, known) for each in reply.given_up]
    named += [(name, known) for name in filter(None, [reply.final_step])]
    named += [(name, all_known) for name in reply.look_after]
    for name, there in named:
        if name not in there:
            raise PlanError(
                f"The turn breaks a rule: it names {name}, which isn't in the plan.",
                f"The plan has {', '.join(sorted(there, key=sort_key))}.",
            )
    if reply.final_step in without_output:
        raise PlanError(
            f"The turn breaks a rule: {reply.final_step} has no output to answer with.",
            "Write the answer, or name another step.",
        )


def _new_agents(plan: TaskIR, reply: TurnReply) -> list[Agent]:
    """Return the agents that a turn adds; one that is as it was before is the same one."""
    known = {agent.name: agent for agent in plan.agents}
    return [agent for agent in reply.agents if known.get(agent.name) != agent]
