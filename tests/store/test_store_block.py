"""The address of the database of the runs, where a Secret block of the Prefect server has it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from prefect.blocks.system import Secret
from prefect.settings import PREFECT_API_URL, temporary_settings
from prefect_swarm.errors import InputError, ServerError
from prefect_swarm.settings import SwarmSettings
from prefect_swarm.store.postgres import PostgresRun
from prefect_swarm.store.runs import find_run, open_run, store_address
from provider_runs import closed_port
from pydantic import SecretStr
from runs_database import STORE

pytestmark = pytest.mark.usefixtures("prefect_server")

BLOCK = "block:secret/runs-of-swarms"


@pytest.fixture(autouse=True)
def named(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv(STORE, BLOCK)
    store_address.cache_clear()
    yield
    store_address.cache_clear()


def save(value: str) -> None:
    block = Secret(value=SecretStr(value))  # pyright: ignore[reportCallIssue]
    block.save("runs-of-swarms", overwrite=True, _sync=True)  # pyright: ignore


def test_runs_are_in_the_database_that_the_block_names(
    runs_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(runs_database)
    monkeypatch.setenv(STORE, BLOCK)
    store_address.cache_clear()
    run = open_run("abc")
    assert isinstance(run, PostgresRun)
    run.write_output("S1", "text")
    assert open_run("abc").output("S1") == "text"
    assert str(SwarmSettings().store) == BLOCK


def test_the_block_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    save("postgresql://ann:sesame@db/runs")
    assert store_address() == "postgresql://ann:sesame@db/runs"
    with temporary_settings(updates={PREFECT_API_URL: None}):
        assert store_address() == "postgresql://ann:sesame@db/runs"


def test_a_block_with_something_else_is_refused_without_what_it_has() -> None:
    save("ann:sesame@db/runs")
    with pytest.raises(InputError, match="has no address of a PostgreSQL server") as caught:
        find_run("abc")
    assert "sesame" not in str(caught.value)


def test_a_missing_block_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(STORE, "block:secret/none")
    with pytest.raises(InputError, match="There is no block:secret/none") as caught:
        store_address()
    assert "prefect block create secret" in caught.value.fix


def test_without_a_server_the_block_has_no_place() -> None:
    with (
        temporary_settings(updates={PREFECT_API_URL: None}),
        pytest.raises(InputError, match="no server is set"),
    ):
        store_address()


def test_a_server_that_is_away_is_said() -> None:
    url = f"http://127.0.0.1:{closed_port()}/api"
    with (
        temporary_settings(updates={PREFECT_API_URL: url}),
        pytest.raises(ServerError, match="can't be read"),
    ):
        store_address()


@pytest.mark.parametrize("value", ["block:runs", "block:secret/", "block:swarm-model/runs"])
def test_what_is_no_secret_block_is_refused(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(STORE, value)
    with pytest.raises(InputError, match=STORE):
        store_address()
