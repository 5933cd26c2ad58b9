"""Base models that can be trained, and those that can't."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from prefect_swarm.errors import ModelError
from prefect_swarm.parl.train.base import load_base


def test_a_base_knows_its_shape_and_its_file(tiny: Path) -> None:
    base = load_base(tiny)
    assert (base.shape.name, base.shape.layers, base.shape.head) == ("Tiny", 2, 16)
    assert base.sha256 == hashlib.sha256(tiny.read_bytes()).hexdigest()


def test_a_base_without_an_output_matrix_uses_its_embeddings(tiny: Path) -> None:
    base = load_base(tiny)
    assert torch.equal(base["output"], base["token_embd"])


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"architecture": "qwen2"}, "architecture is qwen2"),
        ({"scaling": "yarn"}, "rotary embedding is scaled"),
    ],
)
def test_another_kind_of_model_is_refused(
    other_model: Callable[..., Path], changed: dict[str, str], why: str
) -> None:
    path = other_model(**changed)
    with pytest.raises(ModelError, match=why):
        load_base(path)


def test_a_file_that_is_no_gguf_is_refused(tmp_path: Path) -> None:
    (tmp_path / "no.gguf").write_text("no")
    with pytest.raises(ModelError, match="not GGUF"):
        load_base(tmp_path / "no.gguf")
