"""Lessons from examples: the plan that is given is the one to write."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from .batches import TokenizedExample, batches, pack
from .checkpoints import TrainingProgress
from .config import TrainConfig
from .learner import Learner
from .lessons import TrainingLesson

__all__ = ["SupervisedCourse"]


class SupervisedCourse:
    """Deals all examples into batches, epoch after epoch; a `Course`."""

    report_every = 10

    def __init__(
        self,
        examples: Sequence[TokenizedExample],
        unseen: Sequence[TokenizedExample],
        config: TrainConfig,
        learner: Learner,
    ) -> None:
        self._examples = examples
        self._config = config
        self._learner = learner
        by_length = sorted(unseen, key=len)
        self._unseen = [pack(some) for some in batches(by_length, config.batch_tokens, None)]
        self._dealt: list[list[TokenizedExample]] = []

    @property
    def data(self) -> str:
        """Every example's tokens."""
        return repr([(example.prompt, example.plan) for example in self._examples])

    def lesson(self, progress: TrainingProgress) -> TrainingLesson:
        """The next batch."""
        if not self._dealt or progress.batch == len(self._dealt):
            if self._dealt:
                progress.epoch, progress.batch = progress.epoch + 1, 0
            seed = self._config.seed * 1_000_003 + progress.epoch
            self._dealt = list(batches(self._examples, self._config.batch_tokens, seed))
            # A resumed epoch may have been seen whole.
            if progress.batch == len(self._dealt):
                return self.lesson(progress)
        progress.batch += 1
        return TrainingLesson([(pack(self._dealt[progress.batch - 1]), None)])

    def dev_loss(self) -> float | None:
        """Mean loss of a token."""
        if not self._unseen:
            return None
        model, adapter = self._learner.model, self._learner.adapter
        with torch.no_grad():
            sums = [
                float(model.loss(example, adapter)) * len(example.targets)
                for example in self._unseen
            ]
        return sum(sums) / sum(len(example.targets) for example in self._unseen)
