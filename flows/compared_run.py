"""What is compared of a stored run, as its folder tells it."""

from __future__ import annotations

from ..runs import find_run
from .diff import ComparedRun
from .fork import plan_done

__all__ = ["compared_run"]


def compared_run(name: str) -> ComparedRun:
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
        return ComparedRun(
            run_id=run.run_id, status="unfinished", plan=plan_done(run), steps=run.steps()
        )
    return ComparedRun(
        run_id=run.run_id,
        status=result.status,
        plan=result.plan,
        answer=result.answer,
        steps=result.steps,
        metrics=result.metrics,
        cost=result.cost,
    )
