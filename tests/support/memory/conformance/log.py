"""Conformance of every `EpisodeLog`.

A log's tests inherit `LogConformance` and say how to open one: see `LogFixtures`.
"""

from __future__ import annotations

from conformance.appending import Appending
from conformance.embeddings import Embeddings
from conformance.forgetting import Forgetting
from conformance.reading import Reading
from conformance.whole import Whole

__all__ = ["LogConformance"]


class LogConformance(Appending, Reading, Forgetting, Embeddings, Whole):
    """The whole suite."""
