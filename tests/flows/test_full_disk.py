"""A full disk is found before anything is paid for; one that fills up later costs no answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from prefect.settings import get_current_settings

SCRIPT = Path(__file__).with_name("small_disk.py")
UNSHARE = ("unshare", "--user", "--map-root-user", "--mount")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("prefect_server"),
    pytest.mark.skipif(
        subprocess.run([*UNSHARE, "true"], capture_output=True, check=False).returncode != 0,
        reason="this user may not mount a small disk",
    ),
]


def run_on(disk: Path, scenario: str) -> dict[str, Any]:
    api = get_current_settings().api.url
    assert api is not None
    ended = subprocess.run(
        [*UNSHARE, sys.executable, str(SCRIPT), str(disk), scenario],
        env={**os.environ, "PREFECT_API_URL": api},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    return json.loads(ended.stdout)


def test_a_disk_that_is_full_is_named_with_what_is_needed_before_the_first_call(
    tmp_path: Path,
) -> None:
    found = run_on(tmp_path, "before")
    assert found["error"].startswith(f"The disk has no room for {tmp_path / 'swarm'}")
    assert "16.0 MiB are needed, 0.0 KiB are free. Free some room" in found["error"]
    assert found["asked"] == {}
    assert found["left"] == [], "no temporary file, no stump of a run"


def test_a_disk_that_fills_up_costs_no_answer_and_all_is_stored_when_there_is_room_again(
    tmp_path: Path,
) -> None:
    found = run_on(tmp_path, "meanwhile")
    assert (found["status"], found["asked"]) == ("completed", {"do S1": 1, "do S2": 1})
    assert (found["unstored"], found["is_stored"]) == ([], True)
    assert found["outputs"] == ["S1", "S2"]
    assert len(found["left"]) == 1, "the run, and no temporary file"
    assert len(found["logged"]) == 1
    assert "The disk has no room for" in found["logged"][0]
    assert "The run goes on, and tries again." in found["logged"][0]


def test_a_disk_that_stays_full_costs_no_answer_and_the_process_can_store_it_later(
    tmp_path: Path,
) -> None:
    found = run_on(tmp_path, "throughout")
    assert (found["status"], found["answer"]) == ("completed", "about do S2")
    assert "result.json" in found["unstored"]
    assert "There is still no room for" in found["logged"][-1]
    assert found["asked"] == {"do S1": 1, "do S2": 1}
    assert (found["again"], found["is_stored"]) == ("completed", True)
