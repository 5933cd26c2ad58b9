"""PARL's objective for a planner that learns from runs of its own plans.

Kimi K2.5's report (arXiv:2602.02276) compares each rollout with the mean reward of the K of its
prompt, and lets a token pass its gradient only while the logarithm of its new probability over
its old one lies between two bounds, whatever the sign of the advantage. A square of that logarithm
keeps the planner near what wrote the plans:

    L(θ) = -1/N Σ_j Σ_i [ exp(clip(ℓ_ji, low, high)) · (r_j - mean r) - τ · ℓ_ji² ]
    ℓ_ji = log π_θ(y_ji | x, y_j<i) - log π_old(y_ji | x, y_j<i)

N is the number of tokens of all rollouts of a step. The bounds and τ are not published.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from .config import PolicySettings

__all__ = ["PolicyMeter", "PolicyTarget", "clipped_terms"]


def clipped_terms(new: Tensor, old: Tensor, advantages: Tensor, policy: PolicySettings) -> Tensor:
    """(targets) what each token adds to the objective, which is to become greater.

    Args:
        new: (targets) log-probabilities by what learns.
        old: (targets) those by what wrote the plans; frozen.
        advantages: (targets) that of the plan of each token.
    """
    log_ratio = new - old
    ratio = log_ratio.clamp(policy.low, policy.high).exp()
    return ratio * advantages - policy.drift * log_ratio.square()


@dataclass
class PolicyMeter:
    """How far what learns had moved from what wrote the plans, over the tokens of a step."""

    tokens: int = 0
    clipped: int = 0
    log_ratios: float = 0.0
    divergences: float = 0.0

    def add(self, log_ratio: Tensor, policy: PolicySettings) -> None:
        """Count tokens by their log-ratios."""
        beyond = (log_ratio < policy.low) | (log_ratio > policy.high)
        self.tokens += len(log_ratio)
        self.clipped += int(beyond.sum())
        self.log_ratios += float(log_ratio.sum())
        # The estimate of KL(old, new) that is never negative: r - 1 - log r.
        self.divergences += float((log_ratio.double().expm1() - log_ratio).clamp(min=0).sum())

    def means(self) -> dict[str, float]:
        """Share of clipped tokens, mean log-ratio, and estimate of the KL divergence in nats."""
        count = max(1, self.tokens)
        return {
            "clipped": self.clipped / count,
            "log_ratio": self.log_ratios / count,
            "kl": self.divergences / count,
        }


@dataclass(frozen=True)
class PolicyTarget:
    """What the tokens of a batch are taught by.

    Attributes:
        old: (targets) log-probabilities by what wrote the plans.
        advantages: (targets) that of the plan of each token.
        tokens: Those of all batches of the step.
        meter: Counts the batch when its loss is made.
    """

    old: Tensor
    advantages: Tensor
    tokens: int
    policy: PolicySettings
    meter: PolicyMeter = field(default_factory=PolicyMeter)

    def loss(self, log_probabilities: Tensor) -> Tensor:
        """Return the batch's part of the loss of its step.

        Args:
            log_probabilities: (targets) by what learns.
        """
        old, advantages = (x.to(log_probabilities) for x in (self.old, self.advantages))
        with torch.no_grad():
            self.meter.add(log_probabilities - old, self.policy)
        return -clipped_terms(log_probabilities, old, advantages, self.policy).sum() / self.tokens
