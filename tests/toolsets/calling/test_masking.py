"""No secret is shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.toolsets.calling.masking import MASK, mask

HIDDEN = "s3cr3t-value-17"


@pytest.mark.parametrize(
    "text",
    [
        f'{{"password": "{HIDDEN}"}}',
        f"api_key={HIDDEN}",
        f"GITHUB_TOKEN: '{HIDDEN}'",
        f"Authorization: Bearer {HIDDEN}",
        "the key is sk-abcdefghijklmnop1234",
        "ghp_" + "a1" * 15,
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-_def",
    ],
)
def test_what_looks_like_a_secret_is_masked(text: str) -> None:
    shown = mask(text)
    assert MASK in shown
    assert not any(part in shown for part in (HIDDEN, "abcdefghijklmnop", "a1a1a1", "eyJhbGci"))


@pytest.mark.parametrize("text", ["the token count is 12 tokens", "a secretary wrote", '{"of": 3}'])
def test_other_text_stays(text: str) -> None:
    assert mask(text) == text


@given(st.text(alphabet="abcdef0123456789", min_size=6), st.text(), st.text())
def test_a_known_value_is_never_shown(secret: str, before: str, after: str) -> None:
    assert secret not in mask(f"{before}{secret}{after}".replace(MASK, ""), {secret})


def test_a_short_value_masks_no_words() -> None:
    assert mask("a cat sat", {"cat", ""}) == "a cat sat"
