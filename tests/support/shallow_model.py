"""The embedded model with its first layers alone: it writes nonsense, in a fraction of the time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gguf import GGUFReader, GGUFWriter

__all__ = ["write_shallow"]

_LAYERS = "llama.block_count"
# The writer adds the first three itself, and the fourth from the architecture it is given.
_WRITTEN = {"GGUF.version", "GGUF.tensor_count", "GGUF.kv_count", "general.architecture"}


def write_shallow(source: Path, target: Path, layers: int) -> Path:
    """Write a model file with so many layers of another's, its vocabulary and its embedding."""
    reader = GGUFReader(source)
    writer = GGUFWriter(target, "llama")
    for name, field in reader.fields.items():
        if name not in _WRITTEN:
            value: Any = layers if name == _LAYERS else field.contents()
            writer.add_key_value(name, value, field.types[0], (*field.types, None)[1])
    for tensor in reader.tensors:
        if _layer(tensor.name) < layers:
            writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return target


def _layer(name: str) -> int:
    """The layer that a tensor belongs to; -1 for those that stand beside all layers."""
    first, _, rest = name.partition(".")
    return int(rest.partition(".")[0]) if first == "blk" else -1
