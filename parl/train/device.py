"""What computes a training run, and in how many bits its large products."""

from __future__ import annotations

import ctypes
import sys

import torch

from ...errors import InputError
from ...text import plural
from .config import TrainConfig

__all__ = ["device_of", "keep_memory", "product_type"]


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
