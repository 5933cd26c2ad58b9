"""Texts are bounded together, and none is cut before a longer one is."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.output import StepOutput
from prefect_swarm.tasks.subagent.request import SubagentRequest, prompt_of
from prefect_swarm.tasks.subagent.text_budget import cut, shares

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


@given(st.integers(1, 300), st.integers(100, 8000))
def test_everything_read_stays_within_the_bound(count: int, limit: int) -> None:
    upstream = tuple(StepOutput(name=f"S{n}", agent="Reader", text="y" * 900) for n in range(count))
    request = SubagentRequest(
        key="k",
        run="r",
        step="S301",
        agent="Lead",
        attempt=1,
        tier="worker",
        model="demo",
        instructions="",
        prompt="join",
        upstream=upstream,
        max_input_chars=limit,
    )
    labels = sum(len(f"S{n}: ") + 2 for n in range(count))
    assert len(prompt_of(request)) <= max(limit, labels) + len("join")
