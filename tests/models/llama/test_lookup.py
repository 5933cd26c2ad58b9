"""What is guessed of a text is what followed the same tokens before."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.models.llama.drafting import MOST_GUESSED, Lookup

TEXTS = st.lists(st.integers(0, 3), max_size=40)


def test_what_followed_the_same_tokens_is_guessed() -> None:
    assert Lookup([1, 2, 3, 4, 5, 6, 7, 1, 2, 3]).guess(3) == [4, 5, 6]


def test_what_followed_them_last_is_guessed() -> None:
    assert Lookup([1, 2, 3, 4, 1, 2, 3, 5, 1, 2, 3]).guess(1) == [5]


def test_nothing_is_guessed_where_nothing_was_alike() -> None:
    assert Lookup([1, 2, 3, 4, 5]).guess(4) == []
    assert Lookup([1]).guess(4) == []


def test_more_is_guessed_after_guesses_that_were_all_right() -> None:
    lookup = Lookup([*range(50), 0, 1, 2])
    first = len(lookup.guess(50))
    lookup.learn(first, first)
    assert first < len(lookup.guess(50)) <= MOST_GUESSED


def test_fewer_guesses_are_made_after_wrong_ones() -> None:
    lookup = Lookup([1, 2, 3, 1, 2, 3])
    lookup.learn(4, 0)
    assert [bool(lookup.guess(4)) for _ in range(3)] == [False, True, True]
    lookup.learn(4, 0)
    assert [bool(lookup.guess(4)) for _ in range(4)] == [False, False, False, True]
    lookup.learn(4, 1)
    assert lookup.guess(4)


@given(prompt=TEXTS, written=TEXTS, most=st.integers(0, 20))
def test_a_guess_is_a_part_of_the_text_and_no_longer_than_asked(
    prompt: list[int], written: list[int], most: int
) -> None:
    lookup = Lookup(prompt)
    lookup.add(written)
    text = prompt + written
    guess = lookup.guess(most)
    assert len(guess) <= min(most, MOST_GUESSED)
    wanted = text[-3:] + guess
    assert not guess or any(text[at : at + len(wanted)] == wanted for at in range(len(text)))
