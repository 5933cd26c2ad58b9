"""The training loop: seeded, limited by steps or minutes, resumable."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch

from ...blocks.llama.api import usable_cores
from ...errors import InputError
from .checkpoints import Folder, Origin, TrainingProgress, save_adapter
from .config import TrainConfig, TrainingReport, TrainResult
from .learner import Learner
from .lessons import Course, TrainingLesson
from .network.base import Base
from .schedule import ended, rate

__all__ = ["Since", "TrainingRun"]


class TrainingRun:
    """One run in one folder."""

    def __init__(
        self,
        course: Course,
        learner: Learner,
        config: TrainConfig,
        folder: Path,
        base: Base,
        show: Callable[[TrainingReport], None],
    ) -> None:
        self._config = config
        self._folder = Folder(folder)
        self._show = show
        self._course = course
        self._base = base
        self._origin = Origin(base.sha256, hashlib.sha256(course.data.encode()).hexdigest())
        self._model, self._adapter = learner.model, learner.adapter
        self._optimiser = torch.optim.AdamW(
            [{"params": [*its.values()]} for its in (self._adapter.a, self._adapter.b)],
            lr=config.lr,
            weight_decay=0.0,
            fused=True,
        )
        self._progress = TrainingProgress()
        self._since = Since()

    def train(self, *, resume: bool) -> TrainResult:
        """Train to the end; see `parl.train.train`."""
        self._folder.open(resume=resume)
        torch.set_num_threads(self._config.threads or usable_cores())
        if resume:
            self._progress = self._folder.restore(
                self._adapter, self._optimiser, self._config, self._origin
            )
        progress = self._progress
        started = time.monotonic() - progress.elapsed_s
        reason = ended(self._config, progress)
        while reason is None:
            self._step()
            progress.elapsed_s = time.monotonic() - started
            is_last = ended(self._config, progress) is not None
            evaluates = is_last or progress.step % self._config.eval_every == 0
            dev_loss = self._evaluate() if evaluates else None
            # Before the report, whose reader may break off.
            if evaluates or progress.step % self._config.save_every == 0:
                self._save()
            if evaluates or progress.step % self._course.report_every == 0:
                self._report(dev_loss)
            reason = ended(self._config, progress)
        return self._result(reason)

    def _step(self) -> None:
        started = time.monotonic()
        lesson = self._course.lesson(self._progress)
        first, second = self._optimiser.param_groups
        first["lr"] = rate(self._config, self._progress)
        second["lr"] = first["lr"] * self._config.lr_ratio
        loss = self._add_gradients(lesson)
        torch.nn.utils.clip_grad_norm_(self._adapter.parameters(), self._config.clip)
        cast("Any", self._optimiser).step()
        self._optimiser.zero_grad()
        self._progress.step += 1
        targets = sum(len(batch.targets) for batch, _ in lesson.parts)
        tokens = sum(batch.size for batch, _ in lesson.parts)
        self._since.add(targets, tokens, loss, time.monotonic() - started)

    def _add_gradients(self, lesson: TrainingLesson) -> float:
        """Add up the gradients of a lesson's parts, and return what reports say of it."""
        total = 0.0
        for batch, weights in lesson.parts:
            loss = self._model.loss(batch, self._adapter, weights)
            total += (value := float(loss.detach()))
            if not math.isfinite(value):
                raise InputError(
                    f"The loss is {value} at step {self._progress.step + 1}.",
                    "Lower lr, then train again.",
                )
            torch.autograd.backward(loss)
        return total if lesson.loss is None else lesson.loss

    def _evaluate(self) -> float | None:
        loss = self._course.dev_loss()
        if loss is not None:
            self._progress.dev_losses[self._progress.step] = loss
        facts = {
            "base.name": self._base.shape.name,
            "base.sha256": self._base.sha256,
            "steps": str(self._progress.step),
            "seed": str(self._config.seed),
        }
        save_adapter(self._folder.adapter(self._progress.step), self._adapter, facts)
        return loss

    def _report(self, dev_loss: float | None) -> None:
        report = TrainingReport(
            step=self._progress.step,
            loss=self._since.loss,
            dev_loss=dev_loss,
            lr=self._optimiser.param_groups[0]["lr"],
            tokens_s=self._since.tokens_s,
            elapsed_s=self._progress.elapsed_s,
        )
        self._since = Since()
        self._folder.log(report)
        self._show(report)

    def _save(self) -> None:
        self._folder.save(
            self._adapter, self._optimiser, self._progress, self._config, self._origin
        )

    def _result(self, stopped: str) -> TrainResult:
        step = self._progress.step if self._progress.best is None else self._progress.best
        return TrainResult(
            steps=self._progress.step,
            best=self._folder.adapter(step),
            checkpoints=self._folder.adapters(),
            dev_losses=dict(self._progress.dev_losses),
            stopped=stopped,
        )


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
