"""Which steps of a run have a page in the Prefect UI. Pure.

Each page is a request of its own. In a long run they would take as long as the steps.
"""

from __future__ import annotations

from ...result import StepResult

__all__ = ["MOST_STEP_PAGES", "every_step_has_page", "stands_out"]

MOST_STEP_PAGES = 50
"""Pages of steps that a run has at most."""


def every_step_has_page(steps: int) -> bool:
    """Say whether a plan of so many steps has a page of each."""
    return steps <= MOST_STEP_PAGES


def stands_out(step: StepResult, final_step: str | None) -> bool:
    """Say whether a step of a longer plan has a page: others went as planned, at once."""
    return (
        step.status == "failed"
        or len(step.attempts) > 1
        or step.truncated
        or bool(step.change)
        or step.id == final_step
    )
