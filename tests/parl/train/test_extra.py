"""Without its extra, training says how to install it."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from prefect_swarm.errors import InputError
from prefect_swarm.parl.train import TrainConfig, export, train


@pytest.fixture
def _no_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    def find(name: str) -> object:
        return None if name == "torch" else importlib.util.find_spec(name)

    monkeypatch.setattr("prefect_swarm.parl.train.config.find_spec", find)


@pytest.mark.usefixtures("_no_torch")
def test_training_names_the_extra(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"needs torch.*prefect-swarm\[train\]"):
        train([("a", "b")], [], TrainConfig(steps=1), tmp_path, base=tmp_path)


@pytest.mark.usefixtures("_no_torch")
def test_export_names_the_extra(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"prefect-swarm\[train\]"):
        export(tmp_path / "a.pt", tmp_path / "a.gguf")


def test_nothing_to_learn_from_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no example"):
        train([], [], TrainConfig(steps=1), tmp_path, base=tmp_path)


def test_importing_the_package_does_not_import_torch() -> None:
    code = "import sys, prefect_swarm.parl.train; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]
