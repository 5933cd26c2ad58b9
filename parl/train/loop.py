"""A run from pairs and a model file: what is learnt from, and what learns."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from ...errors import InputError
from ...models.llama.api import usable_cores
from ...tasks.planner.line_format import read_lines
from .base import Base, load_base
from .batches import encode, pieces
from .checkpoints import Folder, Origin, TrainingProgress, save_adapter, share_done
from .config import PolicySettings, Practice, TrainConfig, TrainingReport, TrainResult
from .learner import Learner, device_of, keep_memory, new_learner
from .objective import PolicyTarget
from .policy import PolicyCourse, PolicyPrompt, agreed_prompts, policy_tasks
from .practice import Course, PracticeCourse, SupervisedCourse, Task, TrainingLesson

__all__ = ["Since", "TrainingRun", "ended", "line", "progress_printer", "rate", "run", "run_policy"]


@contextmanager
def progress_printer(
    config: TrainConfig, console: Console | None = None
) -> Generator[Callable[[TrainingReport], None]]:
    """Give the function that shows each report."""
    console = console or Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        yield lambda report: console.print(line(report), soft_wrap=True)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("Reading the base model", total=1.0)

        def show(report: TrainingReport) -> None:
            if report.dev_loss is not None:
                console.print(line(report), soft_wrap=True)
            bar.update(task, description=line(report), completed=_share(config, report))

        yield show


def line(report: TrainingReport) -> str:
    """Say a report in one line."""
    dev = "" if report.dev_loss is None else f"  dev {report.dev_loss:.4f}"
    return (
        f"step {report.step:>5}  loss {report.loss:.4f}{dev}  lr {report.lr:.1e}  "
        f"{report.tokens_s:4.0f} tokens/s  {report.elapsed_s / 60:.1f} min"
    )


def _share(config: TrainConfig, report: TrainingReport) -> float:
    by_steps = report.step / config.steps if config.steps else 0.0
    by_time = report.elapsed_s / (config.minutes * 60) if config.minutes else 0.0
    return min(1.0, max(by_steps, by_time))


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
    share = share_done(config, progress, ahead=0.5)
    if share < config.warmup:
        # A run limited by time begins at 0 seconds.
        return config.lr * max(share / config.warmup, 0.05)
    remaining = (1 - share) / (1 - config.warmup) if config.warmup < 1 else 1.0
    return config.lr * (config.final_lr + (1 - config.final_lr) * remaining)


def _since_best(progress: TrainingProgress) -> int:
    best = progress.best
    return sum(1 for step in progress.dev_losses if best is not None and step > best)


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
        lesson.learnt(self._progress.step)
        # One of which nothing is to be learnt has its loss all the same.
        targets = max(1, sum(len(batch.targets) for batch, _ in lesson.parts))
        tokens = sum(batch.size for batch, _ in lesson.parts)
        self._since.add(targets, tokens, loss, time.monotonic() - started)

    def _add_gradients(self, lesson: TrainingLesson) -> float:
        """Add up the gradients of a lesson's parts, and return what reports say of it."""
        total = 0.0
        for batch, weights in lesson.parts:
            if isinstance(weights, PolicyTarget):
                loss = weights.loss(self._model.log_probabilities(batch, self._adapter))
            else:
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


Pairs = Sequence[tuple[str, str]]


def run(
    pairs: Pairs,
    development: Pairs,
    config: TrainConfig,
    folder: Path,
    base: Path,
    show: Callable[[TrainingReport], None],
    *,
    start: Path | None,
    practice: Practice | PolicySettings | None,
    resume: bool,
) -> TrainResult:
    """Train from pairs; see `parl.train.train`."""
    if isinstance(practice, PolicySettings):
        prompts, unseen = agreed_prompts(pairs), agreed_prompts(development)
        return run_policy(
            prompts, unseen, config, practice, folder, base, show, start=start, resume=resume
        )
    keep_memory()
    loaded = load_base(base, device_of(config))
    learner = new_learner(loaded, config, start)
    course: Course = (
        SupervisedCourse(encode(pairs, base), encode(development, base), config, learner)
        if practice is None
        else _practised(pairs, development, config, practice, base, learner)
    )
    return TrainingRun(course, learner, config, folder, loaded, show).train(resume=resume)


def run_policy(
    prompts: Sequence[PolicyPrompt],
    unseen: Sequence[PolicyPrompt],
    config: TrainConfig,
    policy: PolicySettings,
    folder: Path,
    base: Path,
    show: Callable[[TrainingReport], None],
    *,
    start: Path | None,
    resume: bool,
) -> TrainResult:
    """Train from runs of the planner's own plans; see `parl.train.train_policy`."""
    keep_memory()
    loaded = load_base(base, device_of(config))
    learner = new_learner(loaded, config, start)
    tasks = policy_tasks(prompts, base), policy_tasks(unseen, base)
    course = PolicyCourse(*tasks, config, policy, learner, pieces(base), folder)
    return TrainingRun(course, learner, config, folder, loaded, show).train(resume=resume)


def _practised(
    pairs: Pairs,
    development: Pairs,
    config: TrainConfig,
    practice: Practice,
    base: Path,
    learner: Learner,
) -> PracticeCourse:
    def tasks(pairs: Pairs) -> list[Task]:
        examples = zip(pairs, encode(pairs, base), strict=True)
        return [
            Task(objective, read_lines(plan, objective), example)
            for (objective, plan), example in examples
        ]

    return PracticeCourse(tasks(pairs), tasks(development), config, practice, learner, pieces(base))
