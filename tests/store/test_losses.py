"""What a run lost: the steps and items that failed, and neither what needed them nor more."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.store.losses import lost_of, lost_words, missing_words, repeat_command


@dataclass(frozen=True)
class Step:
    id: str
    status: str = "succeeded"
    parent: str = ""
    category: str | None = None


def failed(name: str, parent: str = "") -> Step:
    return Step(name, "failed", parent, "LOGIC")


def lost(*steps: Step) -> list[str]:
    return [step.id for step in lost_of(steps)]


def test_a_whole_run_has_lost_nothing() -> None:
    steps = (Step("S1"), Step("S1[1]", parent="S1"), Step("S2"))
    assert lost(*steps) == []
    assert missing_words(lost_of(steps)) == lost_words(lost_of(steps)) == ""


def test_an_item_of_a_step_that_succeeded_is_lost() -> None:
    assert lost(Step("S1"), Step("S1[1]", parent="S1"), failed("S1[2]", "S1")) == ["S1[2]"]


def test_of_a_step_that_failed_for_its_items_the_items_are_lost() -> None:
    steps = (failed("S1"), Step("S1[1]", parent="S1"), failed("S1[2]", "S1"))
    assert lost(*steps) == ["S1[2]"]


def test_a_step_that_failed_before_it_had_items_is_lost_itself() -> None:
    assert lost(failed("S1")) == ["S1"]


def test_of_an_item_with_a_plan_inside_the_item_is_lost_and_nothing_within_it() -> None:
    steps = (Step("S1"), failed("S1[1]", "S1"), failed("S1[1].S1", "S1[1]"))
    assert lost(*steps) == ["S1[1]"]


def test_an_optional_step_within_an_item_that_succeeded_is_lost() -> None:
    inner = Step("S1[1].S2", "skipped", "S1[1]", "TIMEOUT")
    assert lost(Step("S1"), Step("S1[1]", parent="S1"), inner) == ["S1[1].S2"]


def test_an_optional_step_that_gave_up_is_lost() -> None:
    assert lost(Step("S1", "skipped", category="FORMAT"), Step("S2")) == ["S1"]


@pytest.mark.parametrize("category", [None, "UPSTREAM"])
def test_what_was_left_out_or_needed_what_failed_is_not_lost(category: str | None) -> None:
    assert lost(Step("S1", "skipped", category=category)) == []


def test_what_a_person_rejected_is_not_lost() -> None:
    assert lost(Step("S1", "failed"), Step("S2")) == []
    assert lost(Step("S1", "failed"), Step("S1[1]", "failed", "S1")) == []


def test_a_step_with_a_plan_inside_is_lost_and_not_its_inner_step() -> None:
    assert lost(Step("S1", "failed"), failed("S1.S1", "S1"), Step("S1.S2", parent="S1")) == ["S1"]


def test_items_and_steps_are_counted_apart_and_twelve_are_named() -> None:
    items = [failed(f"S1[{number}]", "S1") for number in range(1, 14)]
    found = lost_of([Step("S1"), *items, failed("S2")])
    assert missing_words(found) == "1 step and 13 items missing"
    assert lost_words(found).endswith("S1[11], S1[12] and 2 more")


def test_a_completed_run_is_forked_and_any_other_resumed() -> None:
    assert repeat_command("abc", "completed") == "prefect-swarm fork abc"
    assert repeat_command("abc", "partial") == "prefect-swarm resume abc --retry-failed"


ANY = st.builds(
    Step,
    st.sampled_from(["", "S1", "S1[1]", "S1[1.2]", "S1r1", "x"]),
    st.sampled_from(["succeeded", "failed", "skipped"]),
    st.sampled_from(["", "S1", "S1[1]", "S1[1.2]", "S1r1", "x"]),
    st.sampled_from([None, "LOGIC", "UPSTREAM"]),
)


@given(st.lists(ANY, max_size=12))
def test_a_forged_result_is_gone_through_once(steps: list[Step]) -> None:
    found = lost_of(steps)
    assert all(step.status in ("failed", "skipped") for step in found)
    assert len({id(step) for step in found}) == len(found)
