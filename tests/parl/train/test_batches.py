"""Examples are dealt into batches and packed without padding."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.parl.train.batches import TokenizedExample, batches, pack

tokens = st.lists(st.integers(0, 3), min_size=1, max_size=9).map(tuple)
examples = st.lists(st.builds(TokenizedExample, tokens, tokens), min_size=1, max_size=9)


@given(examples, st.integers(1, 40), st.integers(0, 3))
def test_every_example_is_dealt_once(
    all_of_them: list[TokenizedExample], budget: int, seed: int
) -> None:
    dealt = [example for batch in batches(all_of_them, budget, seed) for example in batch]
    assert sorted(map(repr, dealt)) == sorted(map(repr, all_of_them))


@given(examples, st.integers(1, 40))
def test_only_a_single_example_may_exceed_the_budget(
    all_of_them: list[TokenizedExample], budget: int
) -> None:
    for batch in batches(all_of_them, budget, None):
        assert len(batch) == 1 or sum(map(len, batch)) <= budget


def test_a_seed_gives_one_order() -> None:
    many = [TokenizedExample((n,), (n,)) for n in range(50)]
    assert [*batches(many, 6, 1)] == [*batches(many, 6, 1)] != [*batches(many, 6, 2)]


def test_without_a_seed_the_order_is_kept() -> None:
    many = [TokenizedExample((n,), (n,)) for n in range(5)]
    assert [*batches(many, 4, None)] == [many[:2], many[2:4], many[4:]]


def test_a_shared_prefix_is_packed_once() -> None:
    batch = pack([TokenizedExample((1, 2, 3), (4, 5)), TokenizedExample((1, 2, 6), (7,))])
    assert batch.tokens.tolist() == [1, 2, 3, 4, 6]
    assert batch.positions.tolist() == [0, 1, 2, 3, 2]
    assert (batch.prefix, batch.size) == (2, 9)


def test_each_token_of_a_plan_is_predicted_from_the_one_before() -> None:
    batch = pack([TokenizedExample((1, 2, 3), (4, 5)), TokenizedExample((1, 2, 6), (7,))])
    before = batch.tokens[batch.rows].tolist()
    assert list(zip(before, batch.targets.tolist(), strict=True)) == [(3, 4), (4, 5), (6, 7)]


@given(examples)
def test_padding_and_unpadding_is_no_change(some: list[TokenizedExample]) -> None:
    batch = pack(some)
    laid_out = batch.tokens[batch.pad.flatten()]
    assert laid_out[batch.unpad].tolist() == batch.tokens[batch.prefix :].tolist()
