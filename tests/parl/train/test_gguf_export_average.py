"""The mean of a kept adapter and of a file has half of each."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from prefect_swarm.errors import InputError
from prefect_swarm.parl.train import average_adapters
from prefect_swarm.parl.train.base import load_base
from prefect_swarm.parl.train.checkpoints import load_adapter, save_adapter, write_adapter
from random_lora import random_adapter


def test_it_is_kept_beside_the_adapter_with_half_of_each(tiny: Path, tmp_path: Path) -> None:
    base = load_base(tiny)
    adapter, other = random_adapter(base, seed=1, std=0.5), random_adapter(base, seed=2, std=0.5)
    save_adapter(tmp_path / "adapter-000003.pt", adapter, {"steps": "3"})
    write_adapter(other, tmp_path / "start.gguf", {"name": "Start", "base.sha256": base.sha256})
    path = average_adapters(tmp_path / "adapter-000003.pt", tmp_path / "start.gguf", base=tiny)
    found, facts = load_adapter(path)
    assert path == tmp_path / "mean-adapter-000003.pt"
    assert facts["steps"] == "3"
    assert len(facts["mean.with"]) == 64
    for name, matrix in found.a.items():
        torch.testing.assert_close(matrix, (adapter.a[name] + other.a[name]) / 2, atol=1e-3, rtol=0)
    for name, matrix in found.b.items():
        torch.testing.assert_close(matrix, (adapter.b[name] + other.b[name]) / 2, atol=1e-3, rtol=0)


def test_one_of_another_alpha_has_no_mean_with_it(tiny: Path, tmp_path: Path) -> None:
    base = load_base(tiny)
    adapter = random_adapter(base, seed=1, std=0.5)
    save_adapter(tmp_path / "adapter-000003.pt", adapter, {})
    other = type(adapter)(adapter.rank, adapter.alpha * 2, adapter.a, adapter.b)
    write_adapter(other, tmp_path / "start.gguf", {"name": "Start", "base.sha256": base.sha256})
    with pytest.raises(InputError, match="has alpha"):
        average_adapters(tmp_path / "adapter-000003.pt", tmp_path / "start.gguf", base=tiny)
