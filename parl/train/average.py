"""The mean of two adapters, matrix by matrix.

What a run came to and what it went on from: their mean keeps most of what each of both is better at
(model soups, Wortsman et al., 2022, arXiv:2203.05482).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from torch import Tensor

from ...blocks.llama.adapter import file_hash
from .base import load_base
from .kept import load_adapter, save_adapter
from .lora import Adapter
from .start import read_adapter

__all__ = ["keep_mean", "mean"]


def keep_mean(checkpoint: Path, start: Path, base: Path) -> Path:
    """Keep the mean beside the checkpoint; see `averaged`."""
    adapter, facts = load_adapter(checkpoint)
    seed = int(facts.get("seed", 0))
    earlier = read_adapter(start, load_base(base), adapter.rank, adapter.alpha, seed)
    path = checkpoint.with_name(f"mean-{checkpoint.name}")
    save_adapter(path, mean(adapter, earlier), {**facts, "mean.with": file_hash(start)})
    return path


def mean(one: Adapter, other: Adapter) -> Adapter:
    """Halve the sum of adapters of the same matrices, rank and alpha."""
    return Adapter(one.rank, one.alpha, _halved(one.a, other.a), _halved(one.b, other.b))


def _halved(some: Mapping[str, Tensor], others: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: (some[name].detach() + others[name].detach()) / 2 for name in some}
