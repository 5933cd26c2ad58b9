"""No secret is shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.host.secrets import MASK, mask, mask_written, secrets_in

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


@pytest.mark.parametrize(
    "text",
    [
        f'password = "{HIDDEN}"',
        f"API_KEY={HIDDEN}",
        "Authorization: Bearer abcdefgh12345678",
        "ghp_" + "a1" * 15,
    ],
)
def test_what_people_and_models_write_is_masked_too(text: str) -> None:
    assert MASK in mask_written(text)
    assert HIDDEN not in mask_written(text)


@pytest.mark.parametrize(
    "text",
    [
        "tokens = text.split()",
        "max_tokens: 1000000",
        "Token: many words",
        'password = "a few words"',
        "the secret: nobody knows",
        "token = tokens[i]",
    ],
)
def test_code_and_prose_stay_readable(text: str) -> None:
    assert mask_written(text) == text


def test_secrets_of_an_environment_are_told_by_their_names() -> None:
    names = ("OPENAI_API_KEY", "GITHUB_TOKEN", "DB_PASSWORD", "AWS_SECRET_ACCESS_KEY", "MY_KEY")
    others = {"HOME": "/home/somebody", "KEYBOARD": "german", "SHORT_KEY": "ab", "PATH": "/usr/bin"}
    others |= {"PWD": "/srv/reports", "OLDPWD": "/home/somebody"}
    assert secrets_in({name: f"{name}-value" for name in names} | others) == tuple(
        f"{name}-value" for name in names
    )
