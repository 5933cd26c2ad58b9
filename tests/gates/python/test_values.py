"""Values are compared as JSON has them."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.gates.python.verdict import same, shown
from prefect_swarm.gates.sandbox.guest.run_calls import encode

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8
)
TREES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.sampled_from(["list", "set", "dict", "other", "large", "x"]), inner)
    ),
    max_leaves=8,
)


@given(JSON)
def test_a_value_of_json_is_itself(value: Any) -> None:
    assert same(value, encode(value))


@given(st.lists(st.integers() | st.text()))
def test_tuples_are_lists_and_sets_are_lists_in_any_order(values: list[Any]) -> None:
    assert same(values, encode(tuple(values)))
    assert same(list(set(values)), encode(frozenset(values)))


@given(JSON, TREES)
def test_whatever_is_said_to_have_been_given_is_compared_and_shown(value: Any, tree: Any) -> None:
    assert same(value, tree) in (True, False)
    assert len(shown(tree)) <= 120


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        (0.3, 0.1 + 0.2),
        (3, 3.0),
        (10**30, 10**30),
        ({"1": "a", "null": 3}, {1: "a", None: 3}),
        ("b'x'", b"x"),
        ("1 + 2j", "1 + 2j"),
    ],
)
def test_what_is_equal_in_json_is_the_same(expected: Any, found: Any) -> None:
    assert same(expected, encode(found))


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        *((1, True), (0, False), (True, 1), ("1", 1), (None, 0), (None, False), ("", None)),
        *(([1, 2], [2, 1]), ([1], [1, 1]), ([1, 1], {1}), ({"a": 1}, {"a": 1, "b": 2}), ([], {})),
        *((1.0, 1.001), (10**400, 1.5), (1, float("nan")), ("a", ["a"]), ({"list": []}, [])),
    ],
)
def test_what_differs_in_json_is_not_the_same(expected: Any, found: Any) -> None:
    assert not same(expected, encode(found))


def test_what_nests_too_deeply_is_not_encoded() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(ValueError, match="nested too deeply"):
        encode(loop)


def test_a_large_value_is_shown_by_its_size() -> None:
    assert shown({"large": 12}) == "a value of 12 characters"


class Shouting(str):
    __slots__ = ()

    def __str__(self) -> str:
        return "A"

    def __repr__(self) -> str:
        return "B"

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = str.__hash__


class Hiding(list[int]):
    def __iter__(self) -> Iterator[int]:
        return iter((7,))


class Deceiving(dict[str, int]):
    def items(self) -> Any:
        return {"a": 7}.items()


class Two:
    def __str__(self) -> str:
        return "A"

    def __repr__(self) -> str:
        return "B"


@pytest.mark.parametrize(
    ("found", "text", "others"),
    [
        (Shouting("c"), "c", ["A", "B"]),
        (Hiding([1]), [1], [[7]]),
        (Deceiving(b=1), {"b": 1}, [{"a": 7}]),
        (Two(), "A", ["B"]),
        (Decimal("0.10"), "0.10", ["Decimal('0.10')"]),
    ],
)
def test_a_value_has_one_text(found: Any, text: Any, others: list[Any]) -> None:
    assert same(text, encode(found))
    assert not any(same(other, encode(found)) for other in others)


def test_half_of_a_character_equals_no_text() -> None:
    found = encode("\ud800")
    assert shown(found) == r"'\ud800'"
    assert not same(shown(found), found)
