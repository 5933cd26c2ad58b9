"""Nothing that a configuration keeps secret is in what a server's texts become."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.toolsets.mcp.masking import masked


def test_a_secret_is_masked_also_where_only_a_part_of_it_is_repeated() -> None:
    secrets = ("Bearer abcdefgh", "abcdefgh-long")
    assert masked("got Bearer abcdefgh", secrets) == "got •••"
    assert masked("key abcdefgh is wrong", secrets) == "key ••• is wrong"
    assert masked("abcdefgh-long", secrets) == "•••"


def test_short_values_are_no_secrets() -> None:
    assert masked("1 of 12 is true", ("1", "true")) == "1 of 12 is true"


@given(st.text(), st.lists(st.text(min_size=6)))
def test_no_secret_is_left(text: str, secrets: list[str]) -> None:
    shown = masked(text + "".join(secrets), secrets)
    assert not any(secret in shown for secret in secrets if "•" not in secret)
