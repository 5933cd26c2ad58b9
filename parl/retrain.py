"""Train an adapter, evaluate its checkpoints as they will be served, and install the best one."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..blocks.llama.adapter import planner_adapter
from ..blocks.llama.model import LlamaCppModel
from ..errors import InputError, WorseAdapterError
from ..files import make_folder, owner_only
from ..text import plural
from .data.generating.generate import Part, generate
from .evaluate import Evaluation, evaluate
from .train import (
    Practice,
    TrainConfig,
    TrainingReport,
    average_adapters,
    export,
    train,
    training_device,
)

__all__ = ["RetrainOutcome", "TrainingSource", "retrain"]

Pairs = Sequence[tuple[str, str]]
_CANDIDATES = 3
"""Checkpoints that are evaluated as they will be served: the best by loss and the last ones."""


@dataclass(frozen=True)
class TrainingSource:
    """Where the training and evaluation pairs come from.

    Attributes:
        generated: Number of generated training pairs; 0 for none.
        own: The user's own pairs; every tenth is held out for the evaluation.
        seed: Seed of the generator.
        judged: Number of generated pairs for the evaluation, from patterns that aren't trained on.
    """

    generated: int = 12_000
    own: Pairs = ()
    seed: int = 0
    judged: int = 80

    def training_pairs(self) -> list[tuple[str, str]]:
        """Pairs to train on."""
        own = [pair for n, pair in enumerate(self.own) if n % 10 != 9]
        return [*self._generate("train", self.generated), *own]

    def held_out_pairs(self) -> list[tuple[str, str]]:
        """Pairs to evaluate on."""
        own = list(self.own[9::10])
        return [*self._generate("development", min(self.judged, self.generated)), *own]

    def _generate(self, part: Part, count: int) -> list[tuple[str, str]]:
        pairs = generate(self.seed, count, part=part) if count else []
        return [(pair.objective, pair.plan) for pair in pairs]


@dataclass(frozen=True)
class RetrainOutcome:
    """Scores before and after a retraining.

    Attributes:
        before: Of the current planner: the installed adapter, or the model without an adapter.
        after: Of the new adapter.
        file: The new adapter's file.
    """

    before: Evaluation
    after: Evaluation
    file: Path


def retrain(
    base: Path,
    source: TrainingSource,
    config: TrainConfig,
    folder: Path,
    target: Path,
    *,
    start: Path | None = None,
    practice: Practice | None = None,
    resume: bool = False,
    force: bool = False,
    show: Callable[[TrainingReport], None] | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> RetrainOutcome:
    """Train an adapter over a model file and put it at `target`.

    Args:
        base: A GGUF file of the llama architecture.
        folder: Where the run's state and the new adapter are kept until the end.
        target: Where to install the adapter; it has to beat the adapter that is there.
        start: An adapter to continue from instead of a new one, of at most the same rank; the mean
            of the old and the new adapter is evaluated too.
        practice: Learn from the model's own plans. This needs an adapter that can plan: `start`, or
            else the current one.
        resume: Continue the run in `folder`.
        force: Replace the old adapter even if it is better.

    Raises:
        InputError: The `train` extra, the device, a pair, the run to resume or an adapter to
            practise with is missing.
        ModelError: The base can't be read, or is not of the llama architecture.
        WorseAdapterError: The new adapter scores lower; it stays in `folder`.
    """
    device = training_device(config)
    held_out_pairs = source.held_out_pairs()
    if not held_out_pairs:
        raise InputError(
            f"{len(source.own)} pairs leave none to evaluate on.",
            "Give ten pairs or more, or let some be generated.",
        )
    if practice is not None and start is None:
        start = _current_adapter(base, target)
    say(f"Evaluating the current planner on {plural(len(held_out_pairs), 'objective')}")
    current = target if target.is_file() else "default"
    before = asyncio.run(evaluate(held_out_pairs, LlamaCppModel(base, planner_adapter=current)))
    say(f"Training on {device}")
    result = train(
        source.training_pairs(),
        held_out_pairs,
        config,
        folder,
        base=base,
        start=start,
        practice=practice,
        resume=resume,
        show=show,
    )
    candidates = dict.fromkeys([result.best, *result.checkpoints[1 - _CANDIDATES :]])
    if start is not None:
        candidates[average_adapters(result.best, start, base=base)] = None
    best: tuple[Evaluation, Path] | None = None
    for checkpoint in candidates:
        file = export(checkpoint, folder / f"{checkpoint.stem}.gguf")
        evaluation = asyncio.run(
            evaluate(held_out_pairs, LlamaCppModel(base, planner_adapter=file))
        )
        say(
            f"{checkpoint.stem}: {evaluation.exact:.0%} of the plans exact, "
            f"score {evaluation.score:.3f}"
        )
        if best is None or evaluation.score > best[0].score:
            best = evaluation, file
    assert best is not None, "training keeps at least one adapter"  # noqa: S101
    after, file = best
    if after.score < before.score and not force:
        raise WorseAdapterError(
            f"The new adapter scores {after.score:.3f}, the current planner {before.score:.3f}.",
            f"It is kept in {file}; --force installs it all the same.",
        )
    make_folder(target.parent)
    with file.open("rb") as made, open(target, "wb", opener=owner_only) as installed:
        shutil.copyfileobj(made, installed)
    return RetrainOutcome(before, after, target)


def _current_adapter(base: Path, target: Path) -> Path:
    adapter = target if target.is_file() else planner_adapter(base)
    if adapter is None:
        raise InputError(
            f"There is no planner adapter for {base} yet, so there is nothing to practise.",
            "Train an adapter without --practice first, or give one with --start.",
        )
    return adapter
