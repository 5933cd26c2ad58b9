"""States are found by the longest common beginning; those not used for longest go."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.models.llama.prefixes import PrefixState, StoredPrefixes
from prefect_swarm.models.llama.slots import common_prefix

Tokens = st.lists(st.integers(0, 2), min_size=1, max_size=8)


def state(*tokens: int, size: int = 10) -> PrefixState:
    return PrefixState(list(tokens), bytes(size))


def test_the_longest_common_beginning_is_found() -> None:
    kept = StoredPrefixes(100)
    short, long = state(1, 2, 9), state(1, 2, 3, 4)
    kept.put(short)
    kept.put(long)
    assert kept.find([1, 2, 3, 5]) == (long, 3)
    assert kept.find([1, 2, 9]) == (short, 3)
    assert kept.find([7]) == (None, 0)


def test_what_was_not_used_for_longest_goes_first() -> None:
    kept = StoredPrefixes(20)
    first, second = state(1), state(2)
    kept.put(first)
    kept.put(second)
    kept.find([1])
    kept.put(state(3))
    assert kept.find([1]) == (first, 1)
    assert kept.find([2]) == (None, 0)


def test_a_longer_state_takes_the_place_of_its_beginning() -> None:
    kept = StoredPrefixes(100)
    kept.put(state(1, 2))
    kept.put(state(1, 2, 3))
    assert kept.size == 10


def test_a_state_that_is_larger_than_all_may_be_is_not_kept() -> None:
    kept = StoredPrefixes(20)
    kept.put(state(1))
    kept.put(state(2, size=21))
    assert kept.find([1])[1] == 1
    assert kept.find([2]) == (None, 0)


def test_a_dropped_state_is_not_found() -> None:
    kept = StoredPrefixes(20)
    dropped = state(1)
    kept.put(dropped)
    kept.drop(dropped)
    kept.drop(dropped)
    assert kept.find([1]) == (None, 0)


@given(prompts=st.lists(Tokens, max_size=20), wanted=Tokens)
def test_no_more_is_kept_than_may_be_and_what_is_found_has_the_beginning(
    prompts: list[list[int]], wanted: list[int]
) -> None:
    kept = StoredPrefixes(55)
    for prompt in prompts:
        kept.put(PrefixState(prompt, bytes(len(prompt) * 5)))
        assert kept.size <= 55
    found, length = kept.find(wanted)
    assert length == (common_prefix(found.tokens, wanted) if found else 0)
