"""The vectors of episodes' prompts: those the log keeps, and the missing ones made and kept."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..episode import LogEntry
from ..protocols import Embedder, EpisodeLog, Vectors

__all__ = ["PromptVectors", "by_namespace", "prompt_vectors"]

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
    # What was cut or is of another width is not a vector of this embedder's.
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


def by_namespace(entries: Sequence[LogEntry]) -> dict[str, list[int]]:
    """Which of the entries are of each namespace, by their numbers from 0."""
    found: dict[str, list[int]] = defaultdict(list)
    for n, entry in enumerate(entries):
        found[entry.episode.namespace].append(n)
    return found
