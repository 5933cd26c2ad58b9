"""The mean of two adapters, matrix by matrix.

What a run came to and what it went on from: their mean keeps most of what each of both is better at
(model soups, Wortsman et al., 2022, arXiv:2203.05482).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import gguf
import numpy as np
from torch import Tensor

from ...blocks.llama.adapter import file_hash
from ...errors import InputError
from ...files import close_to_others, make_folder
from .checkpoints import load_adapter, save_adapter
from .learner import read_adapter
from .network.base import load_base
from .network.lora import Adapter

__all__ = ["keep_mean", "mean", "write_adapter", "write_gguf"]


def keep_mean(checkpoint: Path, start: Path, base: Path) -> Path:
    """Keep the mean beside the checkpoint; see `averaged`."""
    adapter, facts = load_adapter(checkpoint)
    seed = int(facts.get("seed", 0))
    earlier = read_adapter(start, load_base(base), adapter.rank, adapter.alpha, seed)
    path = checkpoint.with_name(f"mean-{checkpoint.name}")
    save_adapter(path, mean(adapter, earlier), {**facts, "mean.with": file_hash(start)})
    return path


def mean(first: Adapter, second: Adapter) -> Adapter:
    """Halve the sum of adapters of the same matrices, rank and alpha."""
    return Adapter(first.rank, first.alpha, _halved(first.a, second.a), _halved(first.b, second.b))


def _halved(some: Mapping[str, Tensor], others: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: (some[name].detach() + others[name].detach()) / 2 for name in some}


def write_gguf(checkpoint: Path, target: Path, name: str) -> None:
    """Write a kept adapter as GGUF; see `export`."""
    adapter, facts = load_adapter(checkpoint)
    write_adapter(adapter, target, {"name": name, **facts})


def write_adapter(adapter: Adapter, target: Path, facts: dict[str, str]) -> None:
    """Write a GGUF adapter in 16 bits; the file appears whole or not at all.

    The rows of `attn_q` and `attn_k` need no reordering: the adapter was trained over weights in
    the order of the file that serves (`Base` says more).

    Args:
        facts: `name` becomes `general.name`, all others are stored as `swarm.…`.

    Raises:
        InputError: A number is too large for 16 bits, or is none.
    """
    part = target.with_suffix(".part")
    writer = gguf.GGUFWriter(part, "llama")
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", adapter.alpha)
    for key, value in facts.items():
        writer.add_string("general.name" if key == "name" else f"swarm.{key}", value)
    for name, a in adapter.a.items():
        for suffix, matrix in (("lora_a", a), ("lora_b", adapter.b[name])):
            with np.errstate(over="ignore"):
                half = matrix.detach().numpy().astype(np.float16)
            if not np.isfinite(half).all():
                raise InputError(f"The adapter of {name} has no finite 16-bit form.", "Lower lr.")
            writer.add_tensor(f"{name}.weight.{suffix}", half)
    make_folder(target.parent)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    close_to_others(part)
    part.replace(target)
