"""The training loop: seeded, limited by steps or minutes, resumable."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import torch

from ...blocks.llama.api import usable_cores
from ...errors import InputError
from .base import Base, load_base
from .batches import Batch, Example, batches, pack
from .config import Report, TrainConfig, TrainResult
from .folder import Folder, Origin, Progress
from .kept import save_adapter
from .lora import new_adapter
from .memory import keep_memory
from .model import Model
from .precision import product_type
from .schedule import ended, rate
from .since import Since
from .start import read_adapter
from .tokens import encode

__all__ = ["REPORT_EVERY", "Run", "run"]

REPORT_EVERY = 10
"""Steps between two reports."""


def run(
    pairs: Sequence[tuple[str, str]],
    development: Sequence[tuple[str, str]],
    config: TrainConfig,
    folder: Path,
    base: Path,
    show: Callable[[Report], None],
    *,
    start: Path | None,
    resume: bool,
) -> TrainResult:
    """Train from pairs; see `parl.train.train`."""
    keep_memory()
    examples, unseen = encode(pairs, base), encode(development, base)
    return Run(examples, unseen, config, folder, load_base(base), show, start).train(resume=resume)


class Run:
    """One run in one folder."""

    def __init__(
        self,
        examples: Sequence[Example],
        unseen: Sequence[Example],
        config: TrainConfig,
        folder: Path,
        base: Base,
        show: Callable[[Report], None],
        start: Path | None = None,
    ) -> None:
        self._config = config
        self._folder = Folder(folder)
        self._show = show
        self._examples = examples
        by_length = sorted(unseen, key=len)
        self._unseen = [pack(some) for some in batches(by_length, config.batch_tokens, None)]
        self._base = base
        data = repr([(example.prompt, example.plan) for example in examples])
        self._origin = Origin(base.sha256, hashlib.sha256(data.encode()).hexdigest())
        self._model = Model(base, product_type(config))
        self._adapter = (
            new_adapter(base, config.rank, config.alpha, config.seed)
            if start is None
            else read_adapter(start, base, config.rank, config.alpha, config.seed)
        )
        self._optimiser = torch.optim.AdamW(
            [{"params": [*its.values()]} for its in (self._adapter.a, self._adapter.b)],
            lr=config.lr,
            weight_decay=0.0,
            fused=True,
        )
        self._progress = Progress()
        self._dealt: list[list[Example]] = []
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
            self._step(self._next_batch())
            progress.elapsed_s = time.monotonic() - started
            is_last = ended(self._config, progress) is not None
            evaluates = is_last or progress.step % self._config.eval_every == 0
            dev_loss = self._evaluate() if evaluates else None
            # Before the report, whose reader may break off.
            if evaluates or progress.step % self._config.save_every == 0:
                self._save()
            if evaluates or progress.step % REPORT_EVERY == 0:
                self._report(dev_loss)
            reason = ended(self._config, progress)
        return self._result(reason)

    def _next_batch(self) -> Batch:
        config, progress = self._config, self._progress
        if not self._dealt or progress.batch == len(self._dealt):
            if self._dealt:
                progress.epoch, progress.batch = progress.epoch + 1, 0
            seed = config.seed * 1_000_003 + progress.epoch
            self._dealt = list(batches(self._examples, config.batch_tokens, seed))
            # A resumed epoch may have been seen whole.
            if progress.batch == len(self._dealt):
                return self._next_batch()
        progress.batch += 1
        return pack(self._dealt[progress.batch - 1])

    def _step(self, batch: Batch) -> None:
        started = time.monotonic()
        first, second = self._optimiser.param_groups
        first["lr"] = rate(self._config, self._progress)
        second["lr"] = first["lr"] * self._config.lr_ratio
        loss = self._model.loss(batch, self._adapter)
        if not math.isfinite(float(loss.detach())):
            raise InputError(
                f"The loss is {float(loss.detach())} at step {self._progress.step + 1}.",
                "Lower lr, then train again.",
            )
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(self._adapter.parameters(), self._config.clip)
        cast("Any", self._optimiser).step()
        self._optimiser.zero_grad()
        self._progress.step += 1
        self._since.add(batch, float(loss.detach()), time.monotonic() - started)

    def _evaluate(self) -> float | None:
        loss = None
        if self._unseen:
            with torch.no_grad():
                sums = [
                    float(self._model.loss(batch, self._adapter)) * len(batch.targets)
                    for batch in self._unseen
                ]
            loss = sum(sums) / sum(len(batch.targets) for batch in self._unseen)
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
        report = Report(
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
