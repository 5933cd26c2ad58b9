"""One decision for each failure, by the table, always with an end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.errors import Category
from prefect_swarm.result import Decision
from prefect_swarm.task_ir import TIERS, Tier
from prefect_swarm.tasks.failure_router import RULES, Failure, Policy, route

MANY = Policy(max_attempts=9)


def after(category: Category, *tiers: Tier, policy: Policy = MANY) -> Decision:
    return route([Failure(category, tier, "it broke") for tier in tiers], policy)


@pytest.mark.parametrize(
    ("category", "tiers", "action", "tier"),
    [
        (Category.FORMAT, ("worker",), "RETRY", "worker"),
        (Category.FORMAT, ("worker",) * 3, "FAIL", None),
        (Category.SCHEMA, ("worker",), "RETRY", "worker"),
        (Category.CODE, ("worker",) * 2, "RETRY", "worker"),
        (Category.CODE, ("worker",) * 3, "ESCALATE", "coder"),
        (Category.LOGIC, ("worker",), "RETRY", "worker"),
        (Category.LOGIC, ("worker",) * 2, "ESCALATE", "coder"),
        (Category.TIMEOUT, ("worker",), "ESCALATE", "coder"),
        (Category.TIMEOUT, ("worker", "coder"), "ESCALATE", "architect"),
        (Category.TIMEOUT, ("worker", "coder", "architect"), "FAIL", None),
        (Category.EARLY_ABORT, ("worker",), "ESCALATE", "coder"),
        (Category.INFRASTRUCTURE, ("worker",), "RETRY", "worker"),
        (Category.BUDGET, ("worker",), "FAIL", None),
        (Category.UPSTREAM, ("worker",), "FAIL", None),
        (Category.UNKNOWN, ("worker",) * 2, "ESCALATE", "coder"),
    ],
)
def test_the_table(
    category: Category, tiers: tuple[Tier, ...], action: str, tier: Tier | None
) -> None:
    decision = after(category, *tiers)
    assert (decision.action, decision.tier) == (action, tier)
    assert decision.reason


def test_an_optional_step_is_skipped_where_another_would_fail() -> None:
    assert after(Category.BUDGET, "worker", policy=Policy(optional=True)).action == "SKIP"


def test_the_last_attempt_is_the_last() -> None:
    decision = after(Category.CODE, "worker", policy=Policy(max_attempts=1))
    assert (decision.action, decision.rule) == ("FAIL", "attempts-spent")


def test_a_tier_of_the_same_model_is_no_escalation() -> None:
    alone = Policy(max_attempts=9, ladder=("worker",))
    decision = after(Category.TIMEOUT, "worker", policy=alone)
    assert decision.action == "FAIL"
    assert "no tier above worker" in decision.reason


def test_the_next_attempt_is_told_what_was_wrong() -> None:
    assert after(Category.SCHEMA, "worker").feedback == "it broke"


def test_every_category_has_a_rule() -> None:
    assert set(RULES) == set(Category)


@given(st.lists(st.sampled_from(list(Category)), min_size=20, max_size=20), st.integers(1, 20))
def test_it_always_ends_and_never_climbs_down(categories: list[Category], most: int) -> None:
    history: list[Failure] = []
    tier: Tier | None = "worker"
    for category in categories:
        history.append(Failure(category, tier, "it broke"))
        tier = route(history, Policy(max_attempts=most)).tier
        if tier is None:
            break
    climbed = [TIERS.index(failure.tier) for failure in history]
    assert tier is None
    assert len(history) <= most
    assert climbed == sorted(climbed)
