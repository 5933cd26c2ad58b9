"""`requantise` writes a new file, beside the old one, and loses nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from prefect_swarm.models.llama import prepared
from prefect_swarm.models.llama.gguf import demo_model_path, file_hash, source_of
from prefect_swarm.models.llama.requantised import Processor

from .conftest import Invoke


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of the user's, on a processor that is slow with it."""

    def x86() -> Processor:
        return "x86-avx512"

    monkeypatch.setattr(prepared, "processor", x86)
    path = tmp_path / "mine.gguf"
    path.symlink_to(demo_model_path())
    return path


@pytest.mark.model
def test_it_writes_a_file_that_knows_its_source(invoke: Invoke, mine: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.gguf"
    result = invoke("requantise", str(mine), "--to", "q4_0", "--output", str(new), "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout) == {
        "file": str(new),
        "bytes": new.stat().st_size,
        "source": str(mine.resolve()),
        "to": "q4_0",
    }
    assert source_of(new) == file_hash(mine.resolve())
    assert new.stat().st_size < mine.stat().st_size


def test_a_file_that_is_there_is_not_replaced(invoke: Invoke, mine: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.gguf"
    new.write_text("something else")
    result = invoke("requantise", str(mine), "--output", str(new))
    assert result.exit_code == 2
    assert "exists already" in result.stderr
    assert new.read_text() == "something else"


def test_a_file_that_is_fast_as_it_is_stays(
    invoke: Invoke, mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def other() -> Processor:
        return "other"

    monkeypatch.setattr(prepared, "processor", other)
    result = invoke("requantise", str(mine), "--output", str(tmp_path / "new.gguf"))
    assert result.exit_code == 2
    assert "nothing faster on this processor" in result.stderr


def test_a_file_that_is_no_model_is_refused(invoke: Invoke, tmp_path: Path) -> None:
    path = tmp_path / "page.gguf"
    path.write_text("<html>")
    result = invoke("requantise", str(path))
    assert result.exit_code != 0
    assert "is not GGUF" in result.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["page.gguf"]
