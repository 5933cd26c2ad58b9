"""Have the steps done by swarms, through the flow that users run."""

from __future__ import annotations

from collections.abc import Sequence

from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.swarm import swarm
from prefect_swarm.plan.task_ir import TaskIR, parse_plan
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.result import RunFailedError, SwarmResult
from prefect_swarm.store.step import StepState
from steps import Asked, Kind
from tally import Outcome

__all__ = ["STEPS_A_PLAN", "plan_for", "plans_of", "run_plan", "run_steps"]

STEPS_A_PLAN = 12
"""A plan of a usual size: what a policy allows a run, such as replacing steps, is for that many."""

_AGENTS: dict[Kind, tuple[str, str]] = {
    "python": ("Python Programmer", "You write short, plain, correct Python."),
    "shell": ("Shell Programmer", "You write short, plain, correct shell scripts."),
    "json": ("Data Clerk", "You answer with JSON and nothing else."),
    "text": ("Writer", "You answer exactly what is asked, and nothing else."),
}
_CLOSER = ("Closer", "You say that it is done.")


def plans_of(steps: Sequence[Asked], size: int = STEPS_A_PLAN) -> list[tuple[Asked, ...]]:
    """Deal the steps out to plans of at most `size`, so that each has some of every kind."""
    count = -(-len(steps) // size)
    return [tuple(steps[at::count]) for at in range(count)]


def plan_for(steps: Sequence[Asked]) -> TaskIR:
    """Write a plan of independent steps, S1 for the first and so on, and one more.

    The last one's output is the answer: without it the orchestrator would be asked to join outputs
    that have nothing to do with each other.
    """
    agents = dict(_AGENTS[asked.kind] for asked in steps)
    asked_for = [
        {
            "id": f"S{number}",
            "agent": _AGENTS[asked.kind][0],
            "prompt": asked.prompt,
            "output": asked.output.model_dump(mode="json"),
        }
        for number, asked in enumerate(steps, 1)
    ]
    last = f"S{len(steps) + 1}"
    closing = {"id": last, "agent": _CLOSER[0], "prompt": "Say: done.", "gates": []}
    return parse_plan(
        {
            "objective": "Do some small steps",
            "task_type": "code",
            "agents": [
                {"name": name, "system_prompt": prompt}
                for name, prompt in (*agents.items(), _CLOSER)
            ],
            "steps": [*asked_for, closing],
            "final_step": last,
        }
    )


async def run_steps(
    steps: Sequence[Asked], options: SwarmOptions
) -> tuple[list[Outcome], int, float]:
    """Have one plan's steps done; their outcomes unjudged, all tokens, and seconds of the steps."""
    result = await run_plan(plan_for(steps), options)
    closing = sum(attempt.usage.tokens for attempt in result.steps[-1].attempts)
    outcomes = [
        _outcome(asked, done, result) for asked, done in zip(steps, result.steps, strict=False)
    ]
    return outcomes, result.cost.tokens - closing, result.metrics.makespan_s


async def run_plan(plan: TaskIR, options: SwarmOptions) -> SwarmResult:
    """Run a plan, and take a failed run's result as well."""
    try:
        return await swarm(plan.objective, plan=plan, options=options)
    except RunFailedError as error:
        if error.result is None:
            raise
        return error.result


def _outcome(asked: Asked, done: StepState, result: SwarmResult) -> Outcome:
    accepted = done.status == "succeeded"
    artifact = RunFolder.of(result.flow_run_id).read(f"outputs/{done.id}.txt") if accepted else None
    return Outcome(
        id=asked.id,
        kind=asked.kind,
        accepted=accepted,
        artifact=artifact or "",
        reason=done.reason,
        attempts=len(done.attempts),
        candidates=sum(attempt.samples for attempt in done.attempts),
        tokens=sum(attempt.usage.tokens for attempt in done.attempts),
        tokens_saved=sum(attempt.tokens_saved for attempt in done.attempts),
    )
