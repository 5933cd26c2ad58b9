"""The base model's weights, read from the very file that is served."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gguf
import torch
from gguf.quants import dequantize

from ....blocks.llama.adapter import file_hash
from ....blocks.llama.gguf import check_model_file
from ....errors import ModelError

__all__ = ["Base", "BaseShape", "load_base", "open_gguf", "read_tensors"]

_CPU = torch.device("cpu")


@dataclass(frozen=True)
class BaseShape:
    """Dimensions of a model of the llama architecture."""

    name: str
    layers: int
    width: int
    hidden: int
    heads: int
    kv_heads: int
    rope_base: float
    norm_eps: float

    @property
    def head(self) -> int:
        """Width of one attention head."""
        return self.width // self.heads


@dataclass(frozen=True)
class Base:
    """Dequantised float32 weights by GGUF name, matrices as (outputs, inputs).

    The rows of `attn_q` and `attn_k` keep the order of the llama architecture in GGUF, where the
    two numbers that a rotary embedding turns together are neighbours. An adapter trained over them
    is in the order in which it is served.
    """

    path: Path
    sha256: str
    shape: BaseShape
    weights: Mapping[str, torch.Tensor]

    @property
    def device(self) -> torch.device:
        """Where the weights lie, and all that is computed with them."""
        return self["token_embd"].device

    def __getitem__(self, name: str) -> torch.Tensor:
        return self.weights[f"{name}.weight"]


def load_base(path: Path, device: torch.device = _CPU) -> Base:
    """Read a GGUF file whole, onto a device.

    Raises:
        ModelError: It can't be read, or is not a plain model of the llama architecture.
    """
    path = check_model_file(path)
    reader = open_gguf(path)
    try:
        shape = _shape(reader, path)
        weights = read_tensors(reader, device)
        # Models that tie their matrices store one.
        weights.setdefault("output.weight", weights["token_embd.weight"])
    except _ASTRAY as error:
        raise _unfit(path, f"Its figures don't fit together: {error!r}.") from None
    return Base(path, file_hash(path), shape, weights)


_ASTRAY = (ValueError, IndexError, KeyError, OverflowError, TypeError, MemoryError)
"""What a header raises whose figures don't fit together, or lead out of the file."""


def open_gguf(path: Path) -> gguf.GGUFReader:
    """Open a file that passed `check_gguf`.

    Raises:
        ModelError: Its figures don't fit together.
    """
    try:
        return gguf.GGUFReader(path)
    except _ASTRAY as error:
        raise _unfit(path, f"Its header can't be read: {error!r}.") from None


def read_tensors(reader: gguf.GGUFReader, device: torch.device) -> dict[str, torch.Tensor]:
    """Dequantise all tensors of a file onto a device, by their names."""
    return {
        tensor.name: torch.tensor(dequantize(tensor.data, tensor.tensor_type)).to(device)
        for tensor in reader.tensors
    }


def _shape(reader: gguf.GGUFReader, path: Path) -> BaseShape:
    def value(key: str) -> object:
        field = reader.get_field(key)
        return None if field is None else field.contents()

    def number(key: str) -> Any:
        found = value(f"llama.{key}")
        if found is None:
            raise _unfit(path, f"It does not say its {key}.")
        return found

    if (architecture := value("general.architecture")) != "llama":
        raise _unfit(path, f"Its architecture is {architecture}.")
    if value("llama.rope.scaling.type") not in (None, "none"):
        raise _unfit(path, "Its rotary embedding is scaled.")
    return BaseShape(
        name=str(value("general.name") or path.stem),
        layers=int(number("block_count")),
        width=int(number("embedding_length")),
        hidden=int(number("feed_forward_length")),
        heads=int(number("attention.head_count")),
        kv_heads=int(number("attention.head_count_kv")),
        rope_base=float(number("rope.freq_base")),
        norm_eps=float(number("attention.layer_norm_rms_epsilon")),
    )


def _unfit(path: Path, why: str) -> ModelError:
    return ModelError(
        f"No adapter can be trained for {path}. {why}", "Take a plain model of llama's kind."
    )
