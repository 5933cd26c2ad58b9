"""Fixtures of every test: a Prefect home and server of the tests' own, and a folder for runs."""

from __future__ import annotations

import gc
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from left_open import close_leaked_files
from longest_files import LONGEST
from new_database import keep_new_database, kept_database
from postgres_server import postgres_server
from runs_database import runs_in_database

_FORGOTTEN = (
    "COLUMNS",
    "PREFECT_API_URL",
    "PREFECT_API_KEY",
    "PREFECT_PROFILE",
    "PREFECT_UI_URL",
)
_home = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    # Before Prefect is imported: it reads its home and profile then.
    folder = tempfile.mkdtemp(prefix="prefect-swarm-tests-")
    config.stash[_home] = folder
    for name in _FORGOTTEN:
        os.environ.pop(name, None)
    os.environ["PREFECT_HOME"] = folder
    os.environ["PREFECT_SERVER_ANALYTICS_ENABLED"] = "false"
    # Several processes load the model at once, and sixteen slots in each would take 1.5 GB.
    os.environ["PREFECT_INTEGRATIONS_SWARM_MODEL_MEMORY_GB"] = "2"
    os.environ["PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL"] = "CRITICAL"
    os.environ["SSL_CERT_FILE"] = str(_trusted(Path(folder)))
    # The same examples each time; HYPOTHESIS_PROFILE=exploring looks for others.
    settings.register_profile("repeatable", deadline=None, derandomize=True)
    settings.register_profile("exploring", deadline=None)
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


def _trusted(folder: Path) -> Path:
    """Write a certificate: a client reads all that it trusts, and no test asks over TLS."""
    import certifi

    end = "-----END CERTIFICATE-----\n"
    first, _, _ = Path(certifi.where()).read_text("utf-8").partition(end)
    (path := folder / "trusted.pem").write_text(first + end, "utf-8")
    return path


def pytest_unconfigure(config: pytest.Config) -> None:
    close_leaked_files()
    shutil.rmtree(config.stash[_home], ignore_errors=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # A long file that begins last leaves the other process without work for as long as it takes.
    places = {path: place for place, path in enumerate(LONGEST)}
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: (places.get(item.path, len(places)), item.path not in slow))


def pytest_collection_finish() -> None:
    # What was imported stays, and each look through it for garbage would take a fifth of a second.
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def prefect_server() -> Iterator[None]:
    """A Prefect server that all tests of a session share."""
    from prefect.testing.utilities import prefect_test_harness

    with prefect_test_harness(server_startup_timeout=180):
        keep_new_database()
        yield


@pytest.fixture(scope="session")
def new_database(prefect_server: None) -> Path:
    """A database as a server has it at first; with a copy a server starts in half the time."""
    return kept_database()


@pytest.fixture
def swarm_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder that runs and memory lie in."""
    folder = tmp_path / "swarm"
    monkeypatch.setenv("PREFECT_INTEGRATIONS_SWARM_HOME", str(folder))
    yield folder
    if store := sys.modules.get("prefect_swarm.memory.store"):
        store.close_stores()


@pytest.fixture(scope="session")
def postgres_and_its_folder() -> Iterator[tuple[str, Path]]:
    """The address of a PostgreSQL server that all tests of a session share, and its data folder."""
    with postgres_server() as server:
        yield server


@pytest.fixture(scope="session")
def postgres(postgres_and_its_folder: tuple[str, Path]) -> str:
    """The address of a PostgreSQL server that all tests of a session share."""
    return postgres_and_its_folder[0]


@pytest.fixture
def runs_database(postgres: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An empty database that runs are stored in; its address."""
    with runs_in_database(postgres, monkeypatch) as address:
        yield address
