"""The arms go through the whole runtime, and come to the same each time."""

from __future__ import annotations

import pytest
from wide_search.arms import ARMS, Arm, Taken, take
from wide_search.corpus import Corpus
from wide_search.flaws import ORACLE
from wide_search.questions import make_questions
from wide_search.virtual_time import VirtualClock, run_in_virtual_time
from wide_search.world import make_world

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

WORLD = make_world(7)
CORPUS = Corpus(WORLD.pages)
QUESTIONS = {question.id: question for question in make_questions(WORLD, 7)}
BY_NAME = {arm.name: arm for arm in ARMS}


def taken(arm: Arm, question: str) -> Taken:
    clock = VirtualClock()
    return run_in_virtual_time(clock, lambda: take(arm, QUESTIONS[question], CORPUS, ORACLE, clock))


@pytest.mark.parametrize("name", ["one agent with a scratch table", "for each", "turns"])
def test_a_small_table_is_filled_in_the_same_virtual_time_each_time(name: str) -> None:
    first = taken(BY_NAME[name], "narrow-2")
    assert first.score.success == 1
    assert first.seconds > 10
    again = taken(BY_NAME[name], "narrow-2")
    assert again.seconds == pytest.approx(first.seconds, abs=1e-6)
    assert (again.usd, again.requests) == (first.usd, first.requests)


def test_rows_that_are_filled_side_by_side_take_less_time_than_one_after_another() -> None:
    alone, spread = (taken(BY_NAME[name], "deep-1") for name in ("one agent", "for each"))
    assert alone.score.success == spread.score.success == 1
    assert spread.seconds < alone.seconds / 2
