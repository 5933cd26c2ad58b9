"""Keeping memory that was freed, instead of handing it back and asking for it again."""

from __future__ import annotations

import ctypes
import sys

__all__ = ["keep_memory"]

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4


def keep_memory() -> None:
    """Let the C library reuse large blocks.

    By default it maps each anew, and the kernel has to clear every page again at its first use.
    """
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        if hasattr(libc, "mallopt"):
            libc.mallopt(_MMAP_MAX, 0)
            libc.mallopt(_TRIM_THRESHOLD, 2**31 - 1)
