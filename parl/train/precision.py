"""In how many bits the large products of a training run are computed."""

from __future__ import annotations

import torch

from .config import TrainConfig

__all__ = ["product_type"]


def product_type(config: TrainConfig) -> torch.dtype:
    """Return bfloat16 if that is wanted, or nothing is and the processor multiplies it itself."""
    if config.precision is not None:
        return torch.bfloat16 if config.precision == "bfloat16" else torch.float32
    features = torch.cpu.get_capabilities()
    has_it = features.get("avx512_bf16") or features.get("amx_bf16")
    return torch.bfloat16 if has_it else torch.float32
