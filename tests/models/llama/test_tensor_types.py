"""The table of types is llama.cpp's own, and fills the embedded model's file to its end."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from prefect_swarm.models.llama.gguf import read_tensors
from prefect_swarm.models.llama.once import TYPES, bytes_by_type, bytes_of, is_matrix, type_name


def test_the_embedded_model_has_210_slow_matrices_and_one_embedding(demo_path: Path) -> None:
    matrices = filter(is_matrix, read_tensors(demo_path, "model file"))
    assert Counter(map(type_name, matrices)) == {"Q4_1": 210, "Q8_0": 1}


def test_the_last_tensor_of_the_embedded_model_ends_with_its_file(demo_path: Path) -> None:
    last = max(read_tensors(demo_path, "model file"), key=lambda tensor: tensor.start)
    assert last.start + (bytes_of(last) or 0) == demo_path.stat().st_size


def test_bytes_are_summed_by_type(demo_path: Path) -> None:
    sizes = bytes_by_type(read_tensors(demo_path, "model file"))
    assert set(sizes) == {"Q8_0", "Q4_1", "F32"}
    assert 0.9 < sum(sizes.values()) / demo_path.stat().st_size < 1


def test_names_and_sizes_are_those_of_the_gguf_package() -> None:
    gguf = pytest.importorskip("gguf")
    known = {int(kind): kind.name for kind in gguf.GGMLQuantizationType}
    sizes = {int(kind): size for kind, size in gguf.GGML_QUANT_SIZES.items()}
    for kind, (name, items, size) in TYPES.items():
        assert (known[kind], sizes[kind]) == (name, (items, size))
