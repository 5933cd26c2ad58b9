"""The vectors of episodes' prompts: read from the log, missing ones embedded and stored there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..episode import LogEntry
from ..protocols import Embedder, EpisodeLog, Vectors

__all__ = ["PromptVectors", "group_by_namespace", "prompt_vectors"]

_BATCH = 256


class PromptVectors(NamedTuple):
    """One row for each entry, shape (n, dimension), and how many texts had to be embedded."""

    rows: Vectors
    embedded: int


def prompt_vectors(
    log: EpisodeLog, embedder: Embedder, entries: Sequence[LogEntry]
) -> PromptVectors:
    """Return the vectors of the entries' prompts, in their order.

    Raises:
        MemoryStoreError: The log or the embedder fails.
    """
    name, width = embedder.name, embedder.dimension
    texts = {entry.episode.digest: entry.episode.prompt for entry in entries}
    kept = log.vectors(name, list(texts))
    # A vector of another width isn't this embedder's.
    known = {digest: row for digest, row in kept.items() if row.shape == (width,)}
    missing = [digest for digest in texts if digest not in known]
    for start in range(0, len(missing), _BATCH):
        part = missing[start : start + _BATCH]
        made = dict(zip(part, embedder.embed([texts[digest] for digest in part]), strict=True))
        log.keep_vectors(name, made)
        known.update(made)
    rows = np.empty((len(entries), width), dtype=np.float32)
    for n, entry in enumerate(entries):
        rows[n] = known[entry.episode.digest]
    return PromptVectors(rows, len(missing))


def group_by_namespace(entries: Sequence[LogEntry]) -> dict[str, list[int]]:
    """The indexes of the entries of each namespace."""
    found: dict[str, list[int]] = defaultdict(list)
    for n, entry in enumerate(entries):
        found[entry.episode.namespace].append(n)
    return found
