"""Runs that are killed at any moments lose nothing, and double nothing."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from shutil import copyfile

import pytest

BENCHES = Path(__file__).parents[2] / "benches"


@pytest.mark.slow
@pytest.mark.parametrize("kills", [6, pytest.param(20, marks=pytest.mark.exhaustive)])
def test_kills_lose_nothing_and_double_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, new_database: Path, kills: int
) -> None:
    monkeypatch.syspath_prepend(BENCHES)
    trial = import_module("kills.trial")
    server = import_module("own_prefect").OwnServer(tmp_path)
    copyfile(new_database, tmp_path / "prefect.db")
    server.start()
    try:
        with trial.nursery(server, tmp_path / "nursery.log") as process:
            tally = trial.Trial(server, tmp_path, process, seed=27).go_on(kills)
    finally:
        server.kill()
    assert tally.faults == []
    assert tally.strikes == kills
