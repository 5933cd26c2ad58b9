"""The base model's computation over a packed batch, with an adapter on every matrix of a block."""

from __future__ import annotations

from typing import Any, cast

import torch
import torch.nn.functional as F  # noqa: N812 - its usual name
from torch import Tensor

from .base import Base
from .batches import Batch
from .head import mean_loss
from .lora import GROUPS, Adapter, adapted

__all__ = ["Model"]


class Model:
    """Frozen weights of the llama architecture, arranged so that few large products are computed.

    Matrices that read the same input are one, and the weights of the norm before them are
    multiplied into them.
    """

    def __init__(self, base: Base) -> None:
        self.shape = base.shape
        self._embeddings = base["token_embd"]
        self._head = base["output"] * base["output_norm"]
        self._norms: dict[str, Tensor] = {}
        self._weights: dict[str, Tensor] = {}
        for layer in range(base.shape.layers):
            norms = {"qkv": base[f"blk.{layer}.attn_norm"], "up": base[f"blk.{layer}.ffn_norm"]}
            for group, names in GROUPS.items():
                key = f"blk.{layer}.{group}"
                weight = torch.cat([base[f"blk.{layer}.{name}"] for name in names])
                if group in norms:
                    self._norms[key] = norms[group]
                    weight = weight * norms[group]
                self._weights[key] = weight
        half = torch.arange(0, base.shape.head, 2) / base.shape.head
        self._frequencies = base.shape.rope_base**-half

    def loss(self, batch: Batch, adapter: Adapter) -> Tensor:
        """Mean loss of a token of the plans."""
        return mean_loss(self._states(batch, adapter)[batch.rows], self._head, batch.targets)

    def logits(self, batch: Batch, adapter: Adapter) -> Tensor:
        """(targets, vocabulary) logits from which the tokens of the plans are predicted."""
        return self._states(batch, adapter)[batch.rows] @ self._head.T

    def _states(self, batch: Batch, adapter: Adapter) -> Tensor:
        angles = batch.positions[:, None] * self._frequencies
        turns = torch.polar(torch.ones_like(angles), angles)[:, None]
        x = self._embeddings[batch.tokens]
        for layer in range(self.shape.layers):
            block = f"blk.{layer}"
            qkv = self._linear(block, "qkv", _normed(x, self.shape.norm_eps), adapter)
            mixed = self._attention(qkv, turns, batch)
            x = x + self._linear(block, "out", mixed, adapter)
            both = self._linear(block, "up", _normed(x, self.shape.norm_eps), adapter)
            gated = cast("Tensor", _Gated.apply(both))
            x = x + self._linear(block, "down", gated, adapter)
        return _normed(x, self.shape.norm_eps)

    def _linear(self, block: str, group: str, x: Tensor, adapter: Adapter) -> Tensor:
        key = f"{block}.{group}"
        names = [f"{block}.{name}" for name in GROUPS[group]]
        a = torch.cat([adapter.a[name] for name in names])
        if (norm := self._norms.get(key)) is not None:
            a = a * norm
        b = [adapter.b[name] for name in names]
        return adapted(x, self._weights[key], adapter.scale, a, b)

    def _attention(self, qkv: Tensor, turns: Tensor, batch: Batch) -> Tensor:
        heads, kv_heads, head = self.shape.heads, self.shape.kv_heads, self.shape.head
        group = heads // kv_heads
        turned = qkv[:, : (heads + kv_heads) * head].unflatten(1, (heads + kv_heads, head // 2, 2))
        turned = torch.view_as_real(torch.view_as_complex(turned) * turns).flatten(1)
        query, key = turned.split([heads * head, kv_heads * head], 1)
        value = qkv[:, (heads + kv_heads) * head :]
        examples, longest = batch.pad.shape
        own_query = _padded(query, batch).view(examples, longest, kv_heads, group, head)
        # Heads that share their keys are computed as one head with more queries.
        own_query = own_query.permute(0, 2, 3, 1, 4).reshape(
            examples, kv_heads, group * longest, head
        )
        keys, values = (
            torch.cat(
                [
                    part[: batch.prefix].expand(examples, -1, -1),
                    _padded(part, batch).view(examples, longest, -1),
                ],
                1,
            )
            .unflatten(2, (kv_heads, head))
            .transpose(1, 2)
            for part in (key, value)
        )
        own = F.scaled_dot_product_attention(
            own_query, keys, values, attn_mask=batch.mask.repeat(group, 1).to(query)
        )
        own = own.view(examples, kv_heads, group, longest, head).permute(0, 3, 1, 2, 4)
        own = cast("Tensor", _Unpadded.apply(own.reshape(-1, heads * head), batch.unpad))
        if not batch.prefix:
            return own
        first = F.scaled_dot_product_attention(
            *(
                part[: batch.prefix].unflatten(1, (-1, head)).transpose(0, 1)[None]
                for part in (query, key, value)
            ),
            is_causal=True,
            enable_gqa=True,
        )
        return torch.cat([first[0].transpose(0, 1).reshape(batch.prefix, -1), own])


def _padded(x: Tensor, batch: Batch) -> Tensor:
    return cast("Tensor", _Padded.apply(x, batch.pad, batch.unpad, batch.prefix))


def _normed(x: Tensor, eps: float) -> Tensor:
    """Divide each row by its root mean square."""
    return cast("Tensor", _Normed.apply(x, eps))


class _Padded(torch.autograd.Function):
    """Lay packed rows out by example. What is in the padding has no say, so no gradient."""

    @staticmethod
    def forward(  # type: ignore[override]
        ctx: Any, x: Tensor, pad: Tensor, unpad: Tensor, prefix: int
    ) -> Tensor:
        ctx.save_for_backward(unpad)
        ctx.prefix = prefix
        return x.index_select(0, pad.flatten()).view(*pad.shape, -1)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:  # type: ignore[override]
        (unpad,) = cast("tuple[Tensor, ...]", ctx.saved_tensors)
        rows = grad.flatten(0, 1).index_select(0, unpad)
        return torch.cat([rows.new_zeros(ctx.prefix, rows.shape[1]), rows]), None, None, None


class _Unpadded(torch.autograd.Function):
    """Pack rows again. Cheaper backward than indexing, which has to expect repeated rows."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, unpad: Tensor) -> Tensor:  # type: ignore[override]
        ctx.save_for_backward(unpad)
        ctx.length = x.shape[0]
        return x.index_select(0, unpad)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:  # type: ignore[override]
        (unpad,) = cast("tuple[Tensor, ...]", ctx.saved_tensors)
        into = grad.new_zeros(ctx.length, grad.shape[1])
        return into.index_copy_(0, unpad, grad), None


class _Normed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, eps: float) -> Tensor:  # type: ignore[override]
        norm = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
        factor = (norm.square() / x.shape[-1] + eps).rsqrt()
        y = x * factor
        ctx.save_for_backward(y, factor)
        return y

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:  # type: ignore[override]
        y, factor = cast("tuple[Tensor, ...]", ctx.saved_tensors)
        along = (grad * y).sum(-1, keepdim=True) / y.shape[-1]
        return torch.addcmul(grad, y, along, value=-1).mul_(factor), None


class _Gated(torch.autograd.Function):
    """SiLU of the first half of the columns, times the second."""

    @staticmethod
    def forward(ctx: Any, both: Tensor) -> Tensor:  # type: ignore[override]
        ctx.save_for_backward(both)
        gate, up = both.chunk(2, 1)
        return F.silu(gate).mul_(up)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:  # type: ignore[override]
        (both,) = cast("tuple[Tensor, ...]", ctx.saved_tensors)
        gate, up = both.chunk(2, 1)
        into = torch.empty_like(both)
        into_gate, into_up = into.chunk(2, 1)
        torch.mul(F.silu(gate), grad, out=into_up)
        into_gate.copy_(torch.ops.aten.silu_backward(grad * up, gate))
        return into
