"""The lists that an objective has, and the one it is about."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.tasks.planner.plan_coverage import Listing, lists


def items(listing: Listing) -> list[str]:
    return [" ".join(sorted(item)) for item in listing.items]


@pytest.mark.parametrize(
    ("objective", "found"),
    [
        ("Compare tea, coffee and milk as drinks", [["tea", "coffee", "milk"]]),
        ("Rank oaks & elms", [["oak", "elm"]]),
        ("Sum up a.txt/b.txt/c.txt", [["a.txt", "b.txt", "c.txt"]]),
        (
            "Plan food and music. Then cats, dogs or bees",
            [["food", "music"], ["cat", "dog", "bee"]],
        ),
        ("Weigh rum, gin and ale by price and taste", [["rum", "gin", "ale"], ["price", "taste"]]),
        ("Describe:\n- red fish\n- blue fish", [["red", "blue"]]),
        ("1. Draw a house 2. Draw a boat", [["house", "boat"].copy()]),
        (
            "See to this: mend it in red; wash it in blue; sell it",
            [["mend red", "blue wash", "sell"]],
        ),
        ("Explain how a motor works", []),
        ("", []),
    ],
)
def test_every_list_is_found(objective: str, found: list[list[str]]) -> None:
    assert [items(listing) for listing in lists(objective)] == found


def test_a_further_thing_to_do_is_no_item() -> None:
    (listing,) = lists("Describe oaks, elms and firs, and translate the texts")
    assert items(listing) == ["oak", "elm", "fir"]


def test_two_words_around_an_and_are_not_surely_a_list() -> None:
    assert [
        listing.sure for listing in lists("Take cats and dogs. Take a, cod, eel and crab.")
    ] == [
        False,
        True,
    ]


@given(st.text())
def test_any_text_can_be_looked_through(text: str) -> None:
    assert all(len(listing.items) > 1 for listing in lists(text))
