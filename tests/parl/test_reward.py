"""The reward of a plan against the wanted one."""

from __future__ import annotations

import pytest
from prefect_swarm.parl.agreement import GRAPH_REWARD, reward
from prefect_swarm.tasks.planner.line_format import read_lines

OBJECTIVE = "Describe iron and gold for a child, then write a song from both"
LINES = """\
1. Iron Expert: Describe iron for a child
2. Gold Expert: Describe gold for a child
3. Songwriter: Write a song from iron and gold (needs 1, 2)"""
WANTED = read_lines(LINES, OBJECTIVE)


def worth(lines: str) -> float:
    return reward(lines, OBJECTIVE, WANTED)


def test_the_wanted_plan_is_worth_all() -> None:
    assert worth(LINES) == pytest.approx(1)


def test_other_agents_and_another_order_are_worth_as_much() -> None:
    other = """\
1. Chemist: Describe gold for a child
2. Chemist: Describe iron for a child
3. Bard: Write a song from iron and gold (needs 1, 2)"""
    assert worth(other) == pytest.approx(1)


@pytest.mark.parametrize(
    "lines",
    [
        LINES + "\n4. Poet: Sing (needs 1)",
        "1. Poet: Describe iron\n2. Poet: Write a song from iron (needs 1)",
    ],
)
def test_another_graph_is_never_worth_more_than_the_wanted_one(lines: str) -> None:
    assert 0 < worth(lines) <= GRAPH_REWARD


def test_a_word_that_is_lost_costs() -> None:
    assert GRAPH_REWARD < worth(LINES.replace("iron for a child", "iron")) < 0.8


def test_words_that_belong_elsewhere_cost() -> None:
    assert GRAPH_REWARD < worth(LINES.replace("iron for", "iron, then write a song, for")) < 1


@pytest.mark.parametrize("lines", ["", "iron, gold", "1. Poet:"])
def test_what_cannot_be_read_is_worth_nothing(lines: str) -> None:
    assert worth(lines) == 0


def test_what_mending_puts_right_is_right() -> None:
    objective = "Name three rivers of Peru"
    wanted = read_lines("1. Geographer: Name three rivers of Peru", objective)
    assert reward("1. Geographer: Name rivers", objective, wanted) == pytest.approx(1)
