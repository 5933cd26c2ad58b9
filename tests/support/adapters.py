"""Small random LoRA adapters for the embedded model, written as GGUF."""

from __future__ import annotations

import random
import struct
from array import array
from pathlib import Path

ADAPTED_LAYERS = 4
"""How many of the model's first layers an adapter changes."""

_WIDTH, _RANK = 576, 4
_STRING, _FLOAT, _F32, _ALIGNMENT = 8, 6, 0, 32

Value = str | float


def write_adapter(path: Path, *, scale: float = 1.0, width: int = _WIDTH, **fields: Value) -> Path:
    """Write an adapter that changes what the embedded model says.

    Args:
        path: Where to.
        scale: How much it changes; 0 for not at all.
        width: Columns of its matrices; the embedded model's are 576 wide.
        fields: Fields of its header to add or replace; dots are written as `__`.
    """
    header: dict[str, Value] = {
        "general.architecture": "llama",
        "general.type": "adapter",
        "adapter.type": "lora",
        "adapter.lora.alpha": float(_RANK),
        **{key.replace("__", "."): value for key, value in fields.items()},
    }
    randomness = random.Random(0)  # noqa: S311 - weights, not secrets
    # GGUF writes a matrix's row length first.
    shapes = {
        f"blk.{layer}.attn_output.weight.lora_{side}": shape
        for layer in range(ADAPTED_LAYERS)
        for side, shape in (("a", (width, _RANK)), ("b", (_RANK, width)))
    }
    infos, data = b"", b""
    for name, (columns, rows) in shapes.items():
        infos += _text(name) + struct.pack("<IQQIQ", 2, columns, rows, _F32, len(data))
        values = (randomness.gauss(0, 0.2) * scale for _ in range(columns * rows))
        data += array("f", values).tobytes()
    start = struct.pack("<4sIQQ", b"GGUF", 3, len(shapes), len(header))
    head = start + b"".join(map(_pair, header, header.values())) + infos
    path.write_bytes(head + bytes(-len(head) % _ALIGNMENT) + data)
    return path


def _pair(key: str, value: Value) -> bytes:
    if isinstance(value, str):
        return _text(key) + struct.pack("<I", _STRING) + _text(value)
    return _text(key) + struct.pack("<If", _FLOAT, value)


def _text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("<Q", len(data)) + data
