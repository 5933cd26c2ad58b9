"""Ids of steps, instances, rounds and inner steps."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.plan.ids import (
    MAX_ID,
    IdLevel,
    inner_id,
    instance_id,
    is_step_id,
    nested_instance_id,
    parent_of,
    parse_id,
    planned_id,
    root_of,
    round_id,
    sort_key,
    steps_above,
)

NUMBERS = st.integers(1, 999_999)
LEVELS = st.builds(
    IdLevel,
    NUMBERS.map(lambda number: f"S{number}"),
    st.lists(NUMBERS, max_size=3).map(tuple),
    st.just(0) | NUMBERS,
)
IDS = st.lists(LEVELS, min_size=1, max_size=4).map(lambda levels: ".".join(map(str, levels)))


def test_each_part_of_an_id_is_written_behind_the_one_before() -> None:
    assert instance_id("S2", 7) == "S2[7]"
    assert instance_id("S2", 7, 3) == "S2[7.3]"
    assert nested_instance_id("S3[7]", 2) == "S3[7.2]"
    assert round_id("S2", 3) == "S2r3"
    assert round_id("S2[7]", 3) == "S2[7]r3"
    assert inner_id("S2[7]r3", "S1") == "S2[7]r3.S1"
    assert instance_id("S2[7]r3.S1", 4) == "S2[7]r3.S1[4]"


@given(IDS)
def test_an_id_is_read_as_it_was_written(text: str) -> None:
    assert is_step_id(text)
    assert ".".join(map(str, parse_id(text))) == text


@given(IDS)
def test_an_id_is_a_part_of_its_parent_up_to_the_step_of_the_plan(text: str) -> None:
    last = text
    while outer := parent_of(last):
        assert last.startswith(outer)
        assert sort_key(outer) < sort_key(last)
        last = outer
    assert last == root_of(text)


def test_the_parents_of_an_id_are_the_instance_the_step_and_no_list_in_between() -> None:
    assert parent_of("S2[7]r3.S1") == "S2[7]r3"
    assert parent_of("S2[7]r3") == "S2[7]"
    assert parent_of("S2[7]") == "S2"
    assert parent_of("S3[7.2]") == "S3"
    assert parent_of("S2") == ""


@pytest.mark.parametrize(
    "text",
    [
        "",
        "S",
        "S0",
        "s2",
        "S02",
        "S2[]",
        "S2[0]",
        "S2[07]",
        "S2[7",
        "S2[7.]",
        "S2r",
        "S2r0",
        "S2r3[7]",
        "S2[7][8]",
        "S2r3r4",
        "S2.",
        "S2.S",
        ".S2",
        "S2.T1",
        "S2..S1",
        "S2\n",
        "S2 ",
        "S２",
        "S1234567",
        "S2[1234567]",
        "notes.csv",
        ".".join(["S2"] * MAX_ID),
    ],
)
def test_what_is_no_id_is_none(text: str) -> None:
    assert not is_step_id(text)
    for read in (parse_id, parent_of, root_of, sort_key):
        with pytest.raises(ValueError, match="is not the id of a step"):
            read(text)


@given(st.text("S2[].r10 ", max_size=30))
def test_what_is_read_as_an_id_is_written_as_it_was(text: str) -> None:
    if is_step_id(text):
        assert ".".join(map(str, parse_id(text))) == text


def test_ids_sort_as_people_count() -> None:
    ids = ["S2", "S2.S1", "S2[1]", "S2[1]r2.S1", "S2[1.2]", "S2[1.10]", "S2[2]", "S2[10]", "S2r2"]
    ids += ["S2r10", "S3", "S10"]
    assert sorted(set(ids), key=sort_key) == ids


@pytest.mark.parametrize(
    "make",
    [
        lambda: instance_id("S2[7]", 1),
        lambda: instance_id("S2r3", 1),
        lambda: instance_id("S2"),
        lambda: instance_id("S2", 0),
        lambda: instance_id("S2", 1_000_000),
        lambda: nested_instance_id("S2", 1),
        lambda: nested_instance_id("S2[7]r3", 1),
        lambda: nested_instance_id("S2[7]", -1),
        lambda: round_id("S2r3", 1),
        lambda: round_id("S2", 0),
        lambda: round_id("S2", 1_000_000),
        lambda: round_id("S2", -1),
        lambda: inner_id("S2", "T1"),
        lambda: inner_id(".".join(["S222222"] * 25), "S1[1]"),
    ],
)
def test_an_id_that_could_not_be_read_again_is_not_written(make: Callable[[], str]) -> None:
    with pytest.raises(ValueError, match="S2"):
        make()


def test_an_id_says_all_that_it_is_a_part_of() -> None:
    assert steps_above("S2[7]r3.S1") == ("S2[7]r3", "S2[7]", "S2")
    assert steps_above("S2") == ()
    assert steps_above("plan") == ()


def test_an_id_says_where_the_plan_has_its_step() -> None:
    assert planned_id("S2[7.3]r3.S1[2]") == "S2.S1"


@given(IDS)
def test_the_last_step_above_is_the_plans_own(step: str) -> None:
    assert (step, *steps_above(step))[-1] == root_of(step)
