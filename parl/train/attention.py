"""Attention within each example of a packed batch, and from each to the prefix they share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812 - its usual name
from torch import Tensor

from .base import BaseShape
from .batches import Batch
from .operations import pad_rows, unpad_rows

__all__ = ["Heads", "KeyValueCache", "attention", "rotary_embedding", "split_heads"]


_SHORT = 512
"""Tokens up to which all scores of a batch are held, in 16 bits: others would take gigabytes."""


def rotary_embedding(positions: Tensor, shape: BaseShape) -> Tensor:
    """(rows, 1, head ÷ 2) complex numbers that turn each pair of a head by its position."""
    share = torch.arange(0, shape.head, 2, device=positions.device) / shape.head
    angles = positions[:, None] * shape.rope_base**-share
    return torch.polar(torch.ones_like(angles), angles)[:, None]


class Heads(NamedTuple):
    """What a layer's attention reads: queries (rows, heads · head), the others of fewer heads."""

    query: Tensor
    key: Tensor
    value: Tensor


def split_heads(qkv: Tensor, rotation: Tensor, shape: BaseShape) -> Heads:
    """Split the product of a layer's first matrices, and turn queries and keys.

    Args:
        qkv: (rows, heads + 2 · key heads, head), flattened to two dimensions.
        rotation: `rotary_embedding` of the rows' positions.
    """
    queries = shape.heads * shape.head
    both = queries + shape.kv_heads * shape.head
    turned = _rotate(qkv[:, :both], rotation, shape.head)
    return Heads(turned[:, :queries], turned[:, queries:], qkv[:, both:])


def attention(read: Heads, batch: Batch, shape: BaseShape) -> Tensor:
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


class KeyValueCache:
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

    def fill(self, layer: int, read: Heads) -> None:
        """Take a layer's keys and values of the batch."""
        for into, rows in ((self._keys, read.key), (self._values, read.value)):
            heads = rows.reshape(len(rows), self._shape.kv_heads, -1)
            into[layer] = heads[self._rows].transpose(1, 2)

    def repeat(self, times: int) -> None:
        """Put so many of each sequence side by side."""
        self.keep([row for row in range(len(self.lengths)) for _ in range(times)])

    def keep(self, sequences: Sequence[int]) -> None:
        """Keep these sequences, in this order."""
        kept = torch.tensor(sequences).to(self.lengths.device)
        self._keys, self._values = self._keys[:, kept], self._values[:, kept]
        self._mask, self.lengths = self._mask[kept], self.lengths[kept]

    def open_column(self) -> None:
        """Begin the next token of every sequence."""
        if self._columns == self._mask.shape[1]:
            self._keys = F.pad(self._keys, (0, 0, 0, _ROOM))
            self._values = F.pad(self._values, (0, 0, 0, _ROOM))
            self._mask = F.pad(self._mask, (0, _ROOM))
        self._columns += 1
        self.lengths = self.lengths + 1

    def mixed(self, layer: int, read: Heads) -> Tensor:
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
