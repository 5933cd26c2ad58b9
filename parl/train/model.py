"""The base model's computation over a packed batch, with an adapter on every matrix of a block."""

from __future__ import annotations

import torch
from torch import Tensor

from .attention import attention, turns
from .base import Base
from .batches import Batch
from .head import mean_loss
from .lora import GROUPS, Adapter, adapted
from .operations import gated, normed

__all__ = ["Model"]


class Model:
    """Frozen weights of the llama architecture, arranged so that few large products are computed.

    Matrices that read the same input are one, and the weights of the norm before them are
    multiplied into them.
    """

    def __init__(self, base: Base, dtype: torch.dtype | None = None) -> None:
        self._shape = base.shape
        self._embeddings = base["token_embd"]
        self._dtype = dtype or self._embeddings.dtype
        self._head = (base["output"] * base["output_norm"]).to(self._dtype)
        self._norms: dict[str, Tensor] = {}
        self._weights: dict[str, Tensor] = {}
        for layer in range(base.shape.layers):
            block = f"blk.{layer}"
            self._norms[f"{block}.qkv"] = base[f"{block}.attn_norm"]
            self._norms[f"{block}.up"] = base[f"{block}.ffn_norm"]
            for group, names in GROUPS.items():
                weight = torch.cat([base[f"{block}.{name}"] for name in names])
                norm = self._norms.get(f"{block}.{group}")
                scaled = weight if norm is None else weight * norm
                self._weights[f"{block}.{group}"] = scaled.to(self._dtype)

    def loss(self, batch: Batch, adapter: Adapter) -> Tensor:
        """Mean loss of a token of the plans, in nats."""
        return mean_loss(self._states(batch, adapter), self._head, batch.targets)

    def logits(self, batch: Batch, adapter: Adapter) -> Tensor:
        """(targets, vocabulary) logits from which the tokens of the plans are predicted."""
        return self._states(batch, adapter).to(self._dtype) @ self._head.T

    def _states(self, batch: Batch, adapter: Adapter) -> Tensor:
        eps = self._shape.norm_eps
        turn = turns(batch.positions, self._shape)
        x = self._embeddings[batch.tokens]
        for layer in range(self._shape.layers):
            block = f"blk.{layer}"
            qkv = self._linear(block, "qkv", normed(x, eps, self._dtype), adapter)
            mixed = attention(qkv, turn, batch, self._shape)
            x = x + self._linear(block, "out", mixed, adapter)
            both = self._linear(block, "up", normed(x, eps, self._dtype), adapter)
            x = x + self._linear(block, "down", gated(both), adapter)
        return normed(x[batch.rows], eps, x.dtype)

    def _linear(self, block: str, group: str, x: Tensor, adapter: Adapter) -> Tensor:
        names = [f"{block}.{name}" for name in GROUPS[group]]
        a = torch.cat([adapter.a[name] for name in names])
        if (norm := self._norms.get(f"{block}.{group}")) is not None:
            a = a * norm
        b = [adapter.b[name].to(self._dtype) for name in names]
        weight = self._weights[f"{block}.{group}"]
        return adapted(x, weight, adapter.scale, a.to(self._dtype), b)
