"""A mitigation decides only where it has been tried and has worked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.memory.learning.mitigation import (
    MAX_MITIGATIONS,
    better_mitigation,
    combine_mitigations,
    is_proven,
    precedent,
)
from prefect_swarm.store.attempt import Action
from prefect_swarm.store.result import Mitigation

SYMPTOM = "gate unit: <call> gave '…', expected '…'"
GATE = "gate unit:"


def mitigation(
    action: Action, worked: int, tried: int, symptom: str = SYMPTOM, target: str = ""
) -> Mitigation:
    return Mitigation(symptom=symptom, action=action, target=target, tried=tried, worked=worked)


def test_what_works_comes_before_what_mostly_fails() -> None:
    known = (mitigation("RETRY", 0, 5), mitigation("SAMPLE", 4, 6))
    found = better_mitigation("RETRY", ["RETRY", "SAMPLE"], None, SYMPTOM, known, samples=1)
    assert found == (known[1], known[0])


@pytest.mark.parametrize(
    "known",
    [
        pytest.param((), id="nothing is known"),
        pytest.param((mitigation("SAMPLE", 9, 9),), id="nothing is known of what is due"),
        pytest.param((mitigation("RETRY", 0, 9),), id="nothing is known of anything else"),
        pytest.param(
            (mitigation("RETRY", 5, 9), mitigation("SAMPLE", 9, 9)), id="what is due does well"
        ),
        pytest.param((mitigation("RETRY", 0, 9), mitigation("SAMPLE", 0, 9)), id="nothing works"),
        pytest.param(
            (mitigation("RETRY", 3, 9), mitigation("SAMPLE", 3, 9)), id="the other is no better"
        ),
        pytest.param(
            (mitigation("RETRY", 0, 9), mitigation("SKIP", 9, 9)), id="the rule hasn't it"
        ),
    ],
)
def test_the_rule_decides(known: tuple[Mitigation, ...]) -> None:
    assert better_mitigation("RETRY", ["SAMPLE", "REPLAN"], None, SYMPTOM, known, samples=1) is None


def test_several_texts_at_once_have_to_be_worth_as_many() -> None:
    known = (mitigation("RETRY", 1, 10), mitigation("SAMPLE", 5, 10))
    assert better_mitigation("RETRY", ["SAMPLE"], None, SYMPTOM, known, samples=2) is not None
    assert better_mitigation("RETRY", ["SAMPLE"], None, SYMPTOM, known, samples=4) is None
    assert better_mitigation("SAMPLE", ["RETRY"], None, SYMPTOM, known, samples=1) is None
    mostly_fails = (mitigation("RETRY", 4, 10), mitigation("SAMPLE", 4, 10))
    found = better_mitigation("SAMPLE", ["RETRY"], None, SYMPTOM, mostly_fails, samples=4)
    assert found == mostly_fails


def test_a_dearer_tier_has_to_repair_as_many_times_as_much() -> None:
    def found(retries: int) -> object:
        known = (mitigation("RETRY", retries, 20), mitigation("ESCALATE", 16, 20, target="coder"))
        return better_mitigation("RETRY", ["ESCALATE"], "coder", SYMPTOM, known, samples=1)

    assert found(1) is not None
    assert found(8) is None
    cheaper = (mitigation("RETRY", 9, 20), mitigation("ESCALATE", 9, 20, target="coder"))
    found_cheaper = better_mitigation("ESCALATE", ["RETRY"], "coder", SYMPTOM, cheaper, samples=1)
    assert found_cheaper == cheaper


def test_the_best_of_several_comes_first() -> None:
    known = (mitigation("RETRY", 0, 9), mitigation("SAMPLE", 3, 9), mitigation("REPLAN", 8, 9))
    found = better_mitigation("RETRY", ["SAMPLE", "REPLAN"], None, SYMPTOM, known, samples=1)
    assert found is not None
    assert found[0].action == "REPLAN"


def test_what_is_known_of_a_gate_counts_where_the_very_failure_is_new() -> None:
    known = (mitigation("RETRY", 0, 9, GATE), mitigation("SAMPLE", 6, 9, GATE))
    assert (
        better_mitigation("RETRY", ["SAMPLE"], None, "gate unit: never seen", known, samples=1)
        is not None
    )
    assert (
        better_mitigation("RETRY", ["SAMPLE"], None, "gate lint: never seen", known, samples=1)
        is None
    )
    assert (
        better_mitigation("RETRY", ["SAMPLE"], None, "no gate said this", known, samples=1) is None
    )


def test_what_is_known_of_the_very_failure_counts_before_that_of_its_gate() -> None:
    known = (
        mitigation("RETRY", 9, 9),
        mitigation("SAMPLE", 0, 9),
        mitigation("RETRY", 9, 29, GATE),
        mitigation("SAMPLE", 15, 20, GATE),
    )
    assert better_mitigation("RETRY", ["SAMPLE"], None, SYMPTOM, known, samples=1) is None


def test_climbing_is_known_by_the_tier_it_leads_to() -> None:
    known = (mitigation("RETRY", 0, 9), mitigation("ESCALATE", 9, 9, target="architect"))
    assert better_mitigation("RETRY", ["ESCALATE"], "coder", SYMPTOM, known, samples=1) is None
    assert (
        better_mitigation(
            "RETRY", ["ESCALATE"], "architect", SYMPTOM, known, samples=1, tier="coder"
        )
        is not None
    )
    assert precedent("ESCALATE", None, SYMPTOM, known) is None


def test_few_tries_earn_no_place() -> None:
    assert not is_proven(mitigation("RETRY", 2, 2))
    assert is_proven(mitigation("RETRY", 2, 3))
    assert not is_proven(mitigation("RETRY", 5, 10))


def test_the_same_is_added_up_and_so_is_all_of_a_gate() -> None:
    found = combine_mitigations(
        [
            mitigation("RETRY", 1, 2),
            mitigation("RETRY", 0, 2),
            mitigation("RETRY", 0, 1, "gate unit: something else"),
            mitigation("DELEGATE", 1, 2, target="Ann"),
            mitigation("DELEGATE", 1, 2, target="Bob"),
            mitigation("SAMPLE", 1, 2),
        ]
    )
    assert [
        (combined.symptom, combined.action, combined.target, combined.worked, combined.tried)
        for combined in found
    ] == [
        (GATE, "RETRY", "", 1, 5),
        (GATE, "DELEGATE", "", 2, 4),
        (SYMPTOM, "DELEGATE", "", 2, 4),
        (SYMPTOM, "RETRY", "", 1, 4),
    ]


def test_what_a_run_takes_with_it_is_bounded() -> None:
    many = [mitigation("RETRY", 1, 3 + n, f"failure {n}") for n in range(3 * MAX_MITIGATIONS)]
    found = combine_mitigations(many)
    assert len(found) == MAX_MITIGATIONS
    assert found[0].tried == 3 * MAX_MITIGATIONS + 2


actions = st.sampled_from(["RETRY", "THINK_HARDER", "SAMPLE", "ESCALATE", "DELEGATE", "REPLAN"])
counts = st.integers(0, 30).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(st.lists(st.tuples(actions, counts), max_size=6), actions, st.lists(actions, max_size=4))
def test_whatever_is_known_only_what_is_allowed_and_does_better_is_taken(
    facts: list[tuple[Action, tuple[int, int]]], due: Action, others: list[Action]
) -> None:
    known = combine_mitigations([mitigation(action, *tally) for action, tally in facts])
    found = better_mitigation(due, others, None, SYMPTOM, known, samples=1)
    if found is not None:
        better, own = found
        assert better.action in others
        assert own.action == due != better.action
        assert better.worked / better.tried > own.worked / own.tried
        assert min(better.tried, own.tried) >= 3
