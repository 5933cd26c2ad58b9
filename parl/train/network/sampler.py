"""Many plans written at once by the model as it is being trained, without a gradient.

The adapter is merged into the weights, and rounded with them where products have 16 bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor

from ..batches import TokenizedExample, pack
from .attention import attention, rotary_embedding, split_heads
from .cache import KeyValueCache
from .layers import forward_blocks
from .lora import Adapter
from .model import Model
from .operations import rms_norm

__all__ = ["Writer"]

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
