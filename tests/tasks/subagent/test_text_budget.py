"""Texts are bounded together, and none is cut before a longer one is."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.plan.output import StepOutput
from prefect_swarm.tasks.subagent.request import (
    EXPLANATION_TOKENS,
    MARKS_TOKENS,
    SubagentRequest,
    cut,
    cut_tokens,
    omissions_of,
    prompt_of,
    shares,
    tokens_of,
)
from quoted_texts import without_marks

lengths = st.lists(st.integers(0, 5000), max_size=30)


@given(lengths, st.integers(0, 20_000))
def test_shares_fill_the_limit_and_no_more(given_lengths: list[int], limit: int) -> None:
    given_shares = shares(given_lengths, limit)
    assert all(share <= length for share, length in zip(given_shares, given_lengths, strict=True))
    total = sum(given_shares)
    assert total <= limit
    assert total == sum(given_lengths) or total > limit - max(1, len(given_lengths))


@given(lengths, st.integers(0, 20_000))
def test_a_text_is_cut_only_where_longer_ones_are_too(given_lengths: list[int], limit: int) -> None:
    given_shares = shares(given_lengths, limit)
    cut_ones = [share for share, n in zip(given_shares, given_lengths, strict=True) if share < n]
    assert all(share <= min(cut_ones, default=10**9) + 1 for share in given_shares)


@given(st.text(max_size=400), st.integers(0, 300))
def test_a_cut_text_fits(text: str, limit: int) -> None:
    assert len(cut(text, limit)) <= max(limit, 0) or len(text) <= limit


def test_a_cut_text_says_how_much_is_missing() -> None:
    assert cut("x" * 500, 100).endswith(" … [400 more characters]")
    assert cut("x" * 500, 10) == "x" * 9 + "…"


@given(st.text(max_size=400), st.integers(0, 200))
def test_a_text_cut_to_tokens_fits(text: str, limit: int) -> None:
    assert tokens_of(cut_tokens(text, limit)) <= limit


def reading(count: int, limit: int | None) -> SubagentRequest:
    return SubagentRequest(
        key="k",
        run="r",
        step="S301",
        agent="Lead",
        attempt=1,
        tier="worker",
        model="demo",
        instructions="",
        prompt="join",
        upstream=tuple(
            StepOutput(name=f"S{n}", agent="Reader", text="y" * 900) for n in range(count)
        ),
        max_input_tokens=limit,
    )


@given(st.integers(1, 300), st.integers(100, 8000))
def test_everything_read_stays_within_the_bound(count: int, limit: int) -> None:
    labels = EXPLANATION_TOKENS + sum(tokens_of(f"S{n}: ") + 1 + MARKS_TOKENS for n in range(count))
    assert tokens_of(prompt_of(reading(count, limit))) <= max(limit, labels) + tokens_of("join")


def test_what_does_not_fit_is_named_with_its_size() -> None:
    (left_out,) = omissions_of(reading(1, 100))
    assert (left_out.name, left_out.of) == ("S0", 300)
    assert 240 <= left_out.tokens <= 290
    assert omissions_of(reading(3, 2000)) == ()


def test_without_a_bound_everything_is_read() -> None:
    assert without_marks(prompt_of(reading(40, None))).count("y") == 40 * 900
