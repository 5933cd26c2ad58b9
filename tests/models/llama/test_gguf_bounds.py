"""Whatever a model file's header counts, it is read in bounds or refused with path and reason."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest
from prefect_swarm.errors import ModelError
from prefect_swarm.models.llama.gguf import check_model_file

HUGE = 2**63


def refusal(path: str | Path) -> str:
    with pytest.raises(ModelError) as caught:
        check_model_file(path)
    assert caught.value.fix
    return caught.value.problem


def text(value: bytes, length: int | None = None) -> bytes:
    return struct.pack("<Q", len(value) if length is None else length) + value


def file_of(pairs: bytes = b"", tensors: bytes = b"", counts: tuple[int, int] = (1, 1)) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", 3, *counts) + pairs + tensors


def pair(kind: int, value: bytes) -> bytes:
    return text(b"a") + struct.pack("<I", kind) + value


TENSOR = text(b"t") + struct.pack("<IQIQ", 1, 1, 0, 0)
ATTACKS = {
    "tensors without end": file_of(counts=(HUGE, 0)),
    "pairs without end": file_of(counts=(1, HUGE)),
    "the most that can be counted": file_of(counts=(2**64 - 1, 2**64 - 1)),
    "a key without end": file_of(text(b"a", HUGE)),
    "a text without end": file_of(pair(8, text(b"a", 2**64 - 1))),
    "texts without end": file_of(pair(9, struct.pack("<IQ", 8, HUGE))),
    "numbers without end": file_of(pair(9, struct.pack("<IQ", 4, HUGE)), TENSOR),
    "lists of lists": file_of(pair(9, struct.pack("<IQIQ", 9, 1, 9, 1)), TENSOR),
    "a kind that isn't": file_of(pair(99, b""), TENSOR),
    "a list of a kind that isn't": file_of(pair(9, struct.pack("<IQ", 99, 1)), TENSOR),
    "a tensor of many dimensions": file_of(pair(4, b"\0" * 4), text(b"t") + b"\xff" * 40),
    "a tensor beyond the file": file_of(
        pair(4, b"\0" * 4), text(b"t") + struct.pack("<IQIQ", 1, 1, 0, HUGE)
    ),
    "a tensor's name without end": file_of(pair(4, b"\0" * 4), text(b"t", HUGE)),
    "no tensor": file_of(counts=(0, 0)),
    "an alignment of nothing": b"GGUF"
    + struct.pack("<IQQ", 3, 1, 1)
    + text(b"general.alignment")
    + struct.pack("<II", 4, 0)
    + TENSOR,
    "an alignment below nothing": b"GGUF"
    + struct.pack("<IQQ", 3, 1, 1)
    + text(b"general.alignment")
    + struct.pack("<Iq", 11, -HUGE)
    + TENSOR,
    "a byte order of others": b"GGUF" + struct.pack(">IQQ", 3, 1, 1) + TENSOR,
    "the magic alone": b"GGUF",
}


@pytest.mark.parametrize("data", ATTACKS.values(), ids=ATTACKS)
@pytest.mark.attack("parsers")
def test_a_header_that_counts_wrongly_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(data)
    assert str(path) in refusal(path)


SPARSE = {
    "tensors of nothing": file_of(counts=(HUGE >> 8, 0)),
    "pairs of nothing": file_of(counts=(1, HUGE >> 8)),
    "texts of nothing": file_of(pair(9, struct.pack("<IQ", 8, 1 << 35))),
    "a text of gigabytes": file_of(pair(8, text(b"a", 1 << 35))),
}


@pytest.mark.parametrize("data", SPARSE.values(), ids=SPARSE)
@pytest.mark.attack("parsers")
def test_a_file_of_a_terabyte_of_nothing_is_refused_at_once(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(data)
    os.truncate(path, 1 << 40)
    assert "header can't be read" in refusal(path)


@pytest.mark.attack("parsers")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "model.gguf")
    assert "is a pipe or a device" in refusal(tmp_path / "model.gguf")


@pytest.mark.parametrize("name", ["a\0b", "a" * 5_000, "~nobody-of-that-name/a", "/dev/zero"])
@pytest.mark.attack("parsers")
def test_a_name_that_no_file_has_is_refused(name: str) -> None:
    assert name[:20] in refusal(name)
