"""The base model's computation over a packed batch, with an adapter on every matrix of a block."""

from __future__ import annotations

import torch
from torch import Tensor

from ..batches import Batch
from .attention import attention, rotary_embedding, split_heads
from .base import Base
from .layers import forward_blocks
from .lora import GROUPS, Adapter, adapted_product
from .operations import rms_norm
from .vocabulary_loss import weighted_loss

__all__ = ["Model"]


class Model:
    """Frozen weights of the llama architecture, arranged so that few large products are computed.

    Matrices that read the same input are one, and the weights of the norm before them are
    multiplied into them.
    """

    def __init__(self, base: Base, dtype: torch.dtype | None = None) -> None:
        self.shape = base.shape
        self.device = base.device
        self.embeddings = base["token_embd"]
        self.dtype = dtype or self.embeddings.dtype
        self.head = (base["output"] * base["output_norm"]).to(self.dtype)
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
                self._weights[f"{block}.{group}"] = scaled.to(self.dtype)

    def loss(self, batch: Batch, adapter: Adapter, weights: Tensor | None = None) -> Tensor:
        """Mean loss of a token of the plans, in nats.

        Args:
            weights: (targets) what each token's loss is multiplied by instead, before the sum.
        """
        if weights is None:
            weights = torch.full((len(batch.targets),), 1 / len(batch.targets))
        batch, weights = batch.on(self.device), weights.to(self.device)
        return weighted_loss(self._states(batch, adapter), self.head, batch.targets, weights)

    def logits(self, batch: Batch, adapter: Adapter) -> Tensor:
        """(targets, vocabulary) logits from which the tokens of the plans are predicted."""
        return self._states(batch.on(self.device), adapter).to(self.dtype) @ self.head.T

    @torch.no_grad()
    def merged(self, adapter: Adapter) -> dict[str, Tensor]:
        """The weights with an adapter added, by block and group, norms multiplied in."""
        return {
            f"{block}.{group}": self._merged(block, group, adapter)
            for block in (f"blk.{layer}" for layer in range(self.shape.layers))
            for group in GROUPS
        }

    def _merged(self, block: str, group: str, adapter: Adapter) -> Tensor:
        names = [f"{block}.{name}" for name in GROUPS[group]]
        added = torch.cat([adapter.b[name] @ adapter.a[name] for name in names]) * adapter.scale
        if (norm := self._norms.get(f"{block}.{group}")) is not None:
            added = added * norm
        return (self._weights[f"{block}.{group}"].to(added) + added).to(self.dtype)

    def _states(self, batch: Batch, adapter: Adapter) -> Tensor:
        rotation = rotary_embedding(batch.positions, self.shape)

        def linear(block: str, group: str, x: Tensor) -> Tensor:
            return self._linear(block, group, x, adapter)

        def mix(_: int, qkv: Tensor) -> Tensor:
            return attention(split_heads(qkv, rotation, self.shape), batch, self.shape)

        x = forward_blocks(self.embeddings[batch.tokens], self.shape, self.dtype, linear, mix)
        return rms_norm(x[batch.rows], self.shape.norm_eps, x.dtype)

    def _linear(self, block: str, group: str, x: Tensor, adapter: Adapter) -> Tensor:
        names = [f"{block}.{name}" for name in GROUPS[group]]
        a = torch.cat([adapter.a[name] for name in names])
        if (norm := self._norms.get(f"{block}.{group}")) is not None:
            a = a * norm
        b = [adapter.b[name].to(self.dtype) for name in names]
        weight = self._weights[f"{block}.{group}"]
        return adapted_product(x, weight, adapter.scale, a.to(self.dtype), b)
