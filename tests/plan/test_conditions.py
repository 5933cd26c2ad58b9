"""Conditions on values: what holds, what is refused, how they are written."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.plan.conditions import (
    MAX_DEPTH,
    Condition,
    are_equal,
    describe_condition,
    holds,
    steps_of,
)
from prefect_swarm.plan.pointers import MISSING
from pydantic import ValidationError

NUMBERS = st.integers(-3, 3) | st.sampled_from([0.5, 1.0, -1.5, 2.0])
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.sampled_from(["", "a", "bug", "1"]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
    ),
    max_leaves=4,
)
OPERATORS: dict[str, st.SearchStrategy[Any]] = {
    "is": VALUES,
    "is_not": VALUES,
    "in": st.lists(VALUES, min_size=1, max_size=3),
    "over": NUMBERS,
    "under": NUMBERS,
    "exists": st.booleans(),
    "empty": st.booleans(),
    "matches": st.sampled_from(["a", "^b", "[0-9]+", "g$"]),
}
LEAVES = st.fixed_dictionaries(
    {},
    optional={
        "step": st.sampled_from(["S1", "S2", "S3"]),
        "at": st.sampled_from(["/a", "/b", "/0"]),
        **OPERATORS,
    },
).filter(lambda fields: bool(fields.keys() & OPERATORS.keys()))
WRITTEN = st.recursive(
    LEAVES,
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "all": st.lists(inner, min_size=1, max_size=2),
            "any": st.lists(inner, min_size=1, max_size=2),
            "not": inner,
        },
    ).filter(bool),
    max_leaves=4,
).filter(lambda written: depth_of(written) <= MAX_DEPTH)


def depth_of(written: dict[str, Any]) -> int:
    inner = [*written.get("all", []), *written.get("any", [])]
    inner += [written["not"]] if "not" in written else []
    return 1 + max(map(depth_of, inner), default=0)


def condition(**fields: Any) -> Condition:
    return Condition.model_validate({name.rstrip("_"): value for name, value in fields.items()})


def of(value: object) -> Callable[[str | None], object]:
    return lambda step: value


@pytest.mark.parametrize(
    ("value", "fields", "expected"),
    [
        ("bug", {"is_": "bug"}, True),
        ("bug", {"is_": "Bug"}, False),
        (1, {"is_": 1.0}, True),
        (10**30, {"is_": 1e30}, False),
        (1, {"is_": "1"}, False),
        (True, {"is_": 1}, False),
        (1, {"is_": True}, False),
        ([1, {"a": True}], {"is_": [1.0, {"a": True}]}, True),
        ([1, {"a": True}], {"is_": [1.0, {"a": 1}]}, False),
        ([1], {"is_": [1, 2]}, False),
        ({"a": 1}, {"is_": {"b": 1}}, False),
        (None, {"is_": None}, True),
        (MISSING, {"is_": None}, False),
        (0, {"is_": None}, False),
        (None, {"is_not": None}, False),
        (0, {"is_not": None}, True),
        (MISSING, {"is_not": None}, True),
        (MISSING, {"is_not": 1}, True),
        ("a", {"is_not": 1}, True),
        ("closed", {"in_": ["closed", "duplicate"]}, True),
        (None, {"in_": [1, None]}, True),
        (MISSING, {"in_": [None]}, False),
        (1, {"in_": [True, "1"]}, False),
        (3, {"over": 2}, True),
        (2, {"over": 2}, False),
        (True, {"over": 0}, False),
        ("3", {"over": 2}, False),
        (None, {"over": -1}, False),
        (MISSING, {"over": -1}, False),
        (1.5, {"under": 2}, True),
        ("1", {"under": 2}, False),
        (5, {"over": 2, "under": 4}, False),
        (3, {"over": 2, "under": 4}, True),
        (0, {"exists": True}, True),
        (None, {"exists": True}, False),
        (None, {"exists": False}, True),
        (MISSING, {"exists": False}, True),
        ([], {"empty": True}, True),
        ({}, {"empty": True}, True),
        ("", {"empty": True}, True),
        (None, {"empty": True}, True),
        (MISSING, {"empty": True}, True),
        (MISSING, {"empty": False}, False),
        (0, {"empty": True}, False),
        (False, {"empty": False}, True),
        (" ", {"empty": False}, True),
        ("a bug", {"matches": "bu+g"}, True),
        ("A BUG", {"matches": "(?i)bug"}, True),
        (12, {"matches": "1"}, False),
        (None, {"matches": ""}, False),
        (MISSING, {"matches": ""}, False),
        ("x" * 10_000 + "y", {"matches": "y"}, False),
    ],
)
def test_an_operator_holds_for_the_values_that_its_page_says(
    value: object, fields: dict[str, Any], expected: bool
) -> None:
    assert holds(condition(**fields), of(value)) is expected
    if value is not MISSING:
        assert holds(condition(at="/a/0", **fields), of({"a": [value]})) is expected


def test_what_is_missing_satisfies_only_what_asks_for_nothing() -> None:
    asked = {"is": None, "is_not": 1, "in": [None], "over": -1, "under": 1, "matches": ""}
    asked |= {"exists": False, "empty": True}
    for value in (MISSING, {}, [], "text", 5, None):
        found = {
            name
            for name, expected in asked.items()
            if holds(condition(at="/a/b", **{name: expected}), of(value))
        }
        assert found == {"is_not", "exists", "empty"}


def test_each_condition_asks_for_the_output_that_it_names() -> None:
    outputs = {"S1": {"count": 1}, "S2": {"state": "open"}, None: "at hand"}
    when = condition(
        all=[
            {"step": "S1", "at": "/count", "over": 0},
            {"not": {"step": "S2", "at": "/state", "in": ["closed", "duplicate"]}},
            {"any": [{"is": "at hand"}, {"step": "S1", "exists": False}]},
        ]
    )
    assert holds(when, outputs.__getitem__)
    outputs["S2"] = {"state": "closed"}
    assert not holds(when, outputs.__getitem__)
    assert steps_of(when) == ("S1", "S2")


@given(WRITTEN, WRITTEN, VALUES)
def test_combinations_are_those_of_logic(
    one: dict[str, Any], other: dict[str, Any], value: Any
) -> None:
    if max(depth_of(one), depth_of(other)) == MAX_DEPTH:
        return
    first, second = (holds(condition(**written), of(value)) for written in (one, other))
    assert holds(condition(not_=one), of(value)) is not first
    assert holds(condition(all=[one, other]), of(value)) is (first and second)
    assert holds(condition(any=[one, other]), of(value)) is (first or second)
    assert holds(condition(all=[one], not_=other), of(value)) is (first and not second)


@given(WRITTEN)
def test_a_condition_is_read_again_as_it_was_written(written: dict[str, Any]) -> None:
    first = condition(**written)
    assert json.loads(first.model_dump_json()) == json.loads(json.dumps(written))
    for again in (
        first.model_dump(mode="json"),
        first.model_dump(mode="json", exclude_defaults=True),
        first.model_dump(mode="json", exclude_none=True),
        first.model_dump(by_alias=False),
    ):
        assert Condition.model_validate(again) == first
    assert hash(first) == hash(condition(**written))


def test_null_is_compared_with_only_where_it_is_written() -> None:
    is_null = condition(step="S1", is_=None)
    assert is_null.model_dump(mode="json", exclude_defaults=True) == {"step": "S1", "is": None}
    assert is_null != condition(step="S1", is_not=None)
    assert condition(over=1, exists=None, all=None) == condition(over=1)
    assert condition(over=1).model_dump() == {"over": 1}


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({}, "it has no operator"),
        ({"step": "S1", "at": "/a"}, "it has no operator"),
        ({"over": None}, "it has no operator"),
        ({"all": []}, "it is an empty list"),
        ({"any": []}, "it is an empty list"),
        ({"in": []}, "it is an empty list"),
        ({"at": "kind", "is": 1}, "it is not a JSON pointer"),
        ({"matches": "(a+)+"}, "an unbounded repetition within another one"),
        ({"matches": "("}, "is not a regular expression"),
        ({"matches": "a" * 201}, "over 200 characters"),
        ({"step": "S1", "not": {"is": 1}}, "step and at belong to the conditions within"),
        ({"at": "/a", "all": [{"is": 1}]}, "step and at belong to the conditions within"),
        ({"equals": 1}, "Extra inputs"),
        ({"over": "1"}, "valid number"),
        ({"exists": "yes"}, "valid boolean"),
    ],
)
def test_a_condition_that_says_nothing_or_wrong_is_refused(
    fields: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ValidationError, match=problem):
        Condition.model_validate(fields)


def nested(levels: int) -> dict[str, Any]:
    written: dict[str, Any] = {"is": 1}
    for _ in range(levels - 1):
        written = {"not": written}
    return written


def test_conditions_are_five_levels_deep_at_most() -> None:
    assert holds(condition(**nested(MAX_DEPTH)), of(1))
    with pytest.raises(ValidationError, match="over 5 levels deep"):
        condition(**nested(MAX_DEPTH + 1))
    for levels in (100, 300, 5_000):
        with pytest.raises(ValidationError):
            condition(**nested(levels))


@given(VALUES, VALUES)
def test_equality_is_that_of_json(one: Any, other: Any) -> None:
    def told_apart(value: Any) -> str:
        return json.dumps(value, sort_keys=True).replace(".0", "")

    assert are_equal(one, one)
    assert are_equal(one, other) is are_equal(other, one)
    assert are_equal(one, other) is (told_apart(one) == told_apart(other))
    assert not are_equal(one, MISSING)


def test_values_that_are_nested_deeply_are_compared() -> None:
    one: list[Any] = []
    other: list[Any] = []
    for _ in range(100_000):
        one, other = [one], [other]
    assert are_equal(one, other)
    assert not are_equal([one], other)
    while one:  # taken apart from outside: Python frees what is nested by recursion
        one, other = one[0], other[0]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"step": "S1", "at": "/kind", "is": "bug"}, "S1 /kind is bug"),
        ({"step": "S1", "is": "true"}, 'S1 is "true"'),
        ({"step": "S1", "is": True}, "S1 is true"),
        ({"at": "/n", "is": None}, "/n is null"),
        ({"is_not": "two words"}, 'it isn\'t "two words"'),
        ({"at": "/n", "in": ["a", 1]}, "/n is one of a, 1"),
        ({"at": "/n", "over": 1234567, "under": 2e6}, "/n is over 1234567 and /n is under 2000000"),
        ({"exists": True}, "it exists"),
        ({"exists": False}, "it doesn't exist"),
        ({"empty": True}, "it is empty"),
        ({"empty": False}, "it isn't empty"),
        ({"matches": "^a"}, "it matches ^a"),
        ({"any": [{"is": "a"}, {"is": "b", "exists": True}]}, "it is a or (it is b and it exists)"),
        ({"all": [{"any": [{"is": "a"}, {"is": "b"}]}, {"exists": True}]}, None),
        ({"not": {"any": [{"is": "a"}, {"is": "b"}]}}, "not (it is a or it is b)"),
    ],
)
def test_a_condition_is_said_in_words(fields: dict[str, Any], words: str | None) -> None:
    words = words or "(it is a or it is b) and it exists"
    assert describe_condition(Condition.model_validate(fields)) == words


@given(WRITTEN)
def test_words_of_a_condition_are_one_short_line(written: dict[str, Any]) -> None:
    words = describe_condition(condition(**written))
    assert words
    assert len(words) <= 300
    assert words.splitlines() == [words]


@given(WRITTEN)
def test_the_steps_of_a_condition_are_those_that_are_written(written: dict[str, Any]) -> None:
    steps = steps_of(condition(**written))
    assert len(set(steps)) == len(steps)
    assert {f'"{step}"' in json.dumps(written) for step in steps} <= {True}
    assert ('"step"' in json.dumps(written)) is bool(steps)
