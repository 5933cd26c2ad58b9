"""A busy server is waited for by Prefect's client, and that is said."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
from answering_server import Fixed, answering_server
from prefect.client.orchestration import PrefectClient
from prefect.exceptions import PrefectHTTPStatusError
from prefect.settings import PREFECT_CLIENT_MAX_RETRIES, temporary_settings
from prefect_swarm.flows.prefect_io.server_access import BackoffNotes, say_backoffs, server_waits

BUSY = "Received response with retryable status code 503. Another attempt will be made in {}s."


def record(message: str, level: int = logging.DEBUG) -> logging.LogRecord:
    return logging.LogRecord("prefect.client", level, "", 0, message, (), None)


def notes(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.name == "prefect_swarm.server"]


def test_what_prefects_client_waits_for_is_said(caplog: pytest.LogCaptureFixture) -> None:
    async def ask(url: str) -> None:
        async with PrefectClient(url, httpx_settings={"timeout": 5}) as client:
            await client.read_flow_runs()

    say_backoffs()
    # The server names how long to wait, so that the test needn't.
    busy = Fixed(503, "{}", {"Retry-After": "0"})
    with (
        answering_server(busy) as server,
        temporary_settings({PREFECT_CLIENT_MAX_RETRIES: 1}),
        pytest.raises(PrefectHTTPStatusError),
    ):
        asyncio.run(ask(server.url))
    assert notes(caplog)[0] == (
        "The Prefect server is busy: it answers 503. It is asked again in 0 s."
    )
    assert not [r for r in caplog.records if r.name == "prefect.client"]


def test_all_that_wait_at_once_are_one_sentence(caplog: pytest.LogCaptureFixture) -> None:
    seconds = iter([10.0, 10.5, 11.9, 12.1])
    filtering = BackoffNotes(lambda: False, lambda: next(seconds))
    for waited in (2, 2.2, 2.1, 4):
        assert not filtering.filter(record(BUSY.format(waited)))
    assert notes(caplog) == [
        "The Prefect server is busy: it answers 503. It is asked again in 2 s.",
        "The Prefect server is busy: it answers 503. It is asked again in 4 s.",
    ]
    assert [round(each.seconds, 3) for each in server_waits()][-2:] == [2.0, 4.0]


def test_a_connection_that_breaks_is_no_status(caplog: pytest.LogCaptureFixture) -> None:
    message = "Encountered retryable exception. Another attempt will be made in 2.0s."
    BackoffNotes(lambda: False, lambda: 1.0).filter(record(message))
    assert notes(caplog) == ["The Prefect server gives no answer. It is asked again in 2 s."]


@pytest.mark.parametrize(
    ("enabled", "level", "logged"),
    [(True, logging.DEBUG, True), (False, logging.DEBUG, False), (False, logging.INFO, True)],
)
def test_what_would_have_been_logged_still_is(enabled: bool, level: int, logged: bool) -> None:
    filtering: Any = BackoffNotes(lambda: enabled, lambda: 1.0)
    assert filtering.filter(record("Connecting to API", level)) is logged
