"""A configured Prefect server that can't be used is named with the setting that is wrong."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path
from typing import Any

import prefect
import pytest
from answering_server import Fixed, OwnCa, answering_server
from prefect.settings import (
    PREFECT_API_AUTH_STRING,
    PREFECT_API_KEY,
    PREFECT_API_SSL_CERT_FILE,
    PREFECT_API_URL,
    PREFECT_CLIENT_CUSTOM_HEADERS,
    get_current_settings,
    temporary_settings,
)
from prefect_swarm import swarm
from prefect_swarm.errors import ServerError
from prefect_swarm.flows.prefect_io.schema_flow import ensure_server
from prefect_swarm.flows.prefect_io.server_access import find_fault

HTML = {"Content-Type": "text/html; charset=utf-8"}
PAGE = Fixed(200, "<html>Sign in</html>", HTML)
LOGIN = Fixed(302, "", {"Location": "/login"}, {"/login": PAGE})
OWN = Fixed(404, '{"detail":"Flow run not found"}')
ALL = ("PREFECT_API_KEY", "PREFECT_API_AUTH_STRING", "PREFECT_CLIENT_CUSTOM_HEADERS")


@pytest.mark.parametrize(
    ("answer", "why", "settings"),
    [
        (Fixed(401), "it asks for a login (401)", ALL),
        (Fixed(401, "<html>", HTML), "it asks for a login (401)", ALL),
        (Fixed(403), "it forbids what is asked (403)", ALL),
        (Fixed(407), "the proxy asks for a login (407)", ("HTTP_PROXY",)),
        (PAGE, "a page for people, such as a login's", ("PREFECT_API_URL", ALL[2])),
        (LOGIN, "such as a login's, at http://127.0.0.1:", ("PREFECT_API_URL", ALL[2])),
        (Fixed(404, '{"detail":"Not Found"}'), "not Prefect's API (404)", ("PREFECT_API_URL",)),
        (Fixed(404, "404 page not found"), "not Prefect's API (404)", ("PREFECT_API_URL",)),
        (Fixed(200, '{"ok":true}'), "not Prefect's API (200)", ("PREFECT_API_URL",)),
        (Fixed(200, "OK"), "not Prefect's API (200)", ("PREFECT_API_URL",)),
    ],
    ids=lambda value: f"{value.status}" if isinstance(value, Fixed) else "",
)
def test_a_login_is_named_with_the_settings_that_may_be_missing(
    answer: Fixed, why: str, settings: tuple[str, ...]
) -> None:
    with answering_server(answer) as server:
        fault = find_fault(f"{server.url}/api")
    assert fault is not None
    assert fault.is_setting
    assert why in fault.why
    assert all(name in fault.fix for name in settings)


@pytest.mark.parametrize("address", ["localhost:4200/api", "foo", "http://a:b:c/api"])
def test_what_is_no_address_is_a_wrong_setting(address: str) -> None:
    fault = find_fault(address)
    assert fault is not None
    assert (fault.is_setting, "PREFECT_API_URL" in fault.fix) == (True, True)
    assert fault.why.startswith("it is not an address: ")


def test_a_key_that_is_refused_is_not_called_missing() -> None:
    with answering_server(Fixed(401)) as server, temporary_settings({PREFECT_API_KEY: "old"}):
        fault = find_fault(server.url)
    assert fault is not None
    assert fault.why == "it refuses the key or password (401)"


@pytest.mark.parametrize("status", [200, 404, 408, 429, 503])
def test_a_server_that_answers_or_is_busy_can_be_used(status: int) -> None:
    with answering_server(Fixed(status, '{"id":"0"}' if status == 200 else OWN.body)) as server:
        assert find_fault(server.url) is None


@pytest.mark.parametrize("answers", [True, False])
def test_a_busy_database_is_no_fault_where_the_server_itself_answers(answers: bool) -> None:
    released = threading.Event()
    paths = {"/health": Fixed(200, "true")} if answers else {}
    with answering_server(Fixed(200, "{}", {}, paths, hold=released)) as server:
        fault = find_fault(server.url, timeout_s=0.2)
        released.set()
    assert (fault is None) == answers
    assert fault is None or (fault.is_setting, fault.why) == (False, "timed out")


def test_proxies_that_a_program_sets_after_the_import_are_passed_by_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.setenv(name, "corp.example")
    with answering_server(OWN) as server, temporary_settings({PREFECT_API_URL: server.url}):
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
        ensure_server()
        assert len(server.asked) == 1
    assert "127.0.0.1" in os.environ["no_proxy"]


@pytest.mark.parametrize("status", [500, 502, 504])
def test_a_broken_server_is_no_wrong_setting(status: int) -> None:
    with answering_server(Fixed(status)) as server:
        fault = find_fault(server.url)
    assert fault is not None
    assert (fault.is_setting, fault.why) == (False, f"it answers {status}")


@pytest.mark.parametrize(
    ("settings", "sent"),
    [
        ({PREFECT_API_KEY: "k"}, {"authorization": "Bearer k"}),
        ({PREFECT_API_AUTH_STRING: "a:b"}, {"authorization": "Basic YTpi"}),
        ({PREFECT_CLIENT_CUSTOM_HEADERS: '{"X-Gate": "open"}'}, {"x-gate": "open"}),
    ],
    ids=["key", "auth string", "custom headers"],
)
def test_it_is_asked_with_what_the_settings_have(
    settings: dict[Any, Any], sent: dict[str, str]
) -> None:
    with answering_server(OWN) as server, temporary_settings(settings):
        assert find_fault(server.url) is None
    assert sent.items() <= server.asked[0].items()


def test_a_certificate_of_an_own_ca_is_named_with_the_settings_and_taken_with_them(
    tmp_path: Path,
) -> None:
    own = OwnCa.make(tmp_path)
    with answering_server(OWN, own) as server:
        fault = find_fault(server.url)
        with temporary_settings({PREFECT_API_SSL_CERT_FILE: str(own.ca)}):
            assert get_current_settings().api.ssl_cert_file == str(own.ca)
            assert find_fault(server.url) is None
    assert fault is not None
    assert "its certificate isn't accepted: unable to get local issuer certificate" in fault.why
    assert "PREFECT_API_SSL_CERT_FILE" in fault.fix
    assert "SSL_CERT_FILE" in fault.fix


def test_from_python_it_is_an_error_of_ours() -> None:
    with (
        answering_server(Fixed(401)) as server,
        temporary_settings({PREFECT_API_URL: server.url}),
        pytest.raises(ServerError, match="it asks for a login"),
    ):
        asyncio.run(swarm("Anything"))


FORBIDDEN = Fixed(403, '{"detail":"Forbidden"}')
VERSION = Fixed(200, f'"{prefect.__version__}"')
READ_ONLY = Fixed(404, OWN.body, {}, {"/flows/": FORBIDDEN, "/admin/version": VERSION})


@pytest.mark.usefixtures("swarm_home")
def test_a_key_that_may_read_and_not_write_is_an_error_of_ours() -> None:
    with (
        answering_server(READ_ONLY) as server,
        temporary_settings({PREFECT_API_URL: server.url}),
        pytest.raises(ServerError, match=r"forbids what is asked \(403\) for POST /flows/") as why,
    ):
        asyncio.run(swarm("Anything", model="embedded"))
    assert all(name in why.value.fix for name in ("what the key may do", *ALL))


@pytest.mark.parametrize("command", [["run", "x"], ["doctor"], ["watch", "12345678"]], ids=" ".join)
def test_commands_say_it(command: list[str], swarm_home: Path) -> None:
    from prefect_swarm.cli.app import app
    from typer.testing import CliRunner

    with answering_server(LOGIN) as server, temporary_settings({PREFECT_API_URL: server.url}):
        done = CliRunner().invoke(app, command)
    assert done.exit_code == 1
    shown = " ".join(done.output.split())
    assert f"The Prefect server at {server.url} can't be used: it answers with a page" in shown
    assert "PREFECT_CLIENT_CUSTOM_HEADERS" in shown
