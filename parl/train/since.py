"""What a report sums up."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["Since"]


@dataclass
class Since:
    """What happened since the last report."""

    losses: float = 0.0
    targets: int = 0
    tokens: int = 0
    seconds: float = 0.0

    def add(self, targets: int, tokens: int, loss: float, seconds: float) -> None:
        """Count a step over so many targets and tokens, with that mean loss."""
        self.losses += loss * targets
        self.targets += targets
        self.tokens += tokens
        self.seconds += seconds

    @property
    def loss(self) -> float:
        """Mean loss of a plan's token."""
        return self.losses / self.targets if self.targets else math.nan

    @property
    def tokens_s(self) -> float:
        """Tokens of examples per second."""
        return self.tokens / self.seconds if self.seconds else 0.0
