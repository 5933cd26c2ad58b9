"""The steps of a long run that have a page."""

from __future__ import annotations

from typing import Any

import pytest
from prefect_swarm.flows.prefect_io.pages import every_step_has_page, stands_out
from prefect_swarm.store.attempt import Attempt
from prefect_swarm.store.step import StepState

DONE = StepState(id="S1", agent="A", prompt="x", status="succeeded")
ATTEMPT = Attempt.model_construct()


def test_each_step_of_a_short_plan_has_a_page() -> None:
    assert every_step_has_page(50)
    assert not every_step_has_page(51)


@pytest.mark.parametrize(
    "change",
    [
        {"status": "failed"},
        {"attempts": (ATTEMPT, ATTEMPT)},
        {"truncated": True},
        {"change": "replaced"},
    ],
    ids=str,
)
def test_what_did_not_go_as_planned_stands_out(change: dict[str, Any]) -> None:
    assert stands_out(DONE.model_copy(update=change), None)


def test_the_final_step_stands_out() -> None:
    assert stands_out(DONE, "S1")


@pytest.mark.parametrize("change", [{}, {"status": "skipped"}, {"attempts": (ATTEMPT,)}], ids=str)
def test_other_steps_do_not(change: dict[str, Any]) -> None:
    assert not stands_out(DONE.model_copy(update=change), "S2")
