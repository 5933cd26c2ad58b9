"""The pairing of a plan's steps with the expected ones: no other pairing weighs more."""

from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.parl.agreement import assign

tables = st.tuples(st.integers(1, 5), st.integers(0, 5)).flatmap(
    lambda size: st.lists(
        st.lists(st.integers(0, 6), min_size=size[1], max_size=size[1]),
        min_size=size[0],
        max_size=size[0],
    )
)
squares = st.integers(1, 5).flatmap(
    lambda size: st.lists(
        st.lists(st.integers(1, 4), min_size=size, max_size=size), min_size=size, max_size=size
    )
)


def every_weight(weights: list[list[int]]) -> dict[tuple[int, ...], int]:
    """What every way of giving the rows columns weighs; missing columns weigh nothing."""
    columns = len(weights[0])
    size = max(len(weights), columns)
    return {
        way: sum(weights[r][c] for r, c in enumerate(way) if c < columns)
        for way in permutations(range(size), len(weights))
    }


@given(weights=tables)
def test_no_other_pairing_weighs_more(weights: list[list[int]]) -> None:
    pairs = assign(weights).pairs
    assert len(set(pairs.values())) == len(pairs)
    assert sum(weights[r][c] for r, c in pairs.items()) == max(every_weight(weights).values())


@given(weights=squares)
def test_tight_pairs_are_those_of_the_best_pairings(weights: list[list[int]]) -> None:
    ways = every_weight(weights)
    best = {way for way, weight in ways.items() if weight == max(ways.values())}
    tight = assign(weights).tight
    assert best == {way for way in ways if all(c in tight[r] for r, c in enumerate(way))}


def test_what_weighs_nothing_is_not_paired() -> None:
    assert assign([[0, 2], [0, 3]]).pairs == {1: 1}
    assert assign([[0], [0]]).tight == (frozenset(), frozenset())


def test_fourteen_rows_of_the_same_weights_are_paired() -> None:
    assert len(assign([[7] * 14] * 14).pairs) == 14
