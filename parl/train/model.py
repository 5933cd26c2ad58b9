"""The base model's computation over a packed batch, with an adapter on every matrix of a block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import torch
from torch import Tensor

from .attention import KeyValueCache, attention, rotary_embedding, split_heads
from .base import GROUPS, Adapter, Base, BaseShape, adapted_product
from .batches import Batch, TokenizedExample, pack
from .operations import gated_silu, rms_norm, weighted_loss

__all__ = ["Linear", "Mix", "Model", "Writer", "forward_blocks"]


Linear = Callable[[str, str, Tensor], Tensor]
"""The product of a block's group of matrices (`blk.3`, `qkv`) with (rows, inputs)."""

Mix = Callable[[int, Tensor], Tensor]
"""A layer's attention: (rows, heads · head) from the product of its group `qkv`."""


def forward_blocks(
    x: Tensor, shape: BaseShape, dtype: torch.dtype, linear: Linear, mix: Mix
) -> Tensor:
    """Send (rows, width) through all blocks.

    Args:
        dtype: Of what the products read; what goes from block to block keeps its own.
    """
    eps = shape.norm_eps
    for layer in range(shape.layers):
        block = f"blk.{layer}"
        mixed = mix(layer, linear(block, "qkv", rms_norm(x, eps, dtype)))
        x = x + linear(block, "out", mixed)
        both = linear(block, "up", rms_norm(x, eps, dtype))
        x = x + linear(block, "down", gated_silu(both))
    return x


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


_LIKELIEST = 40
"""Tokens that one is drawn from; what the others would have is hardly ever a plan's."""

_FULL = 0.8
"""Share of rows below which those of ended plans are given up."""


class Writer:
    """A model and an adapter as they are now."""

    def __init__(self, model: Model, adapter: Adapter) -> None:
        self._model = model
        self._weights = model.merged(adapter)

    @torch.no_grad()
    def write(
        self,
        prompts: Sequence[tuple[int, ...]],
        limits: Sequence[int],
        times: int,
        end: int,
        generator: torch.Generator,
    ) -> list[list[tuple[int, ...]]]:
        """Continue each prompt several times, at temperature 1.

        Args:
            limits: The most tokens for each prompt.
            times: Plans of a prompt.
            end: The token that ends a plan; it is a plan's last where that came to its end.

        Returns:
            For each prompt its plans.
        """
        cache, states = self._read(prompts)
        cache.repeat(times)
        states = states.repeat_interleave(times, 0)
        plans: list[list[int]] = [[] for _ in range(len(prompts) * times)]
        rows = list(range(len(plans)))

        def is_open(row: int) -> bool:
            return plans[row][-1:] != [end] and len(plans[row]) < limits[row // times]

        while True:
            tokens = self._draw(states, generator)
            drawn = cast("list[int]", cast("Any", tokens.cpu()).tolist())
            for row, token in zip(rows, drawn, strict=True):
                if is_open(row):
                    plans[row].append(token)
            places = [place for place, row in enumerate(rows) if is_open(row)]
            if not places:
                break
            if len(places) <= _FULL * len(rows):
                cache.keep(places)
                rows = [rows[place] for place in places]
                tokens = torch.tensor([drawn[place] for place in places]).to(tokens.device)
            states = self._step(tokens, cache)
        written = [tuple(plan) for plan in plans]
        return [written[first : first + times] for first in range(0, len(written), times)]

    def _read(self, prompts: Sequence[tuple[int, ...]]) -> tuple[KeyValueCache, Tensor]:
        """Read the prompts; also return the states that their first tokens are drawn from."""
        model, shape = self._model, self._model.shape
        batch = pack([TokenizedExample(prompt, (0,)) for prompt in prompts]).on(model.device)
        rotation, cache = (
            rotary_embedding(batch.positions, shape),
            KeyValueCache(batch, shape, model.dtype),
        )

        def mix(layer: int, qkv: Tensor) -> Tensor:
            read = split_heads(qkv, rotation, shape)
            cache.fill(layer, read)
            return attention(read, batch, shape)

        x = forward_blocks(model.embeddings[batch.tokens], shape, model.dtype, self._linear, mix)
        return cache, rms_norm(x[batch.rows], shape.norm_eps, x.dtype)

    def _step(self, tokens: Tensor, cache: KeyValueCache) -> Tensor:
        model, shape = self._model, self._model.shape
        rotation = rotary_embedding(cache.lengths, shape)
        cache.open_column()

        def mix(layer: int, qkv: Tensor) -> Tensor:
            return cache.mixed(layer, split_heads(qkv, rotation, shape))

        x = forward_blocks(model.embeddings[tokens], shape, model.dtype, self._linear, mix)
        return rms_norm(x, shape.norm_eps, x.dtype)

    def _linear(self, block: str, group: str, x: Tensor) -> Tensor:
        return x @ self._weights[f"{block}.{group}"].T

    def _draw(self, states: Tensor, generator: torch.Generator) -> Tensor:
        logits = states.to(self._model.dtype) @ self._model.head.T
        likeliest, tokens = logits.topk(min(_LIKELIEST, logits.shape[1]), 1)
        odds = likeliest.to(states.dtype).softmax(1)
        # The smallest of exponential times is the draw (Gumbel's trick). They are drawn by the
        # processor, so that a seed means the same on every device.
        times = torch.empty(odds.shape, dtype=odds.dtype).exponential_(generator=generator)
        return tokens.gather(1, (odds / times.to(odds.device)).argmax(1, keepdim=True))[:, 0]
