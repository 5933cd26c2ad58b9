"""The choice of a step's persona and first tier."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.errors import Category
from prefect_swarm.memory.episode import EpisodeKey, LogEntry
from prefect_swarm.memory.learning.beliefs import Tally
from prefect_swarm.memory.learning.choice import (
    Suggestion,
    choose_persona,
    choose_tier,
    expected_cost,
    step_rng,
)
from prefect_swarm.memory.learning.evidence import (
    Evidence,
    Posterior,
    evidence_of,
    find_change,
    posterior,
    probability_better,
    weigh,
)
from prefect_swarm.memory.learning.reward import LearningConfig
from prefect_swarm.plan.task_ir import TIERS, Tier
from remembered import episode


def attempts(
    name: str, outcomes: str, similarity: float = 0.8, tier: Tier = "worker", since: int = 0
) -> list[Evidence]:
    """Attempts of a persona: `+` succeeded, `-` failed, oldest first."""
    return [
        Evidence(
            EpisodeKey(name, f"S{at}", 1), since + at, similarity, name, tier, float(outcome == "+")
        )
        for at, outcome in enumerate(outcomes)
    ]


def choose(evidence: list[Evidence], *, step: str = "S1", explore: bool = True) -> Suggestion:
    return choose_persona(
        ["Planned", "Other", "Third"], evidence, 0.5, step_rng("run", step), explore=explore
    )


def test_with_nothing_similar_the_rules_decide() -> None:
    found = choose([])
    assert (found.picked, found.by, found.rate) == ("Planned", "rules", None)


def test_below_three_samples_the_rules_decide() -> None:
    assert choose(attempts("Other", "++")).by == "rules"


def test_who_did_better_on_similar_steps_is_taken_and_it_says_why() -> None:
    found = choose(attempts("Other", "+++++++-+") + attempts("Planned", "-+---", since=20))
    assert (found.picked, found.by, found.explored) == ("Other", "memory", False)
    assert found.why.startswith("87 % over 9 similar steps; next best ")
    assert found.evidence[0].run == "Other"
    assert found.attempts == 9
    assert found.confidence > 0.6


def test_dissimilar_steps_say_nothing() -> None:
    assert choose(attempts("Other", "+" * 20, similarity=0.1)).by == "rules"


def test_one_that_failed_often_is_left_for_one_that_is_unknown() -> None:
    found = choose(attempts("Planned", "-----"))
    assert found.picked in ("Other", "Third")
    assert (found.by, found.explored) == ("exploration", True)


def test_where_finding_out_is_not_wanted_the_rules_decide() -> None:
    found = choose(attempts("Planned", "-----"), explore=False)
    assert (found.picked, found.by) == ("Planned", "rules")


def test_steps_side_by_side_do_not_all_try_the_same_unknown_persona() -> None:
    failed = attempts("Planned", "-----")
    assert len({choose(failed, step=f"S{number}").picked for number in range(20)}) == 2


def test_what_is_found_out_is_who_of_the_good_is_best() -> None:
    known = (
        attempts("Planned", "++++-" * 4)
        + attempts("Other", "+++-+", since=20)
        + attempts("Third", "-+---", since=30)
    )
    picked = [choose(known, step=f"S{number}").picked for number in range(200)]
    assert picked.count("Planned") > picked.count("Other") > 0
    assert "Third" not in picked


def test_without_optimism_the_best_that_is_known_is_taken() -> None:
    known = attempts("Planned", "++++-" * 4) + attempts("Other", "+++-+", since=20)
    config = LearningConfig(optimism=0)
    for number in range(50):
        rng = step_rng("run", f"S{number}")
        found = choose_persona(["Planned", "Other", "Third"], known, 0.5, rng, config=config)
        assert (found.picked, found.explored) == ("Planned", False)


def test_a_persona_that_has_changed_is_found_out() -> None:
    steady = attempts("Other", "+-++-+++-+++-+++", since=0)
    before = choose(attempts("Planned", "+" * 30) + steady)
    after = choose(attempts("Planned", "+" * 30) + steady + attempts("Planned", "-" * 6, since=40))
    assert before.picked == "Planned"
    assert after.picked == "Other"


def test_what_is_no_longer_among_the_neighbours_is_not_unknown() -> None:
    failed = attempts("Planned", "-----")
    for number in range(10):
        rng = step_rng("run", f"S{number}")
        tallies = {"Other": Tally(0.0, 9.0)}
        found = choose_persona(["Planned", "Other", "Third"], failed, 0.5, rng, tallies=tallies)
        assert found.picked == "Third"


NAMES = st.sampled_from(["Planned", "Other", "Third", "Elsewhere"])
EVIDENCE = st.lists(
    st.builds(
        Evidence,
        st.just(EpisodeKey("r", "S1", 1)),
        st.integers(0, 1000),
        st.floats(-1, 1),
        NAMES,
        st.sampled_from(TIERS),
        st.floats(0, 1),
    ),
    max_size=40,
)


@given(EVIDENCE, st.text(max_size=5), st.floats(0, 1), st.booleans())
def test_the_same_evidence_and_seed_give_the_same_choice(
    evidence: list[Evidence], step: str, expected: float, explore: bool
) -> None:
    names = ["Planned", "Other", "Third"]
    first, again = (
        choose_persona(names, evidence, expected, step_rng("run", step), explore=explore)
        for _ in range(2)
    )
    assert first == again
    assert first.picked in names
    assert 0 <= first.confidence <= 1
    assert first.why
    if not explore and first.picked != "Planned":
        assert first.by == "memory"
        assert first.confidence >= 0.6


@given(EVIDENCE)
def test_a_posterior_lies_between_what_was_expected_and_what_was_seen(
    evidence: list[Evidence],
) -> None:
    found = posterior(weigh({"all": evidence})["all"], 0.5)
    assert 0 <= found.mean <= 1
    assert found.strength > 0
    assert 0 <= found.samples <= len(evidence) + 1e-9
    if all(outcome.success >= 0.5 for outcome in evidence):
        assert found.mean >= 0.5 - 1e-9


def test_newer_outcomes_count_more() -> None:
    config = LearningConfig(half_life=5.0, change=1e9)
    better_now = posterior(weigh({"a": attempts("a", "-----+++++")}, config)["a"], 0.5, config)
    worse_now = posterior(weigh({"a": attempts("a", "+++++-----")}, config)["a"], 0.5, config)
    assert better_now.mean > worse_now.mean


@pytest.mark.parametrize(
    ("outcomes", "at"),
    [("+" * 20, None), ("+-" * 20, None), ("+" * 12 + "-" * 6, 12), ("-" * 12 + "+" * 6, 12)],
)
def test_a_change_is_seen_where_it_is(outcomes: str, at: int | None) -> None:
    assert find_change(weigh({"a": attempts("a", outcomes)}, LearningConfig(change=1e9))["a"]) == at


@pytest.mark.parametrize(
    ("outcomes", "is_seen"),
    [("+" * 12 + "-" * 4, True), ("+++-" * 6 + "-" * 4, True), ("+++-" * 4 + "-" * 3, False)],
)
def test_by_default_four_failures_in_a_row_end_a_good_record_and_three_do_not(
    outcomes: str, is_seen: bool
) -> None:
    oldest = weigh({"a": attempts("a", outcomes)})["a"][-1]
    assert (oldest.related < 0.2) == is_seen


def test_what_came_before_a_change_elsewhere_counts_less() -> None:
    changed = attempts("a", "+" * 12 + "-" * 6)
    other = attempts("b", "-" * 5)
    weighed = weigh({"a": changed, "b": other})
    alone = weigh({"b": other})
    assert [outcome.related for outcome in weighed["b"]] == [
        0.5 * outcome.related for outcome in alone["b"]
    ]


@given(st.floats(0.01, 0.99), st.floats(0.01, 0.99), st.floats(1, 100), st.floats(1, 100))
def test_being_better_is_a_probability(a: float, b: float, n: float, m: float) -> None:
    first, second = Posterior(a, n), Posterior(b, m)
    assert probability_better(first, second) + probability_better(second, first) == pytest.approx(1)
    # Rates that differ in their last digit are as likely one way as the other.
    lower, higher = sorted((first, second), key=lambda rate: rate.mean)
    assert probability_better(higher, lower) >= 0.5 >= probability_better(lower, higher)


def test_what_says_nothing_of_who_tried_or_is_unrelated_is_no_evidence() -> None:
    entries = [
        (LogEntry(1, episode("S1")), 0.9),
        (LogEntry(2, episode("S2", category=Category.LOGIC)), 0.8),
        (LogEntry(3, episode("S3", category=Category.INFRASTRUCTURE)), 0.8),
        (LogEntry(4, episode("S4")), 0.05),
        (LogEntry(5, episode("S5")), 0.7),
    ]
    found = evidence_of(entries)
    assert [(outcome.key.step, outcome.success) for outcome in found] == [
        ("S1", 1.0),
        ("S2", 0.0),
        ("S5", 1.0),
    ]


def attempts_on(tier: Tier, outcomes: str) -> list[Evidence]:
    return attempts("P", outcomes, tier=tier, since=100 * TIERS.index(tier))


def choose_first_tier(evidence: list[Evidence], step: str, *, explore: bool = False) -> Suggestion:
    return choose_tier(TIERS, evidence, 0.5, step_rng("run", step), explore=explore)


def test_a_tier_that_nothing_is_known_of_is_taken_as_planned() -> None:
    assert choose_first_tier(attempts_on("worker", "--"), "S1").by == "rules"


def test_a_step_begins_higher_where_the_cheap_tier_always_fails() -> None:
    found = choose_first_tier(
        attempts_on("worker", "-" * 15) + attempts_on("coder", "+" * 10), "S1"
    )
    assert (found.picked, found.by) == ("coder", "memory")
    assert "worker" in found.why
    assert "coder" in found.why


def test_a_cheap_tier_that_mostly_succeeds_is_kept() -> None:
    found = choose_first_tier(
        attempts_on("worker", "++-+++++") + attempts_on("coder", "+" * 10), "S1"
    )
    assert found.picked == "worker"


def test_a_tier_that_was_given_up_is_tried_again_at_times() -> None:
    failed = attempts_on("worker", "----") + attempts_on("coder", "+" * 10)
    picked = [choose_first_tier(failed, f"S{number}", explore=True) for number in range(60)]
    assert {"worker", "coder"} <= {choice.picked for choice in picked}
    assert all(choice.explored == (choice.picked != "coder") for choice in picked)


@given(EVIDENCE, st.text(max_size=5), st.booleans())
def test_a_tier_is_never_below_the_plans_and_always_the_same(
    evidence: list[Evidence], step: str, explore: bool
) -> None:
    ladder: tuple[Tier, ...] = ("coder", "architect")
    first, again = (
        choose_tier(ladder, evidence, 0.5, step_rng("run", step), explore=explore) for _ in range(2)
    )
    assert first == again
    assert first.picked in ladder


RATES = st.fixed_dictionaries({tier: st.floats(0, 1) for tier in TIERS})


@given(RATES, st.sampled_from(TIERS), st.floats(0, 1))
def test_a_tier_that_does_better_makes_all_cheaper(
    rates: dict[Tier, float], tier: Tier, more: float
) -> None:
    better_rates: dict[Tier, float] = {**rates, tier: max(rates[tier], more)}
    config = LearningConfig(failure_price=1000.0)
    assert expected_cost(TIERS, better_rates, config) <= expected_cost(TIERS, rates, config) + 1e-6
