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
from new_database import keep_new_database, kept_database

_FORGOTTEN = ("PREFECT_API_URL", "PREFECT_API_KEY", "PREFECT_PROFILE", "PREFECT_UI_URL")
_TESTS = Path(__file__).parent
_LONGEST = (
    "test_server_services.py",
    "docs/commands/test_deploying.py",
    "flows/prefect_io/test_suspending.py",
    "cli/test_as_a_user.py",
    "docs/commands/test_lists.py",
    "test_deployment.py",
    "gates/python/test_unit.py",
    "flows/prefect_io/test_from_python.py",
    "parl/train/test_served.py",
    "parl/test_retrain.py",
    "gates/python/test_judged.py",
    "cli/test_bad_input.py",
    "flows/test_starting_again.py",
    "docs/commands/test_sessions.py",
    "cli/test_output_encodings.py",
    "flows/test_python.py",
    "flows/killed/test_calls.py",
    "flows/test_fork.py",
    "flows/provider/test_busy_providers.py",
    "flows/prefect_io/test_orphaned_task_runs.py",
    "flows/test_large_plans.py",
)
"""The files that take longest, by what they took; they begin first, in this order."""
_home = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    # Before Prefect is imported: it reads its home and profile then.
    folder = tempfile.mkdtemp(prefix="prefect-swarm-tests-")
    config.stash[_home] = folder
    for name in _FORGOTTEN:
        os.environ.pop(name, None)
    os.environ["PREFECT_HOME"] = folder
    os.environ["PREFECT_SERVER_ANALYTICS_ENABLED"] = "false"
    # Each test that has a folder of its own would make the model's prepared weights in it: 145 MB.
    os.environ["PREFECT_INTEGRATIONS_SWARM_REQUANTISE"] = "off"
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
    places = {_TESTS / name: place for place, name in enumerate(_LONGEST)}
    if missing := [path for path in places if not path.is_file()]:
        raise pytest.UsageError(f"conftest.py orders files that are not there: {missing}")
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
