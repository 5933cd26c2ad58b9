"""A full disk is found before anything is paid for; one that fills up later costs no answer."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from prefect.settings import get_current_settings

BENCHES = Path(__file__).parents[2] / "benches"
CALLS = 17
MOUNT = ("unshare", "--user", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "none", "/mnt")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("prefect_server"),
    pytest.mark.skipif(
        subprocess.run(MOUNT, capture_output=True, check=False).returncode != 0,
        reason="this user may not mount a small disk",
    ),
]

RunOn = Callable[[int, int], dict[str, Any]]


@pytest.fixture
def run_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunOn:
    """Run a swarm whose disk is full from one call to another."""
    monkeypatch.syspath_prepend(BENCHES)
    api = get_current_settings().api.url
    assert api is not None
    run_on_small_disk = import_module("kills.full_disk").run_on_small_disk
    environment = {**os.environ, "PREFECT_API_URL": api}
    return lambda fill, free: run_on_small_disk(tmp_path, fill, free, environment)


def test_a_disk_that_is_full_is_named_with_what_is_needed_before_the_first_call(
    tmp_path: Path, run_on: RunOn
) -> None:
    found = run_on(0, 0)
    assert found["error"].startswith(f"The disk has no room for {tmp_path / 'swarm'}")
    assert "16.0 MiB are needed, 0.0 KiB are free. Free some room" in found["error"]
    assert found["asked"] == []
    assert found["left"] == [], "no temporary file, no stump of a run"


def test_a_disk_that_fills_up_costs_no_answer_and_all_is_stored_when_there_is_room_again(
    run_on: RunOn,
) -> None:
    found = run_on(3, 12)
    assert (found["status"], len(found["asked"])) == ("completed", CALLS)
    assert (found["unstored"], found["is_stored"], found["outputs"]) == ([], True, 12)
    assert len(found["left"]) == 1, "the run, and no temporary file"
    events = [line for line in found["logged"] if "its events are not kept any more" in line]
    (files,) = (line for line in found["logged"] if line not in events)
    assert len(events) == 1, "events that are late are worth nothing: they end"
    assert "The disk has no room for" in files
    assert "The run goes on, and tries again." in files


def test_a_disk_that_stays_full_costs_no_answer_and_the_process_can_store_it_later(
    run_on: RunOn,
) -> None:
    found = run_on(3, 0)
    assert found["status"] == "completed"
    assert "result.json" in found["unstored"]
    assert "There is still no room for" in found["logged"][-1]
    assert len(found["asked"]) == CALLS
    assert (found["again"], found["is_stored"]) == ("completed", True)
