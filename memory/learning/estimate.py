"""One belief: a Q-value and counts that slowly forget. Both are linear in what they were told.

So what an outcome has turned out to be worth after all can be put right later, exactly: what is
left of it by then is known from how many came after it.
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
        """Success rate, drawn to one half while little is known."""
        return (self.won + 1) / (self.won + self.lost + 2)


class Contribution(_Model):
    """What an outcome has put into an estimate.

    Attributes:
        at: The estimate's samples with it.
        before: The estimate's Q before it.
        first: What Q was moved towards at first.
        target: What it is as if Q had been moved towards; `before` if it is to leave no trace.
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
        won, lost: Outcomes, the older ones counting less; a Beta posterior's, less its prior.
        samples: Outcomes ever.
    """

    q: float
    won: float = 0.0
    lost: float = 0.0
    samples: int = 0

    def learn(self, target: float, success: float, alpha: float, half_life: float) -> Contribution:
        """Take in an outcome: a reward to move towards, and a success from 0 to 1."""
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
        """Make it as if that outcome had been another one."""
        age = self.samples - contribution.at
        kept = 0.5 ** (age / half_life)
        self.q += alpha * (1 - alpha) ** age * (target - contribution.target)
        self.won = max(0.0, self.won + kept * (won - contribution.won))
        self.lost = max(0.0, self.lost + kept * (lost - contribution.lost))
        return contribution.model_copy(update={"target": target, "won": won, "lost": lost})
