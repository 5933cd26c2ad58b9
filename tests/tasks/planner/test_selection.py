"""The best of several plans: by its score, and by how many have its graph."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.tasks.planner.line_format import read_lines
from prefect_swarm.tasks.planner.plan_score import (
    PlanCandidate,
    describe_selection,
    graph,
    score,
    select_plan,
)

OBJECTIVE = "Describe tea, describe coffee and say which is better"
PARALLEL = "1. Expert: Describe tea\n2. Expert: Describe coffee"
JOINED = f"{PARALLEL}\n3. Judge: Say which is better, tea or coffee (needs 1, 2)"
CHAIN = f"{PARALLEL} (needs 1)\n3. Judge: Say which is better (needs 2)"
UNREADABLE = PlanCandidate("No plan", error="no steps")


def _written(text: str) -> PlanCandidate:
    plan = read_lines(text, OBJECTIVE)
    return PlanCandidate(text, plan, score(plan, OBJECTIVE))


def _taken(candidates: Sequence[PlanCandidate], agreed: float) -> tuple[str, int]:
    choice = select_plan(candidates, agreed)
    assert choice is not None
    return next(each.text for each in candidates if each.plan is choice.plan), choice.alike


def test_the_best_score_is_taken_where_agreement_counts_for_nothing() -> None:
    assert _taken([_written(text) for text in (PARALLEL, PARALLEL, JOINED)], 0.0) == (JOINED, 1)


def test_of_plans_that_score_about_alike_the_graph_that_most_have_is_taken() -> None:
    plans = [_written(text) for text in (JOINED, CHAIN, CHAIN)]
    assert _taken(plans, 0.0) == (JOINED, 1)
    assert _taken(plans, 0.5) == (CHAIN, 2)


def test_a_much_better_score_outweighs_agreement() -> None:
    plans = [_written(text) for text in (PARALLEL, PARALLEL, JOINED)]
    assert _taken(plans, 0.5) == (JOINED, 1)


def test_of_plans_worth_the_same_the_one_with_fewer_steps_is_taken() -> None:
    longer = f"{JOINED}\n4. Editor: Say tea or coffee (needs 3)"
    for texts in ((JOINED, longer), (longer, JOINED)):
        assert _taken([_written(text) for text in texts], 0.5) == (JOINED, 1)


def test_what_cannot_be_read_agrees_with_nothing() -> None:
    assert _taken([UNREADABLE, UNREADABLE, _written(PARALLEL)], 1.0) == (PARALLEL, 1)
    assert select_plan([UNREADABLE]) is None


def test_what_a_plan_was_selected_from_is_described_in_a_line() -> None:
    assert describe_selection([_written(JOINED)], 1) == "first plan"
    assert (
        describe_selection([_written(JOINED), UNREADABLE], 1)
        == "best of 1.00, unreadable; 1 of 2 have its graph"
    )


def test_a_graph_is_needs_without_words() -> None:
    assert graph(read_lines(JOINED, OBJECTIVE)) == ((), (), ("S1", "S2"))


@given(st.lists(st.sampled_from([PARALLEL, JOINED, CHAIN]), min_size=1, max_size=8))
def test_with_agreement_no_plan_wins_that_is_lower_and_rarer(
    texts: list[str],
) -> None:
    text, alike = _taken([_written(text) for text in texts], 0.5)
    assert alike == texts.count(text)
    for other in texts:
        better = score(read_lines(other, OBJECTIVE), OBJECTIVE).value
        mine = score(read_lines(text, OBJECTIVE), OBJECTIVE).value
        assert mine >= better or alike > texts.count(other)


@pytest.mark.parametrize("agreed", [0.0, 0.5])
def test_a_plan_alone_is_taken(agreed: float) -> None:
    assert _taken([_written(PARALLEL)], agreed) == (PARALLEL, 1)
