"""The steps of a long run that have a page."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.flows.prefect_io.pages import PageStore, every_step_has_page, stands_out
from prefect_swarm.plan.ids import IdLevel
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


LEVELS = st.builds(
    IdLevel,
    st.integers(1, 40).map(lambda number: f"S{number}"),
    st.lists(st.integers(1, 40), max_size=3).map(tuple),
    st.integers(0, 40),
)
IDS = st.lists(LEVELS, min_size=1, max_size=3).map(lambda levels: ".".join(map(str, levels)))


@given(st.sets(IDS, min_size=2, max_size=2))
def test_pages_of_two_steps_have_two_keys(steps: set[str]) -> None:
    store = PageStore(UUID(int=0), "0123abcd4567")
    assert len({store.key(step) for step in steps}) == 2


@pytest.mark.parametrize(
    ("step", "key"),
    [("answer", "answer"), ("S12", "s12"), ("S2[7]r3.S1", "s2-7-r3-s1"), ("S2[7.3]", "s2-7-3")],
)
def test_a_page_has_a_key_that_says_what_it_is_of(step: str, key: str) -> None:
    store = PageStore(UUID(int=0), "0123abcd4567")
    assert store.key(step) == f"swarm-{key}-0123abcd4567"
