"""A frozen model and the adapter over it that is trained."""

from __future__ import annotations

import ctypes
import math
import sys
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from ...errors import InputError
from ...models.llama.gguf import check_adapter, check_base
from ...text import plural
from .base import Adapter, Base, new_adapter, open_gguf, read_tensors, sizes, widen
from .config import TrainConfig
from .model import Model

__all__ = ["Learner", "device_of", "keep_memory", "new_learner", "product_type", "read_adapter"]


def device_of(config: TrainConfig) -> torch.device:
    """Return what is wanted, or if nothing is a GPU where there is one, else the processor.

    Raises:
        InputError: What is wanted isn't there.
    """
    name = config.device or ("cuda" if torch.cuda.is_available() else "cpu")
    device = torch.device(name)
    count = torch.cuda.device_count()
    if device.type == "cuda" and (device.index or 0) >= count:
        found = f"PyTorch {torch.__version__} finds {plural(count, 'GPU')}"
        raise InputError(
            f"There is no {name} to train on: {found}.",
            "Install a PyTorch built for your GPU, or give cpu.",
        )
    return device


def product_type(config: TrainConfig, device: torch.device) -> torch.dtype:
    """Return bfloat16 if that is wanted, or nothing is and the device multiplies it itself."""
    if config.precision is not None:
        return torch.bfloat16 if config.precision == "bfloat16" else torch.float32
    return torch.bfloat16 if _multiplies_bfloat16(device) else torch.float32


def _multiplies_bfloat16(device: torch.device) -> bool:
    if device.type == "cuda":
        with torch.cuda.device(device):
            return torch.cuda.is_bf16_supported(including_emulation=False)
    features = torch.cpu.get_capabilities()
    return bool(features.get("avx512_bf16") or features.get("amx_bf16"))


_TRIM_THRESHOLD, _MMAP_MAX = -1, -4


def keep_memory() -> None:
    """Let the C library reuse large blocks.

    By default it maps each again, and the kernel has to clear every page again at its first use.
    """
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        if hasattr(libc, "mallopt"):
            libc.mallopt(_MMAP_MAX, 0)
            libc.mallopt(_TRIM_THRESHOLD, 2**31 - 1)


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
