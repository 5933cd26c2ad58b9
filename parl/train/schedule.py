"""When a training run ends, and how fast it learns until then. Pure."""

from __future__ import annotations

from .checkpoints import TrainingProgress
from .config import TrainConfig

__all__ = ["ended", "rate"]


def ended(config: TrainConfig, progress: TrainingProgress) -> str | None:
    """What ends the run now, if anything."""
    if config.steps is not None and progress.step >= config.steps:
        return f"{config.steps} steps are done"
    if config.minutes is not None and progress.elapsed_s >= config.minutes * 60:
        return f"{config.minutes:g} minutes are over"
    if config.patience is not None and _since_best(progress) >= config.patience:
        return f"{config.patience} evaluations were no better than step {progress.best}"
    return None


def rate(config: TrainConfig, progress: TrainingProgress) -> float:
    """Learning rate of the next step: it rises, then falls, both in a straight line."""
    # Half a step more, so that neither the first nor the last step is idle.
    share = (progress.step + 0.5) / config.steps if config.steps else 0.0
    if config.minutes is not None:
        share = max(share, progress.elapsed_s / (config.minutes * 60))
    if share < config.warmup:
        # A run limited by time begins at 0 seconds.
        return config.lr * max(share / config.warmup, 0.05)
    left = (1 - min(share, 1.0)) / (1 - config.warmup) if config.warmup < 1 else 1.0
    return config.lr * (config.final_lr + (1 - config.final_lr) * left)


def _since_best(progress: TrainingProgress) -> int:
    best = progress.best
    return sum(1 for step in progress.dev_losses if best is not None and step > best)
