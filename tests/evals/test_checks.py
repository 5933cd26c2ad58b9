"""A check passes or says why not."""

from __future__ import annotations

from typing import Any

import pytest
from eval_results import swarm_result
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.evals import checks
from prefect_swarm.evals.cases import Checks
from prefect_swarm.evals.checks import verdicts_on
from prefect_swarm.host.bounded import ProcessBounds

WORDS = st.text("abcdefgh", min_size=1, max_size=6)


def found(checks: dict[str, Any], answer: str = "Tea and coffee.", **about: Any) -> dict[str, str]:
    """What each check says of a run; "" where it passed."""
    verdicts = verdicts_on(Checks.model_validate(checks), swarm_result(answer, **about))
    assert all(each.passed == (not each.reason) for each in verdicts)
    return {each.check: each.reason for each in verdicts}


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ({"all": ["TEA", "and  coffee"]}, ""),
        ({"all": "tea"}, ""),
        ({"all": ["tea", "milk", "sugar"]}, "missing: milk, sugar"),
        ({"all": ["coff"]}, "missing: coff"),
        ({"any": ["milk", "coffee"]}, ""),
        ({"any": ["milk", "sugar"]}, "none of: milk, sugar"),
        ({"none": ["milk"]}, ""),
        ({"none": ["tea", "milk"]}, "unwanted: tea"),
        ({"all": ["milk"], "none": ["tea"]}, "missing: milk; unwanted: tea"),
    ],
)
def test_words_are_looked_for(words: dict[str, Any], problem: str) -> None:
    assert found({"words": words})["words"] == problem


@given(st.lists(WORDS, min_size=1), st.lists(WORDS, min_size=1))
def test_all_are_in_an_answer_of_them_and_none_in_one_of_others(
    these: list[str], others: list[str]
) -> None:
    others = [word for word in others if word not in these]
    assert found({"words": {"all": these, "none": others}}, " ".join(these))["words"] == ""
    if others:
        missing = found({"words": {"all": others}}, ", ".join(these))["words"]
        assert missing.startswith("missing: ")


def test_an_expression_is_searched_for() -> None:
    assert found({"matches": ["(?i)^tea", r"\.$"]})["matches"] == ""
    assert found({"matches": r"\d"})["matches"] == r"nothing matches \d"


def test_an_answer_is_held_against_a_schema() -> None:
    schema = {"type": "object", "required": ["tea"]}
    assert found({"schema": schema}, '{"tea": 1}')["schema"] == ""
    assert "tea" in found({"schema": schema}, "{}")["schema"]
    assert found({"schema": schema})["schema"].startswith("it is not valid JSON")


@pytest.mark.parametrize(
    ("bound", "enough", "short"),
    [("max_steps", 2, 1), ("max_tokens", 30, 29), ("max_makespan_s", 3.5, 3.4), ("max_usd", 1, 0)],
)
def test_a_figure_may_be_the_bound_and_no_more(bound: str, enough: float, short: float) -> None:
    about: dict[str, Any] = {"steps": 2, "tokens": 30, "makespan_s": 3.5, "usd": 1.0}
    assert found({bound: enough}, **about)[bound] == ""
    assert "more than" in found({bound: short}, **about)[bound]


def test_an_unknown_price_is_within_no_bound() -> None:
    assert found({"max_usd": 1}, usd=None)["max_usd"] == "no price is known"


def test_a_run_without_checks_has_to_be_completed() -> None:
    assert found({}) == {"run": ""}
    partial = found({"max_steps": 9}, status="partial", problem="S1 failed.")
    assert partial == {"run": "partly completed: S1 failed.", "max_steps": ""}


def test_a_run_without_an_answer_fails_with_the_reason_alone() -> None:
    checks = {"max_steps": 9, "words": {"all": "tea"}}
    assert found(checks, "", status="failed", problem="No step succeeded.") == {
        "run": "No step succeeded."
    }
    (verdict,) = verdicts_on(Checks.model_validate(checks), None, "There is no model.")
    assert (verdict.check, verdict.passed, verdict.reason) == ("run", False, "There is no model.")


@pytest.mark.attack("parsers")
def test_a_pattern_that_takes_for_ever_is_a_failed_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "_BOUNDS", ProcessBounds(1.0))
    assert "takes more than 1 s" in found({"matches": "^(t+)+$"}, "t" * 40 + "?")["matches"]
