"""Keys and values of sequences that grow side by side, one column a token."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F  # noqa: N812 - its usual name
from torch import Tensor

from ..batches import Batch
from .attention import Heads
from .base import BaseShape

__all__ = ["KeyValueCache"]

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
