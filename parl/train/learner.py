"""A frozen model and the adapter over it that is trained."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .base import Base
from .config import TrainConfig
from .device import product_type
from .lora import Adapter, new_adapter
from .model import Model
from .start import read_adapter

__all__ = ["Learner", "new_learner"]


@dataclass(frozen=True)
class Learner:
    """What learns: the model's weights stay as they are, the adapter's change in place."""

    model: Model
    adapter: Adapter


def new_learner(base: Base, config: TrainConfig, start: Path | None = None) -> Learner:
    """Put a new adapter over a model, or one from a file; see `read_adapter` for errors."""
    adapter = (
        new_adapter(base, config.rank, config.alpha, config.seed)
        if start is None
        else read_adapter(start, base, config.rank, config.alpha, config.seed)
    )
    return Learner(Model(base, product_type(config, base.device)), adapter)
