"""A plan agrees with the wanted one as far as its steps, edges and words do."""

from __future__ import annotations

import pytest
from prefect_swarm.parl.agreement import agreement
from prefect_swarm.plan.task_ir import TaskIR
from prefect_swarm.tasks.planner.line_format import read_lines

WANTED = """\
1. Tea Expert: Describe tea for the morning
2. Coffee Expert: Describe coffee for the morning
3. Judge: Compare tea and coffee for the morning (needs 1, 2)"""


def plan(lines: str) -> TaskIR:
    return read_lines(lines, "Compare tea and coffee for the morning")


def test_a_plan_agrees_with_itself() -> None:
    found = agreement(plan(WANTED), plan(WANTED))
    assert (
        found.exact,
        found.matched_edges,
        found.plan_edges,
        found.wanted_edges,
        found.faithful,
    ) == (
        True,
        2,
        2,
        2,
        1,
    )


def test_neither_the_order_of_lanes_nor_names_matter() -> None:
    other = """\
1. Barista: Describe coffee for the morning
2. Poet: Describe tea for the morning
3. Critic: Compare tea and coffee for the morning (needs 1, 2)"""
    assert agreement(plan(other), plan(WANTED)).exact


@pytest.mark.parametrize(
    ("lines", "matched_edges", "plan_edges"),
    [
        # An edge is missing, one is too many, a step is missing, a step is too many.
        (WANTED.replace("(needs 1, 2)", "(needs 1)"), 1, 1),
        (WANTED.replace("coffee for the morning\n", "coffee for the morning (needs 1)\n"), 2, 3),
        ("1. A: Describe tea for the morning\n2. B: Compare tea and coffee (needs 1)", 1, 1),
        (WANTED + "\n4. Poet: Write an ode to tea (needs 3)", 2, 3),
    ],
)
def test_another_graph_is_not_exact(lines: str, matched_edges: int, plan_edges: int) -> None:
    found = agreement(plan(lines), plan(WANTED))
    assert not found.exact
    assert (found.matched_edges, found.plan_edges, found.wanted_edges) == (
        matched_edges,
        plan_edges,
        2,
    )


def test_the_right_graph_about_something_else_is_not_exact() -> None:
    other = "1. A: Sing a song\n2. B: Dance a dance\n3. C: Judge the performance (needs 1, 2)"
    found = agreement(plan(other), plan(WANTED))
    assert not found.exact
    assert found.faithful == 0


def test_no_plan_agrees_with_nothing() -> None:
    found = agreement(None, plan(WANTED))
    assert (found.readable, found.exact, found.wanted_edges, found.faithful) == (
        False,
        False,
        2,
        0.0,
    )
