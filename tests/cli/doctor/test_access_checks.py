"""The doctor says who may approve by a server of the user's own: whoever reaches its API."""

from __future__ import annotations

import pytest
from answering_server import Fixed, answering_server
from prefect.settings import PREFECT_API_AUTH_STRING, PREFECT_API_URL, temporary_settings
from prefect_swarm.cli.doctor.prefect_checks import check_access
from prefect_swarm.flows.prefect_io.server_access import (
    Opening,
    find_opening,
    judge_opening,
    shown_address,
)

from ..conftest import Invoke

OWN = '{"detail":"Flow run not found"}'
EVERYBODY = {"Access-Control-Allow-Origin": "*"}


@pytest.mark.attack("server")
@pytest.mark.parametrize(
    ("status", "kind", "allowed", "opening"),
    [
        (404, "own", "", Opening(to_all=True, to_pages=False)),
        (404, "own", "*", Opening(to_all=True, to_pages=True)),
        (404, "own", "https://page.example", Opening(to_all=True, to_pages=True)),
        (404, "own", "https://prefect.corp.example", Opening(to_all=True, to_pages=False)),
        (422, "own", "", Opening(to_all=True, to_pages=False)),
        (401, "own", "*", Opening(to_all=False, to_pages=False)),
        (403, "page", "", Opening(to_all=False, to_pages=False)),
        (200, "page", "*", Opening(to_all=False, to_pages=False)),
        (503, "own", "*", None),
        (500, "own", "*", None),
        (404, "no way", "*", None),
    ],
)
def test_whom_a_server_lets_in_is_seen_by_what_a_stranger_is_answered(
    status: int, kind: str, allowed: str, opening: Opening | None
) -> None:
    assert judge_opening(status, kind, allowed) == opening  # type: ignore[arg-type]


@pytest.mark.attack("server")
def test_a_server_without_a_login_is_a_warning_that_says_how_to_close_it(invoke: Invoke) -> None:
    with (
        answering_server(Fixed(404, OWN, EVERYBODY)) as server,
        temporary_settings({PREFECT_API_URL: f"{server.url}/api"}),
    ):
        shown = " ".join(invoke("doctor").stdout.split())
    assert "anyone who reaches its API may read runs and approve" in shown
    assert "any web page in a browser" in shown
    for way in ("PREFECT_SERVER_API_AUTH_STRING", "proxy with a login", "network"):
        assert way in shown


@pytest.mark.attack("server")
def test_the_stranger_shows_no_login_of_the_user_s() -> None:
    with (
        answering_server(Fixed(401)) as server,
        temporary_settings({PREFECT_API_AUTH_STRING: "ann:secret"}),
    ):
        opening = find_opening(server.url.replace("://", "://ann:secret@"))
        assert not any("authorization" in headers for headers in server.asked)
    assert opening == Opening(to_all=False, to_pages=False)
    (check,) = check_access(opening)
    assert check.status == "ok"
    assert "anyone who has it may read runs and approve" in check.detail


def test_nothing_is_said_where_nothing_is_known() -> None:
    assert find_opening("http://127.0.0.1:9/api") is None
    assert find_opening("no address") is None
    assert list(check_access(None)) == []


@pytest.mark.attack("server")
@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://ann:secret@host:4200/api", "http://host:4200/api"),
        ("https://ann:s@cr@t@host/api", "https://host/api"),
        ("http://host:4200/api", "http://host:4200/api"),
        ("http://secret@[::1]:4200/api", "http://[::1]:4200/api"),
    ],
)
def test_no_message_shows_a_password_that_stands_in_an_address(url: str, shown: str) -> None:
    assert shown_address(url) == shown


@pytest.mark.attack("server")
def test_an_error_shows_no_password_of_an_address(invoke: Invoke) -> None:
    with temporary_settings({PREFECT_API_URL: "http://ann:hunter2@127.0.0.1:9/api"}):
        done = invoke("doctor")
    assert "127.0.0.1:9/api" in done.stdout
    assert "hunter2" not in done.output
