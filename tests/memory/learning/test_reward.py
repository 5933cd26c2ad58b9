"""The reward of an attempt."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.errors import Category
from prefect_swarm.memory.episode import GateOutcome
from prefect_swarm.memory.learning.reward import (
    SILENT,
    LearningConfig,
    outcome_of,
    reward_of,
    shape_reward,
)
from pydantic import ValidationError


def gates(*statuses: str) -> list[GateOutcome]:
    return [
        GateOutcome.model_validate({"gate": f"g{number}", "status": status})
        for number, status in enumerate(statuses)
    ]


@pytest.mark.parametrize(
    ("succeeded", "category", "statuses", "escalations", "value"),
    [
        (True, None, (), 0, 1.0),
        (True, None, ("passed", "failed"), 0, 0.9),
        (True, None, ("passed",), 2, 0.7),
        (False, Category.LOGIC, ("passed", "passed", "failed"), 0, 0.2),
        (False, Category.LOGIC, ("passed", "failed"), 0, -0.6),
        (False, Category.CODE, (), 1, -0.65),
        (False, Category.CODE, ("skipped", "error", "failed", "failed"), 0, -0.7),
    ],
)
def test_an_attempt_is_worth_its_outcome_less_failed_gates_and_escalations(
    succeeded: bool,
    category: Category | None,
    statuses: tuple[str, ...],
    escalations: int,
    value: float,
) -> None:
    reward = reward_of(succeeded, category, gates(*statuses), escalations=escalations)
    assert reward.value == pytest.approx(value)


@pytest.mark.parametrize("category", sorted(SILENT))
def test_what_is_nobodys_fault_is_worth_nothing(category: Category) -> None:
    assert reward_of(False, category, gates("failed"), escalations=1) == (0.0, {})
    assert outcome_of(False, category) == "nothing"


STATUSES = st.lists(st.sampled_from(["passed", "failed", "skipped", "error"]), max_size=8)


@given(
    st.booleans(),
    st.sampled_from([None, *Category]),
    STATUSES,
    st.integers(0, 2),
)
def test_a_reward_is_the_sum_of_its_terms(
    succeeded: bool, category: Category | None, statuses: list[str], escalations: int
) -> None:
    reward = reward_of(succeeded, category, gates(*statuses), escalations=escalations)
    assert reward.value == math.fsum(reward.terms.values())


@given(st.booleans(), STATUSES, st.integers(0, 2))
def test_one_more_failed_gate_or_escalation_is_never_worth_more(
    succeeded: bool, statuses: list[str], escalations: int
) -> None:
    category = None if succeeded else Category.CODE
    before = reward_of(succeeded, category, gates(*statuses), escalations=escalations).value
    worse = gates(*statuses, "failed")
    assert reward_of(succeeded, category, worse, escalations=escalations).value < before
    higher = reward_of(succeeded, category, gates(*statuses), escalations=escalations + 1)
    assert higher.value < before


@given(st.floats(-1, 1), st.integers(0, 100), st.integers(50, 10_000))
def test_shaping_is_gone_after_fifty_steps(reward: float, tried: int, step: int) -> None:
    assert shape_reward(reward, tried, step) == reward


def test_shaping_favours_what_was_seldom_tried() -> None:
    assert shape_reward(0.5, 0, 0) == pytest.approx(0.3 + 0.7 * 0.5)
    assert shape_reward(0.5, 3, 25) == pytest.approx(0.15 / 2 + 0.85 * 0.5)


@pytest.mark.parametrize(
    "changes",
    [
        {"prices": {"worker": 1.0}},
        {"prices": {"worker": 0.0, "coder": 1.0, "architect": 2.0}},
        {"failure": 2.0},
        {"alpha": 0.0},
        {"half_life": float("nan")},
        {"unknown": 1},
    ],
)
def test_figures_that_make_no_sense_are_refused(changes: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        LearningConfig.model_validate(changes)
