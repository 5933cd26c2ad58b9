"""The base model's computation over a packed batch, with an adapter on every matrix of a block.

Attention stays within each example of the batch, and goes from each to the prefix they share.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

import torch
import torch.nn.functional as F  # noqa: N812 - its usual name
from torch import Tensor

from .base import GROUPS, Adapter, Base, BaseShape, adapted_product
from .batches import Batch, TokenizedExample, pack
from .operations import gated_silu, pad_rows, rms_norm, target_log_probabilities, unpad_rows

__all__ = [
    "Model",
    "SampledPlan",
    "Writer",
    "attention",
]


_SHORT = 512
"""Tokens up to which all scores of a batch are held, in 16 bits: others would take gigabytes."""


def _rotary_embedding(positions: Tensor, shape: BaseShape) -> Tensor:
    """(rows, 1, head ÷ 2) complex numbers that turn each pair of a head by its position."""
    share = torch.arange(0, shape.head, 2, device=positions.device) / shape.head
    angles = positions[:, None] * shape.rope_base**-share
    return torch.polar(torch.ones_like(angles), angles)[:, None]


class _Heads(NamedTuple):
    """What a layer's attention reads: queries (rows, heads · head), the others of fewer heads."""

    query: Tensor
    key: Tensor
    value: Tensor


def _split_heads(qkv: Tensor, rotation: Tensor, shape: BaseShape) -> _Heads:
    """Split the product of a layer's first matrices, and turn queries and keys.

    Args:
        qkv: (rows, heads + 2 · key heads, head), flattened to two dimensions.
        rotation: `_rotary_embedding` of the rows' positions.
    """
    queries = shape.heads * shape.head
    both = queries + shape.kv_heads * shape.head
    turned = _rotate(qkv[:, :both], rotation, shape.head)
    return _Heads(turned[:, :queries], turned[:, queries:], qkv[:, both:])


def attention(read: _Heads, batch: Batch, shape: BaseShape) -> Tensor:
    """Mix the values of the rows into (rows, heads · head)."""
    heads, kv_heads = shape.heads, shape.kv_heads
    query, key, value = read
    own = _own(query, key, value, batch, shape)
    if not batch.prefix:
        return own
    first = F.scaled_dot_product_attention(
        _heads(query[: batch.prefix], heads),
        _heads(key[: batch.prefix], kv_heads),
        _heads(value[: batch.prefix], kv_heads),
        is_causal=True,
        enable_gqa=True,
    )
    return torch.cat([first[0].transpose(0, 1).reshape(batch.prefix, -1), own])


def _rotate(x: Tensor, rotation: Tensor, head: int) -> Tensor:
    # There are no complex numbers of 16 bits.
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    pairs = torch.view_as_complex(wide.view(x.shape[0], -1, head // 2, 2))
    return torch.view_as_real(pairs * rotation).flatten(1).to(x)


def _heads(rows: Tensor, heads: int) -> Tensor:
    return rows.reshape(1, rows.shape[0], heads, -1).transpose(1, 2)


def _own(query: Tensor, key: Tensor, value: Tensor, batch: Batch, shape: BaseShape) -> Tensor:
    """Attention of the rows behind the prefix."""
    kv_heads, head = shape.kv_heads, shape.head
    group = shape.heads // kv_heads
    examples, longest = batch.pad.shape
    # Heads that share their keys are computed as one head with more queries.
    queries = _padded(query, batch).view(examples, longest, kv_heads, group, head)
    queries = queries.permute(0, 2, 3, 1, 4).reshape(examples, kv_heads, group * longest, head)
    keys, values = _seen(key, batch, kv_heads), _seen(value, batch, kv_heads)
    mixed = _mixed(queries, keys, values, batch.mask.repeat(group, 1).to(queries))
    mixed = mixed.view(examples, kv_heads, group, longest, head).permute(0, 3, 1, 2, 4)
    return unpad_rows(mixed.reshape(examples * longest, -1), batch.unpad)


def _mixed(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """Scaled dot-product attention, whose fused form is half as fast in 16 bits."""
    if key.dtype != torch.bfloat16 or key.shape[2] > _SHORT:
        return F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    queries, keys, values = (x.flatten(0, 1) for x in (query, key, value))
    scale = query.shape[-1] ** -0.5
    scores = torch.baddbmm(mask.expand(len(queries), -1, -1), queries, keys.mT, alpha=scale)
    return (scores.softmax(-1) @ values).view_as(query)


def _seen(x: Tensor, batch: Batch, kv_heads: int) -> Tensor:
    """(examples, key heads, prefix + longest, head) what each example may look at."""
    examples, longest = batch.pad.shape
    prefix = x[: batch.prefix].expand(examples, batch.prefix, x.shape[1])
    seen = torch.cat([prefix, _padded(x, batch)], 1)
    return seen.view(examples, batch.prefix + longest, kv_heads, -1).transpose(1, 2)


def _padded(x: Tensor, batch: Batch) -> Tensor:
    return pad_rows(x, batch.pad, batch.unpad, batch.prefix)


_ROOM = 64
"""Columns that are added at a time."""


class _KeyValueCache:
    """Prompts end in one column, whatever their length, so that all go on in the next.

    Attributes:
        lengths: (sequences) tokens of each.
    """

    def __init__(self, batch: Batch, shape: BaseShape, dtype: torch.dtype) -> None:
        """Make room for a batch's prompts."""
        self._shape = shape
        own = batch.rows - batch.pad[:, 0] + 1
        self.lengths = own + batch.prefix
        self._columns = int(self.lengths.max())
        # In a column the row of the batch that it shows; before a prompt's first, any.
        columns = torch.arange(self._columns, device=own.device)
        place = columns - (self._columns - self.lengths)[:, None]
        behind = batch.pad[:, :1] + place - batch.prefix
        self._rows = torch.where(place < batch.prefix, place, behind).clamp(min=0)
        self._mask = torch.where(place < 0, -torch.inf, 0.0).to(dtype)
        size = (shape.layers, len(place), shape.kv_heads, self._columns, shape.head)
        self._keys, self._values = (self._mask.new_zeros(size) for _ in range(2))

    def fill(self, layer: int, read: _Heads) -> None:
        """Take a layer's keys and values of the batch."""
        for into, rows in ((self._keys, read.key), (self._values, read.value)):
            heads = rows.reshape(len(rows), self._shape.kv_heads, -1)
            into[layer] = heads[self._rows].transpose(1, 2)

    def repeat(self, times: int) -> None:
        """Put so many of each sequence side by side."""
        self.keep([row for row in range(len(self.lengths)) for _ in range(times)])

    def keep(self, sequences: Sequence[int]) -> None:
        """Keep these sequences, in this order."""
        chosen = torch.tensor(sequences).to(self.lengths.device)
        self._keys, self._values = self._keys[:, chosen], self._values[:, chosen]
        self._mask, self.lengths = self._mask[chosen], self.lengths[chosen]

    def open_column(self) -> None:
        """Begin the next token of every sequence."""
        if self._columns == self._mask.shape[1]:
            self._keys = F.pad(self._keys, (0, 0, 0, _ROOM))
            self._values = F.pad(self._values, (0, 0, 0, _ROOM))
            self._mask = F.pad(self._mask, (0, _ROOM))
        self._columns += 1
        self.lengths = self.lengths + 1

    def mixed(self, layer: int, read: _Heads) -> Tensor:
        """Take a layer's keys and values of the open column, and mix those of all columns.

        Returns:
            (sequences, heads · head).
        """
        shape, last = self._shape, self._columns
        key, value, query = (
            rows.reshape(len(rows), shape.kv_heads, -1, shape.head)
            for rows in (read.key, read.value, read.query)
        )
        self._keys[layer, :, :, last - 1 : last] = key
        self._values[layer, :, :, last - 1 : last] = value
        keys, values = self._keys[layer, :, :, :last], self._values[layer, :, :, :last]
        scores = query * shape.head**-0.5 @ keys.mT + self._mask[:, None, None, :last]
        return (scores.softmax(-1) @ values).reshape(len(query), -1)


_Linear = Callable[[str, str, Tensor], Tensor]
"""The product of a block's group of matrices (`blk.3`, `qkv`) with (rows, inputs)."""

_Mix = Callable[[int, Tensor], Tensor]
"""A layer's attention: (rows, heads · head) from the product of its group `qkv`."""


def _forward_blocks(
    x: Tensor, shape: BaseShape, dtype: torch.dtype, linear: _Linear, mix: _Mix
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
        found = self.log_probabilities(batch, adapter)
        # So many small numbers are added up in 64 bits.
        return -(found * weights.to(found)).double().sum().to(found)

    def log_probabilities(self, batch: Batch, adapter: Adapter) -> Tensor:
        """(targets) logarithms of what the tokens of the plans are predicted with, in nats."""
        batch = batch.on(self.device)
        return target_log_probabilities(self._states(batch, adapter), self.head, batch.targets)

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
        rotation = _rotary_embedding(batch.positions, self.shape)

        def linear(block: str, group: str, x: Tensor) -> Tensor:
            return self._linear(block, group, x, adapter)

        def mix(_: int, qkv: Tensor) -> Tensor:
            return attention(_split_heads(qkv, rotation, self.shape), batch, self.shape)

        x = _forward_blocks(self.embeddings[batch.tokens], self.shape, self.dtype, linear, mix)
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


class SampledPlan(NamedTuple):
    """Tokens of a plan, and the logarithm of what the whole vocabulary predicted each with."""

    tokens: tuple[int, ...]
    log_probabilities: tuple[float, ...]


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
        found = self.sample(prompts, limits, times, end, generator)
        return [[plan.tokens for plan in plans] for plans in found]

    @torch.no_grad()
    def sample(
        self,
        prompts: Sequence[tuple[int, ...]],
        limits: Sequence[int],
        times: int,
        end: int,
        generator: torch.Generator,
    ) -> list[list[SampledPlan]]:
        """Do as `write` does, and note what each token was predicted with."""
        cache, states = self._read(prompts)
        cache.repeat(times)
        states = states.repeat_interleave(times, 0)
        plans: list[list[int]] = [[] for _ in range(len(prompts) * times)]
        odds: list[list[float]] = [[] for _ in plans]
        rows = list(range(len(plans)))

        def is_open(row: int) -> bool:
            return plans[row][-1:] != [end] and len(plans[row]) < limits[row // times]

        while True:
            tokens, predicted = self._draw(states, generator)
            sampled = cast("list[int]", cast("Any", tokens.cpu()).tolist())
            logs = cast("list[float]", cast("Any", predicted.cpu()).tolist())
            for row, token, log in zip(rows, sampled, logs, strict=True):
                if is_open(row):
                    plans[row].append(token)
                    odds[row].append(log)
            places = [place for place, row in enumerate(rows) if is_open(row)]
            if not places:
                break
            if len(places) <= _FULL * len(rows):
                cache.keep(places)
                rows = [rows[place] for place in places]
                tokens = torch.tensor([sampled[place] for place in places]).to(tokens.device)
            states = self._step(tokens, cache)
        written = [
            SampledPlan(tuple(plan), tuple(logs)) for plan, logs in zip(plans, odds, strict=True)
        ]
        return [written[first : first + times] for first in range(0, len(written), times)]

    def _read(self, prompts: Sequence[tuple[int, ...]]) -> tuple[_KeyValueCache, Tensor]:
        """Read the prompts; also return the states that their first tokens are drawn from."""
        model, shape = self._model, self._model.shape
        batch = pack([TokenizedExample(prompt, (0,)) for prompt in prompts]).on(model.device)
        rotation, cache = (
            _rotary_embedding(batch.positions, shape),
            _KeyValueCache(batch, shape, model.dtype),
        )

        def mix(layer: int, qkv: Tensor) -> Tensor:
            read = _split_heads(qkv, rotation, shape)
            cache.fill(layer, read)
            return attention(read, batch, shape)

        x = _forward_blocks(model.embeddings[batch.tokens], shape, model.dtype, self._linear, mix)
        return cache, rms_norm(x[batch.rows], shape.norm_eps, x.dtype)

    def _step(self, tokens: Tensor, cache: _KeyValueCache) -> Tensor:
        model, shape = self._model, self._model.shape
        rotation = _rotary_embedding(cache.lengths, shape)
        cache.open_column()

        def mix(layer: int, qkv: Tensor) -> Tensor:
            return cache.mixed(layer, _split_heads(qkv, rotation, shape))

        x = _forward_blocks(model.embeddings[tokens], shape, model.dtype, self._linear, mix)
        return rms_norm(x, shape.norm_eps, x.dtype)

    def _linear(self, block: str, group: str, x: Tensor) -> Tensor:
        return x @ self._weights[f"{block}.{group}"].T

    def _draw(self, states: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Draw a token for each row; also return the logarithm of what all of its odds are."""
        logits = states.to(self._model.dtype) @ self._model.head.T
        likeliest, tokens = logits.topk(min(_LIKELIEST, logits.shape[1]), 1)
        odds = likeliest.to(states.dtype).softmax(1)
        # The smallest of exponential times is the draw (Gumbel's trick). They are drawn by the
        # processor, so that a seed means the same on every device.
        times = torch.empty(odds.shape, dtype=odds.dtype).exponential_(generator=generator)
        drawn = (odds / times.to(odds.device)).argmax(1, keepdim=True)
        norm = logits.to(states.dtype).logsumexp(1)
        predicted = likeliest.gather(1, drawn)[:, 0].to(states.dtype) - norm
        return tokens.gather(1, drawn)[:, 0], predicted
