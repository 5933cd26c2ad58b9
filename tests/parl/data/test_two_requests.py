"""Two requests in one message: one plan beside the other."""

from __future__ import annotations

from dataclasses import replace

import pytest
from prefect_swarm.parl.data.expand import Expansion, MisfitError, draw, seeded_random
from prefect_swarm.parl.data.generate import combine_requests

from .conftest import ReadPattern

LANES = """
with k = 2 pets
ask Draw {k} on 2 sheets
step a[k] = Painter: Draw {k} on 2 sheets
step j = Judge: Choose among 2 drawings < a
"""
CHAIN = """
with t = towns
ask Map {t.name}, then mark its 3 gates.
step a = Mapper: Map {t.name}
step b = Mapper: Mark the 3 gates of {t.name} < a
"""


@pytest.fixture
def lanes(pattern: ReadPattern) -> Expansion:
    return draw(pattern(LANES), seeded_random(0))


@pytest.fixture
def chain(pattern: ReadPattern) -> Expansion:
    return draw(pattern(CHAIN), seeded_random(0))


def test_the_second_plan_goes_on_where_the_first_ends(lanes: Expansion, chain: Expansion) -> None:
    found = combine_requests(lanes, chain, seeded_random(0))
    assert found.needs == ((), (), (0, 1), (), (3,))
    own, rest = found.plan.splitlines()[:3], found.plan.splitlines()[3:]
    assert own == lanes.plan.splitlines()
    town = chain.objective.slots[0].text
    assert rest == [
        f"4. Mapper: Map {town}",
        f"5. Mapper: Mark the 3 gates of {town} (needs 4)",
    ]


def test_both_are_asked_for_in_their_own_words(lanes: Expansion, chain: Expansion) -> None:
    for seed in range(40):
        objective = combine_requests(lanes, chain, seeded_random(seed)).objective.plain_text()
        assert lanes.objective.plain_text() in objective
        assert chain.objective.plain_text() in objective.split(lanes.objective.plain_text())[1]


def test_a_request_without_an_end_gets_one_before_the_next(
    lanes: Expansion, chain: Expansion
) -> None:
    for seed in range(40):
        after = combine_requests(lanes, chain, seeded_random(seed)).objective.plain_text()
        after = after.split(lanes.objective.plain_text())[1]
        assert after.startswith((".", "\n"))


def test_what_has_lines_is_told_on_lines_of_its_own(lanes: Expansion, chain: Expansion) -> None:
    listed = replace(lanes, objective=replace(lanes.objective, text="Draw:\n- a pet\n- a pet"))
    for seed in range(40):
        objective = combine_requests(chain, listed, seeded_random(seed)).objective.plain_text()
        assert "\nDraw:\n- a pet\n- a pet" in objective


def test_together_they_may_be_too_many_steps(pattern: ReadPattern, chain: Expansion) -> None:
    many = draw(
        pattern("with k = 7 count\nask Do {k}\nstep a[k] = Worker: Do {k}"), seeded_random(0)
    )
    with pytest.raises(MisfitError, match="9 steps are more than 8"):
        combine_requests(many, chain, seeded_random(0))


def test_the_same_asked_twice_does_not_fit(chain: Expansion) -> None:
    with pytest.raises(MisfitError, match="ask one agent the same"):
        combine_requests(chain, chain, seeded_random(0))
