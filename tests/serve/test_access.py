"""Who may ask is decided by key, token and host."""

from __future__ import annotations

import pytest
from prefect_swarm.errors import InputError
from prefect_swarm.host.network import is_loopback
from prefect_swarm.serve.app import Access, access_for
from prefect_swarm.serve.connection import ApiError

KEYED = Access("token", "key")
OPEN = Access("token")


@pytest.mark.parametrize(
    ("access", "path", "headers"),
    [
        (KEYED, "/health", {}),
        (KEYED, "/v1/models", {"authorization": "Bearer key"}),
        (KEYED, "/v1/models", {"authorization": "bearer key", "host": "elsewhere"}),
        (KEYED, "/engine/generate", {"authorization": "Bearer token"}),
        (OPEN, "/engine/generate", {"authorization": "Bearer token"}),
        (OPEN, "/v1/models", {"host": "127.0.0.1:8090"}),
        (OPEN, "/v1/models", {"host": "localhost"}),
        (OPEN, "/v1/models", {"host": "[::1]:8090"}),
        (OPEN, "/metrics", {"host": "localhost:1"}),
    ],
)
def test_a_request_with_the_key_is_answered(
    access: Access, path: str, headers: dict[str, str]
) -> None:
    access.check(path, headers)


@pytest.mark.parametrize(
    ("access", "path", "headers", "status"),
    [
        (KEYED, "/v1/models", {}, 401),
        (KEYED, "/v1/models", {"authorization": "Bearer ké"}, 401),
        (KEYED, "/v1/models", {"authorization": "Basic key"}, 401),
        (KEYED, "/v1/models", {"authorization": "Bearer token"}, 401),
        (KEYED, "/engine/generate", {"authorization": "Bearer key"}, 401),
        (OPEN, "/engine/generate", {"host": "localhost"}, 401),
        (OPEN, "/v1/models", {"host": "evil.example:8090"}, 403),
        (OPEN, "/v1/models", {}, 403),
    ],
)
@pytest.mark.attack("serve")
def test_a_request_without_the_key_is_refused(
    access: Access, path: str, headers: dict[str, str], status: int
) -> None:
    with pytest.raises(ApiError) as raised:
        access.check(path, headers)
    assert raised.value.status == status


@pytest.mark.attack("serve")
def test_another_host_needs_a_key() -> None:
    with pytest.raises(InputError, match=r"10\.0\.0\.7 can be reached"):
        access_for("10.0.0.7", "token", None, None)
    assert access_for("10.0.0.7", "token", "KEY", "k") == Access("token", "k")


@pytest.mark.parametrize("key", [None, ""])
def test_a_key_that_is_not_set_is_named(key: str | None) -> None:
    with pytest.raises(InputError, match="THE_KEY is not set"):
        access_for("127.0.0.1", "token", "THE_KEY", key)


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.1.2.3", True),
        ("::1", True),
        ("[::1]", True),
        ("localhost", True),
        ("10.0.0.7", False),
        ("::", False),
        ("example.org", False),
        ("", False),
    ],
)
@pytest.mark.attack("serve")
def test_what_only_this_machine_reaches(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback
