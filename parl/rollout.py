"""An executed rollout: a plan driven by the run's own schedule in virtual time. Pure.

The plan is read, repaired, compiled and scheduled as in a run. What a step comes to says a frozen
subagent: a function that doesn't change while the planner learns. Nothing waits: the schedule is
given each step's end in the order of virtual time.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from ..errors import PlanError
from ..metrics.parl import parl_figures, turns_of_run
from ..plan.compile import CompiledPlan, CompiledStep, compile_plan
from ..plan.schedule import ConcurrencyLimits, Schedule
from ..plan.schedule_events import (
    AttemptFinished,
    Command,
    Finish,
    Launch,
    PlanExtended,
    RunStatus,
    StepStatus,
)
from ..plan.task_ir import TaskIR
from ..store.attempt import Attempt, Usage
from ..store.step import StepState
from ..tasks.planner.line_format import read_lines, repair_plan
from .agreement import reward

__all__ = [
    "UNREAD",
    "Execution",
    "Rollout",
    "StepWork",
    "Subagent",
    "advantages_of",
    "agreed_rollout",
    "auxiliary_weight",
    "execute",
    "read_plan",
    "reward_of",
    "rollout_of",
]


@dataclass(frozen=True, slots=True)
class StepWork:
    """What a frozen subagent makes of a step.

    Attributes:
        output: None where it doesn't complete the step.
        requests: Those that it takes.
        seconds: Virtual ones, for all of them and for calls of tools.
    """

    output: str | None
    requests: int = 1
    seconds: float = 1.0


Subagent = Callable[[str, Sequence[str]], StepWork]
"""From a step's prompt, and the outputs of the steps that it needs, in their order."""


@dataclass(frozen=True, slots=True)
class Execution:
    """A plan that was driven to its end.

    Attributes:
        outputs: Of the steps that succeeded, by id.
        last: The outputs that the answer is made of.
        statuses: How each step ended.
        needs: Ids of the steps that each of them needed.
        requests: Of each step, by id.
        makespan_s: Virtual seconds from the first step's start to the last one's end.
        width: The most steps that ran at once.
    """

    status: RunStatus
    outputs: Mapping[str, str]
    last: tuple[str, ...]
    statuses: Mapping[str, StepStatus]
    needs: Mapping[str, tuple[str, ...]]
    requests: Mapping[str, int]
    makespan_s: float
    width: int


@dataclass(frozen=True, slots=True)
class Rollout:
    """What an executed plan is by the terms of PARL's reward.

    Attributes:
        r_perf: What its outcome is worth, 0..1.
        r_parallel, r_finish: As `ParlFigures` has them.
        critical_steps: As published, the plan's and the answer's request included.
        width: The most steps that ran at once.
        steps: Those of the plan.
        requests: Those of the subagents.
        seconds: Its makespan, virtual.
    """

    r_perf: float
    r_parallel: float = 0.0
    r_finish: float = 0.0
    critical_steps: int = 0
    width: int = 0
    steps: int = 0
    requests: int = 0
    seconds: float = 0.0


UNREAD = Rollout(0.0)
"""A text that is no plan is worth nothing, and nothing of it is run."""


def read_plan(text: str, objective: str) -> TaskIR | None:
    """Read and repair numbered lines as a run does; None if they are no plan."""
    try:
        return repair_plan(read_lines(text, objective)).plan
    except PlanError:
        return None


def execute(plan: TaskIR, subagent: Subagent, slots: int) -> Execution:
    """Drive a plan by the schedule of a run, with so many slots.

    An attempt that doesn't complete its step ends it: nothing is tried a second time.
    """
    compiled = compile_plan(plan)
    steps = {step.id: step for step in compiled.steps}
    schedule = Schedule(ConcurrencyLimits(slots))
    running: list[tuple[float, int, str]] = []
    outputs: dict[str, str] = {}
    requests = dict.fromkeys(steps, 0)
    now, width, launched = 0.0, 0, 0
    commands: list[Command] = schedule.advance(PlanExtended(compiled.steps))
    done: dict[str, StepWork] = {}
    while not (ended := [each for each in commands if isinstance(each, Finish)]):
        for command in commands:
            if isinstance(command, Launch):
                name, launched = command.step, launched + 1
                read = [outputs[each] for each in steps[name].upstream if each in outputs]
                done[name] = work = subagent(steps[name].prompt, read)
                requests[name] += work.requests
                heapq.heappush(running, (now + work.seconds, launched, name))
        width = max(width, len(running))
        now, _, name = heapq.heappop(running)
        if (output := done[name].output) is not None:
            outputs[name] = output
        outcome = "failed" if output is None else "succeeded"
        commands = schedule.advance(AttemptFinished(name, outcome))
    return Execution(
        status=ended[0].status,
        outputs=outputs,
        last=_last(compiled, outputs),
        statuses=schedule.statuses,
        needs={name: step.needs for name, step in steps.items()},
        requests=requests,
        makespan_s=now,
        width=width,
    )


def _last(plan: CompiledPlan, outputs: Mapping[str, str]) -> tuple[str, ...]:
    """Return the outputs that no succeeded step reads, or the final step's."""
    if plan.final_step is not None and plan.final_step in outputs:
        return (outputs[plan.final_step],)
    read = {name for step in plan.steps if step.id in outputs for name in step.upstream}
    return tuple(outputs[step.id] for step in plan.steps if step.id in outputs.keys() - read)


def rollout_of(plan: TaskIR, execution: Execution, worth: float) -> Rollout:
    """Return the terms of an executed plan.

    Args:
        worth: r_perf: what the outcome is worth, 0..1.
    """
    states = [
        _state(step, execution.statuses[step.id], execution.requests[step.id])
        for step in compile_plan(plan).steps
    ]
    turns = turns_of_run(1, int(len(execution.last) > 1))
    figures = parl_figures(states, execution.needs, turns, execution.status)
    return Rollout(
        r_perf=worth,
        r_parallel=figures.r_parallel,
        r_finish=figures.r_finish,
        critical_steps=figures.critical_steps,
        width=execution.width,
        steps=len(states),
        requests=sum(execution.requests.values()),
        seconds=execution.makespan_s,
    )


def _state(step: CompiledStep, status: StepStatus, requests: int) -> StepState:
    attempt = Attempt(
        number=1,
        tier=step.tier,
        model="frozen",
        started_at=0.0,
        ended_at=0.0,
        usage=Usage(requests=requests),
    )
    state = StepState(id=step.id, agent=step.agent, status="unfinished")
    state.attempts = (attempt,) if requests else ()
    state.set_status(status)
    return state


def _one_request(prompt: str, _: Sequence[str]) -> StepWork:
    return StepWork(prompt)


def agreed_rollout(text: str, objective: str, wanted: TaskIR, slots: int = 16) -> Rollout:
    """Execute a plan whose worth is its agreement with the wanted one.

    Its subagents complete each step with one request of one second.
    """
    if (plan := read_plan(text, objective)) is None:
        return UNREAD
    return rollout_of(plan, execute(plan, _one_request, slots), reward(text, objective, wanted))


def auxiliary_weight(first: float, share: float, until: float | None) -> float:
    """Return λ: it falls from `first` in a straight line, as the run goes on, to 0.

    Args:
        share: How much of the run is done, 0..1.
        until: The share at which it is 0, above 0; None keeps it as it is.
    """
    return first if until is None else first * max(0.0, 1.0 - share / until)


def reward_of(rollout: Rollout, parallel: float, finish: float) -> float:
    """Return λ1·r_parallel + λ2·r_finish + r_perf (arXiv:2602.02276)."""
    return parallel * rollout.r_parallel + finish * rollout.r_finish + rollout.r_perf


def advantages_of(rewards: Sequence[float]) -> list[float]:
    """Return how much better each of the K rollouts of a prompt is than their mean."""
    mean = fmean(rewards) if rewards else 0.0
    return [each - mean for each in rewards]
