"""A frozen model and the adapter over it that is trained."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from ...blocks.llama.adapter import check_adapter, check_base
from ...errors import InputError
from .config import TrainConfig
from .device import product_type
from .network.base import Base, open_gguf, read_tensors
from .network.lora import Adapter, new_adapter, sizes, widen
from .network.model import Model

__all__ = ["Learner", "new_learner", "read_adapter"]


@dataclass(frozen=True)
class Learner:
    """What learns: the model's weights stay as they are, the adapter's change in place."""

    model: Model
    adapter: Adapter


def new_learner(base: Base, config: TrainConfig, start: Path | None = None) -> Learner:
    """Put a new adapter over a model, or one from a file; see `read_adapter` for errors."""
    adapter = (
        new_adapter(base, config.rank, config.alpha, config.seed)
        if start is None
        else read_adapter(start, base, config.rank, config.alpha, config.seed)
    )
    return Learner(Model(base, product_type(config, base.device)), adapter)


def read_adapter(path: Path, base: Base, rank: int, alpha: float, seed: int) -> Adapter:
    """Read a GGUF adapter as matrices that can be trained.

    One of a lower rank is filled up with new matrices, which change nothing yet.

    Args:
        seed: Of the new matrices.

    Raises:
        InputError: Its rank is higher, its alpha is another share of its rank, or it doesn't adapt
            the matrices that are trained.
        ModelError: There is none, or it was made for another base.
    """
    check_base(check_adapter(path), base.path)
    reader = open_gguf(path)
    stored = read_tensors(reader, base.device)
    own = _rank(stored, rank, path)
    field = reader.get_field("adapter.lora.alpha")
    found = alpha * own / rank if field is None else float(field.contents())
    if not math.isclose(found * rank, alpha * own):
        raise InputError(
            f"{path} has alpha {found:g} at rank {own}, which doesn't match alpha {alpha:g} at "
            f"rank {rank}.",
            f"Give alpha {found * rank / own:g}.",
        )
    a: dict[str, Tensor] = {}
    b: dict[str, Tensor] = {}
    for layer in range(base.shape.layers):
        for matrix, (outputs, inputs) in sizes(base.shape).items():
            name = f"blk.{layer}.{matrix}"
            a[name] = _matrix(stored, f"{name}.weight.lora_a", (own, inputs), path)
            b[name] = _matrix(stored, f"{name}.weight.lora_b", (outputs, own), path)
    adapter = Adapter(own, found, a, b)
    if own == rank:
        return adapter
    return widen(adapter, new_adapter(base, rank - own, alpha - found, seed))


def _rank(stored: dict[str, Tensor], most: int, path: Path) -> int:
    """The rank of a file's first matrix; `most` if it has none."""
    first = stored.get("blk.0.attn_q.weight.lora_a")
    rank = most if first is None else len(first)
    if rank > most:
        raise InputError(
            f"{path} has rank {rank}, more than {most}.", f"Give rank {rank} or a higher one."
        )
    return rank


def _matrix(stored: dict[str, Tensor], name: str, shape: tuple[int, int], path: Path) -> Tensor:
    matrix = stored.get(name)
    if matrix is None or matrix.shape != shape:
        has = "none" if matrix is None else " × ".join(map(str, matrix.shape))
        raise InputError(
            f"{path} can't be trained on: {name} should be {shape[0]} × {shape[1]}, it is {has}.",
            "Go on from another adapter, or train a new one.",
        )
    return matrix.requires_grad_()
