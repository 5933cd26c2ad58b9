"""What llama.cpp reserved, by its own log. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from .unloading import MemoryUse

__all__ = ["is_buffer_line", "reserved"]

_BUFFER = re.compile(r"\b(\w++) buffer size = *+([0-9]+(?:\.[0-9]+)?) MiB")


def is_buffer_line(line: str) -> bool:
    """Whether a line of llama.cpp's log says that memory was reserved."""
    return _BUFFER.search(line) is not None


def reserved(lines: Iterable[str]) -> MemoryUse:
    """Add up what the lines say: buffers of the model are weights, all others are its context's."""
    weights = own = 0
    for line in lines:
        if found := _BUFFER.search(line):
            size = round(float(found[2]) * 2**20)
            if found[1] == "model":
                weights += size
            else:
                own += size
    return MemoryUse(weights, own)
