"""What a run learns from, step by step: examples as they are given, or plans of the model's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from .batches import Batch
from .checkpoints import TrainingProgress

__all__ = ["Course", "TrainingLesson"]


@dataclass(frozen=True)
class TrainingLesson:
    """What one step of the optimiser learns from.

    Attributes:
        parts: Batches, computed one after the other, and what each of their targets' losses is
            multiplied by; None for one part of the whole.
        loss: What reports say of it; None says the loss of the batches.
    """

    parts: Sequence[tuple[Batch, Tensor | None]]
    loss: float | None = None


class Course(Protocol):
    """Gives lessons, in an order that a seed decides, and examines."""

    @property
    def data(self) -> str:
        """All that is learnt from, as text that tells it from other data."""
        ...

    @property
    def report_every(self) -> int:
        """Steps between two reports."""
        ...

    def lesson(self, progress: TrainingProgress) -> TrainingLesson:
        """The next lesson; counts it in `progress`, whose epoch and batch say which it is."""
        ...

    def dev_loss(self) -> float | None:
        """The loss on what isn't learnt from; None where there is nothing."""
        ...
