"""The base model's weights, read from the very file that is served."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import gguf
import torch
from gguf.quants import dequantize
from torch import Tensor

from ...errors import ModelError
from ...models.llama.gguf import check_model_file, file_hash
from .operations import apply_function

__all__ = [
    "GROUPS",
    "Adapter",
    "Base",
    "BaseShape",
    "adapted_product",
    "load_base",
    "new_adapter",
    "open_gguf",
    "read_tensors",
    "sizes",
    "widen",
]


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


GROUPS = {
    "qkv": ("attn_q", "attn_k", "attn_v"),
    "out": ("attn_output",),
    "up": ("ffn_gate", "ffn_up"),
    "down": ("ffn_down",),
}
"""The matrices of a block, those together that read the same input."""


@dataclass(frozen=True)
class Adapter:
    """Trainable pairs of matrices by the GGUF name of what they adapt, such as `blk.0.attn_q`.

    `a[name]` is (rank, inputs), `b[name]` is (outputs, rank); what is added to the frozen matrix
    is `alpha ÷ rank · b @ a`.
    """

    rank: int
    alpha: float
    a: Mapping[str, Tensor]
    b: Mapping[str, Tensor]

    @property
    def scale(self) -> float:
        """What the product of the two matrices is multiplied by."""
        return self.alpha / self.rank

    def parameters(self) -> list[Tensor]:
        """Every trainable matrix, always in the same order."""
        return [*self.a.values(), *self.b.values()]


def sizes(shape: BaseShape) -> dict[str, tuple[int, int]]:
    """(outputs, inputs) of a block's adapted matrices."""
    key = shape.kv_heads * shape.head
    return {
        "attn_q": (shape.width, shape.width),
        "attn_k": (key, shape.width),
        "attn_v": (key, shape.width),
        "attn_output": (shape.width, shape.width),
        "ffn_gate": (shape.hidden, shape.width),
        "ffn_up": (shape.hidden, shape.width),
        "ffn_down": (shape.width, shape.hidden),
    }


def new_adapter(base: Base, rank: int, alpha: float, seed: int) -> Adapter:
    """An adapter that changes nothing yet: random `a`, zero `b`."""
    generator = torch.Generator().manual_seed(seed)
    a: dict[str, Tensor] = {}
    b: dict[str, Tensor] = {}
    for layer in range(base.shape.layers):
        for name, (outputs, inputs) in sizes(base.shape).items():
            bound = 1 / math.sqrt(inputs)
            sampled = torch.empty(rank, inputs).uniform_(-bound, bound, generator=generator)
            zeros = torch.zeros(outputs, rank, device=base.device)
            a[f"blk.{layer}.{name}"] = sampled.to(base.device).requires_grad_()
            b[f"blk.{layer}.{name}"] = zeros.requires_grad_()
    return Adapter(rank, alpha, a, b)


def widen(adapter: Adapter, more: Adapter) -> Adapter:
    """Put two adapters of one scale side by side, as one whose product is the sum of theirs.

    Args:
        more: Of the same matrices.
    """
    a = {name: torch.cat([adapter.a[name], more.a[name]]).detach() for name in adapter.a}
    b = {name: torch.cat([adapter.b[name], more.b[name]], 1).detach() for name in adapter.b}
    for matrix in (*a.values(), *b.values()):
        matrix.requires_grad_()
    return Adapter(adapter.rank + more.rank, adapter.alpha + more.alpha, a, b)


def adapted_product(
    x: Tensor, weight: Tensor, scale: float, a: Tensor, b: Sequence[Tensor]
) -> Tensor:
    """`x @ weight.T` plus what the adapters add.

    Args:
        x: (tokens, inputs).
        weight: Frozen, (outputs, inputs): the rows of all matrices of the group.
        scale: alpha ÷ rank.
        a: (matrices · rank, inputs).
        b: (outputs of the matrix, rank) for each matrix.
    """
    return apply_function(_Adapted, x, weight, scale, a, *b)


class _Adapted(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, scale: float, a: Tensor, *b: Tensor) -> Tensor:
        low = x @ a.T
        y = x @ weight.T
        for part, columns, matrix in _parts(y, low, b):
            part.addmm_(columns, matrix.T, alpha=scale)
        ctx.scale = scale
        ctx.save_for_backward(x, weight, a, low, *b)
        return y

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        x, weight, a, low, *b = cast("tuple[Tensor, ...]", ctx.saved_tensors)
        (grad,) = grads
        grad_low = torch.empty_like(low)
        grad_b: list[Tensor] = []
        into = _parts(grad, grad_low, b)
        for (part, columns, matrix), (_, grad_columns, _) in zip(
            _parts(grad, low, b), into, strict=True
        ):
            torch.mm(part, matrix, out=grad_columns)
            grad_b.append((columns.T @ part).T.mul_(ctx.scale))
        grad_low.mul_(ctx.scale)
        grad_x = (grad @ weight).addmm_(grad_low, a) if ctx.needs_input_grad[0] else None
        return grad_x, None, None, grad_low.T @ x, *grad_b


def _parts(y: Tensor, low: Tensor, b: Sequence[Tensor]) -> list[tuple[Tensor, Tensor, Tensor]]:
    """Views of each matrix's outputs and low-rank inputs, and the matrix."""
    parts: list[tuple[Tensor, Tensor, Tensor]] = []
    output = 0
    for number, matrix in enumerate(b):
        outputs, rank = matrix.shape
        columns = low[:, number * rank : (number + 1) * rank]
        parts.append((y[:, output : output + outputs], columns, matrix))
        output += outputs
    return parts
