"""The family of jobs is drawn by seed, within the bounds that its page states."""

from __future__ import annotations

from statistics import fmean

import pytest
from memory_pays.family import (
    DRIFT,
    GOOD_PLANS,
    JOBS,
    KINDS,
    PERSONAS,
    USES,
    KindRates,
    asked_in,
    chance,
    kind_of,
    rates_of,
)

SEEDS = range(1, 8)


def best(rates: KindRates) -> str:
    return max(rates.rates, key=lambda name: rates.rates[name])


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("drifted", [False, True])
def test_personas_and_tiers_differ_by_as_much_as_is_stated(seed: int, drifted: bool) -> None:
    world = rates_of(seed, drifted=drifted)
    assert set(world) == set(KINDS)
    for rates in world.values():
        good = [rate for rate in rates.rates.values() if 0.70 <= rate <= 0.85]
        others = [rate for rate in rates.rates.values() if 0.40 <= rate <= 0.60]
        assert len(good) in (1, 2)
        assert len(good) + len(others) == len(PERSONAS)
        assert rates.bonus["worker"] == 0
        assert 0.10 <= rates.bonus["coder"] <= 0.18
        assert 0.10 <= rates.bonus["architect"] - rates.bonus["coder"] <= 0.18
        assert 4 <= rates.seconds <= 40
    assert sum(bool(rates.form) for rates in world.values()) == 3
    assert sum(rates.stubborn for rates in world.values()) == 3


@pytest.mark.parametrize("seed", SEEDS)
def test_three_kinds_have_another_best_persona_after_the_drift(seed: int) -> None:
    before, after = rates_of(seed), rates_of(seed, drifted=True)
    moved = [kind for kind in KINDS if before[kind].rates != after[kind].rates]
    assert len(moved) == 3
    assert all(best(before[kind]) != best(after[kind]) for kind in moved)
    assert {kind: rates.form for kind, rates in before.items()} == {
        kind: rates.form for kind, rates in after.items()
    }


def test_a_seed_is_one_world_and_another_seed_another() -> None:
    assert rates_of(1) == rates_of(1)
    assert rates_of(1) != rates_of(2)
    assert asked_in(1, 5) == asked_in(1, 5)
    assert asked_in(1, 5) != asked_in(1, 6)


def test_who_has_failed_fails_again_more_often_on_a_stubborn_kind_alone() -> None:
    for rates in rates_of(1).values():
        first = rates.rate("Ledger Clerk", "coder")
        again = rates.rate("Ledger Clerk", "coder", failed_here=True)
        assert again == pytest.approx(first / 2 if rates.stubborn else first)
        assert first <= 0.97


def test_every_job_needs_less_than_a_chain_and_ends_in_one_statement() -> None:
    for job in JOBS:
        assert 6 <= len(job.parts) <= 8
        assert len(job.parts) == len(job.needs) == len(set(job.parts))
        assert all(needed < number for number, needs in enumerate(job.needs) for needed in needs)
        assert job.parts[-1] == "statement"
        assert job.needs[-1] == tuple(range(len(job.parts) - 1))


def test_the_planner_draws_whom_it_takes_and_sometimes_sees_what_is_needed() -> None:
    uses = [asked_in(seed, number) for seed in SEEDS for number in range(1, USES + 1)]
    assert {name for asked in uses for name in asked.agents} == set(PERSONAS)
    assert {asked.job.objective for asked in uses} == {job.objective for job in JOBS}
    assert fmean(asked.is_good for asked in uses) == pytest.approx(GOOD_PLANS, abs=0.06)
    assert 0 < DRIFT < USES


def test_a_prompt_tells_its_kind_whatever_is_quoted_behind_it() -> None:
    for asked in (asked_in(3, number) for number in range(1, 20)):
        for kind, prompt in zip(asked.job.parts, asked.prompts, strict=True):
            other = asked.prompts[0]
            assert kind_of(f"Result of S1: 5\n\n{prompt}\n\n“{other}”") == kind
    assert kind_of("Say hello.") == ""


def test_chance_is_even_and_the_same_for_the_same_key() -> None:
    drawn = [chance("total", seed, number) for seed in range(20) for number in range(50)]
    assert fmean(drawn) == pytest.approx(0.5, abs=0.03)
    assert all(0 <= value < 1 for value in drawn)
    assert chance("total", 1, 2) == chance("total", 1, 2)
    assert chance("total", 1, 2) != chance("form", 1, 2)
