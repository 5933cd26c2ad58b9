"""One belief: a Q-value and counts that decay slowly. Both are linear in the outcomes.

So an outcome can be corrected later, exactly: its remaining weight follows from the number of
outcomes since.
"""

from __future__ import annotations

from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

__all__ = ["Contribution", "Tally", "ValueEstimate"]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class Tally(NamedTuple):
    """Outcomes by weight: how many succeeded and failed."""

    won: float
    lost: float

    @property
    def rate(self) -> float:
        """Success rate, shrunk towards one half."""
        return (self.won + 1) / (self.won + self.lost + 2)


class Contribution(_Model):
    """What an outcome has put into an estimate.

    Attributes:
        at: The estimate's samples with it.
        before: The estimate's Q before it.
        first: What Q was moved towards at first.
        target: What Q counts as moved towards now; `before` leaves no trace.
        won, lost: What it has added to the counts.
    """

    at: int
    before: float
    first: float
    target: float
    won: float
    lost: float


class ValueEstimate(_Model):
    """A belief.

    Attributes:
        q: Expected reward.
        won, lost: Outcomes, older ones counting less: a Beta posterior's counts without its prior.
        samples: Outcomes ever.
    """

    q: float
    won: float = 0.0
    lost: float = 0.0
    samples: int = 0

    def learn(self, target: float, success: float, alpha: float, half_life: float) -> Contribution:
        """Learn from an outcome: a reward to move towards, and a success from 0 to 1."""
        kept, before = 0.5 ** (1 / half_life), self.q
        self.q += alpha * (target - self.q)
        self.won = self.won * kept + success
        self.lost = self.lost * kept + 1 - success
        self.samples += 1
        return Contribution(
            at=self.samples,
            before=before,
            first=target,
            target=target,
            won=success,
            lost=1 - success,
        )

    def correct(
        self,
        contribution: Contribution,
        target: float,
        won: float,
        lost: float,
        alpha: float,
        half_life: float,
    ) -> Contribution:
        """Replace an earlier outcome by another."""
        age = self.samples - contribution.at
        kept = 0.5 ** (age / half_life)
        self.q += alpha * (1 - alpha) ** age * (target - contribution.target)
        self.won = max(0.0, self.won + kept * (won - contribution.won))
        self.lost = max(0.0, self.lost + kept * (lost - contribution.lost))
        return contribution.model_copy(update={"target": target, "won": won, "lost": lost})
