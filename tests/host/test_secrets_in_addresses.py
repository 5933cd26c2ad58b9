"""Passwords and keys in web addresses are found in each form, and masked."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from prefect_swarm.host.secrets import MASK, masked_urls, secret_in, secrets_of

SECRETS = (
    "https://user:hunter2@host.example/v1",
    "https://hunter2@host.example/v1",
    "https://:hunter2@host.example",
    "https://hunter2:@host.example",
    "HTTPS://User:hunter2@HOST.example",
    "https://user:hun@ter2@host.example",
    "https://user:hunter2/3@host.example/v1",
    "https://user:hunter2?3@host.example/v1",
    "https://user:hunter2#3@host.example/v1",
    "https://user%3Ahunter2%40host.example/v1",
    "https://user:hunter2%40@host.example/v1",
    "https://host.example/v1?api_key=hunter2",
    "https://host.example/v1?api-key=hunter2",
    "https://host.example/v1?apikey=hunter2",
    "https://host.example/v1?exaApiKey=hunter2&tools=a",
    "https://host.example/v1?key=hunter2",
    "https://host.example/v1?a=b&token=hunter2&c=d",
    "https://host.example/v1?a=b&amp;token=hunter2",
    "https://host.example/v1?access_token=hunter2",
    "https://host.example/v1?password=hunter2",
    "https://host.example/v1?auth=hunter2",
    "https://host.example/v1?code=hunter2",
    "https://host.example/v1?sig=hunter2",
    "https://host.example/v1?X-Amz-Signature=hunter2",
    "https://host.example/v1?%61pi%5Fkey=hunter2",
    "https://host.example/v1?%2561pi_key=hunter2",
    "https://host.example/v1#access_token=hunter2",
    "https://host.example/v1;token=hunter2",
    "https://host.example/v1?next=https%3A%2F%2Fuser%3Ahunter2%40other.example",
    "http://user:hunter2@[::1]:8000/v1",
    "https:/user:hunter2@host.example/v1",
)
HARMLESS = (
    "https://host.example/v1",
    "http://[::1]:8000/v1",
    "http://127.0.0.1:8000/v1?max_tokens=5&keyboard=us&auth=true&token=",
    "https://server.example/@author/server/mcp",
    "https://host.example/v1#OPENAI_API_KEY",
    "mail somebody@host.example, or git@host.example:team/tree.git",
    "https://host.example/a, then write to somebody@host.example",
)


@pytest.mark.attack("private")
@pytest.mark.parametrize("url", SECRETS)
def test_a_secret_is_found_and_masked(url: str) -> None:
    what = secret_in(url)
    assert what
    assert "unter2" not in what
    text = f'{{"model": "openai:m@{url}", "n": 1}} (see {url}) end'
    shown = masked_urls(text)
    assert "unter2" not in shown
    assert MASK in shown
    assert shown.startswith(f'{{"model": "openai:m@{url[:7]}')
    assert shown.endswith(") end")


@pytest.mark.attack("private")
def test_a_secret_is_masked_where_json_quotes_slashes() -> None:
    assert "hunter2" not in masked_urls(r'"https:\/\/user:hunter2@host.example\/v1"')


@pytest.mark.attack("private")
def test_a_password_behind_a_models_name_is_masked_without_a_scheme() -> None:
    assert "hunter2" not in masked_urls("openai:m@user:hunter2@host.example:8000/v1")


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_secret_stays(text: str) -> None:
    assert masked_urls(text) == text
    assert "://" not in text or secret_in(text.partition(",")[0]) == ""
    assert secrets_of(text) == ()


def test_the_secrets_of_a_text_are_given_as_they_stand_and_decoded() -> None:
    found = secrets_of("--dsn=postgresql://me:p%40ss@db.example/x https://h.example/?token=a%20b")
    assert set(found) == {"me:p%40ss", "me:p@ss", "p%40ss", "p@ss", "a%20b", "a b"}


def _seconds(work: Callable[[], object]) -> float:
    def once() -> float:
        began = time.thread_time()
        work()
        return time.thread_time() - began

    return min(once() for _ in range(3))


@pytest.mark.attack("private")
@pytest.mark.parametrize(
    "piece",
    [
        "a:b@",
        "://",
        "https://a:b",
        "@a:b",
        "https://x?",
        "?token=",
        "&a.b-",
        "%25",
        "@",
        "a:",
        "\\/",
        "?a=s://x",
    ],
)
def test_masking_takes_time_in_proportion_to_the_text(piece: str) -> None:
    few = f"https://{piece * 8_000}"
    many = f"https://{piece * 32_000}"
    assert _seconds(lambda: masked_urls(many)) < 10 * _seconds(lambda: masked_urls(few)) + 1e-3


@pytest.mark.attack("private")
@pytest.mark.parametrize("times", [6, 5_000])
def test_addresses_deep_within_one_another_count_as_secret(times: int) -> None:
    url = "https://h/" + "?a=s://x" * times
    assert secret_in(url) == "a key or password behind a="
    assert masked_urls(url) == f"https://h/?a={MASK}"


def test_addresses_within_one_another_are_read() -> None:
    inner = "https://a/?next=https://b/?next=https://c/"
    assert secret_in(f"{inner}?page=2") == ""
    assert secret_in(f"{inner}?token=abc123") != ""


@pytest.mark.attack("private")
@pytest.mark.parametrize("zero", ["%00", "%2500", "%252500", "%%0000"])
def test_no_address_says_that_its_secret_is_elsewhere(zero: str) -> None:
    assert secret_in(f"https://me:{zero}word@host/a")
    assert secret_in(f"https://host/a?token={zero}word")
    assert masked_urls(f"https://host/a?token={zero}word") == f"https://host/a?token={MASK}"
