"""Secrets in added lines are found, and not repeated; what stands for one is none."""

from __future__ import annotations

import pytest
from prefect_swarm.gates.patch.secrets import secrets_in

# In parts, so that nobody takes them for secrets of this repository.
SECRETS = {
    "private key": "-----BEGIN RSA " + "PRIVATE KEY-----",
    "private key in a text": 'KEY = "-----BEGIN ' + 'PRIVATE KEY-----\\nMIIEvQIBADANBg"',
    "AWS": "AKIA" + "QYLPMN5HHDLE3KTR",
    "Google": "AIza" + "SyD8f2KxLm3Qw9Rt5Yv1Bn7Zc4Hj6Pk0Gd2",
    "GitHub": "ghp_" + "Kq8dJ2mX5vN9bT3rW7yZ1cF4gH6jL0pS",
    "GitLab": "glpat-" + "Kq8dJ2mX5vN9bT3rW7yZ",
    "Slack": "xoxb-" + "482910573824-Kq8dJ2mX5vN9bT3r",
    "Stripe": "sk_" + "live_9mQ2xT7vLr4KpW8nZc3YbH6d",
    "OpenAI": "sk-" + "proj-9mQ2xT7vLr4KpW8nZc3YbH6d",
    "Anthropic": "sk-ant-" + "api03-9mQ2xT7vLr4KpW8nZc3YbH6d",
    "address": "postgres://app:" + "k3Yt8vQ2@db.shop.io/orders",
    "password": 'password = "' + 'hT7rk2Lq9ZpW"',
    "field": '"client_secret": "' + 'Kx82jd9Qm4Lz7Vb1"',
    "argument": "connect(api_key='" + "9f8d7c6b5a4e3f2d1c0b')",
}


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_is_found_in_its_line(name: str) -> None:
    (found,) = secrets_in({"src/a.py": [(3, "x = 1"), (7, f"    {SECRETS[name]}")]})
    assert found.line == 7
    assert found.message.startswith("src/a.py: a")


@pytest.mark.parametrize("name", SECRETS)
def test_what_is_said_does_not_repeat_it(name: str) -> None:
    secret = SECRETS[name].partition("= ")[2] or SECRETS[name]
    found = secrets_in({"src/a.py": [(7, SECRETS[name])]})
    assert all(secret[at : at + 8] not in str(found) for at in range(len(secret) - 7))


def test_a_value_without_quotes_is_a_secret_where_it_is_no_name() -> None:
    line = "API_KEY=" + "9f8d7c6b5a4e3f2d1c0b"
    assert secrets_in({"deploy/shop.env": [(1, line)]})
    assert not secrets_in({"src/a.py": [(1, line)]})


@pytest.mark.parametrize(
    "line",
    [
        'password = "changeme"',
        'password = "changeme-2024-please"',
        'token = "xxxxxxxxxxxxxxx1"',
        'token = "111111111111111a"',
        'token = "<your token of 40 characters>"',
        'api_key = "${API_KEY_1}"',
        'secret = os.environ["SECRET_2"]',
        'secret = os.getenv("SHOP_SECRET_KEY_2")',
        'password = "test1234567890abc"',
        'password = "hunter2"',
        'secret = "onlylettersinhere"',
        'token_name = "session-token-2024"',
        "token = parse_token_v2(text)",
        "tokens = text.split()[12]",
        'if "-----BEGIN PRIVATE KEY-----" in text:',
        "https://user:password@example.com/1",
        "postgres://postgres:postgres@localhost:5432/shop",
        "https://shop.io/orders?page=2",
        'key = "AKIAIOSFODNN7EXAMPLE"',
        "assert total(3, 4) == 12",
        "",
    ],
)
def test_what_stands_for_a_secret_is_none(line: str) -> None:
    assert secrets_in({"a.py": [(1, line)], "a.md": [(1, line)]}) == ()


def test_each_line_with_one_is_named() -> None:
    line = SECRETS["password"]
    found = secrets_in({"a.py": [(1, line), (2, line)], "b.py": [(5, line)]})
    assert [(each.message[:4], each.line) for each in found] == [
        ("a.py", 1),
        ("a.py", 2),
        ("b.py", 5),
    ]
