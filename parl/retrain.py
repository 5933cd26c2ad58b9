"""Train an adapter and put it in place: data, training, the choice on what is served, the guard."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..blocks.llama.adapter import planner_adapter
from ..blocks.llama.model import LlamaCppModel
from ..errors import InputError, WorseAdapterError
from ..text import plural
from .data.generating.generate import Part, generate
from .evaluate import Evaluation, evaluate
from .train import Practice, TrainConfig, TrainingReport, averaged, export, train, trains_on

__all__ = ["RetrainOutcome", "TrainingSource", "retrain"]

Pairs = Sequence[tuple[str, str]]
_TRIED = 3
"""Checkpoints that are tried on what is served: the best by loss and the last ones."""


@dataclass(frozen=True)
class TrainingSource:
    """What is learnt from.

    Attributes:
        generated: Pairs of the generator; 0 for none.
        own: The user's own pairs; every tenth is kept for the evaluation.
        seed: Of the generator.
        judged: Generated pairs, from patterns that aren't trained on, that plans are judged by.
    """

    generated: int = 12_000
    own: Pairs = ()
    seed: int = 0
    judged: int = 80

    def learnt(self) -> list[tuple[str, str]]:
        """Pairs to train on."""
        own = [pair for n, pair in enumerate(self.own) if n % 10 != 9]
        return [*self._generate("train", self.generated), *own]

    def held_back(self) -> list[tuple[str, str]]:
        """Pairs to judge by."""
        own = list(self.own[9::10])
        return [*self._generate("development", min(self.judged, self.generated)), *own]

    def _generate(self, part: Part, count: int) -> list[tuple[str, str]]:
        made = generate(self.seed, count, part=part) if count else []
        return [(pair.objective, pair.plan) for pair in made]


@dataclass(frozen=True)
class RetrainOutcome:
    """What a retraining came to.

    Attributes:
        before: What planned so far: the adapter in place, or the model without one.
        after: The new adapter.
        file: Where it is.
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
        folder: Where the run's state and the new adapter lie until the end.
        target: Where the adapter is wanted; what is there is what it has to beat.
        start: An adapter to go on from instead of a new one, of at most that rank; the mean of
            both is tried, too.
        practice: Learn from plans of its own, which wants an adapter that plans: `start`, else what
            plans now.
        resume: Go on with the run in `folder`.
        force: Replace a better adapter too.

    Raises:
        InputError: The `train` extra, the device, a pair, the run to resume or an adapter to
            practise with is missing.
        ModelError: The base can't be read, or is not of the llama architecture.
        WorseAdapterError: The new adapter scores lower; it stays in `folder`.
    """
    device = trains_on(config)
    held_back = source.held_back()
    if not held_back:
        raise InputError(
            f"{len(source.own)} pairs leave none to judge by.",
            "Give ten pairs or more, or let some be generated.",
        )
    if practice is not None and start is None:
        start = _planner(base, target)
    say(f"Judging what plans now on {plural(len(held_back), 'objective')}")
    now = target if target.is_file() else "default"
    before = asyncio.run(evaluate(held_back, LlamaCppModel(base, planner_adapter=now)))
    say(f"Training on {device}")
    result = train(
        source.learnt(),
        held_back,
        config,
        folder,
        base=base,
        start=start,
        practice=practice,
        resume=resume,
        show=show,
    )
    tried = dict.fromkeys([result.best, *result.checkpoints[1 - _TRIED :]])
    if start is not None:
        tried[averaged(result.best, start, base=base)] = None
    best: tuple[Evaluation, Path] | None = None
    for checkpoint in tried:
        file = export(checkpoint, folder / f"{checkpoint.stem}.gguf")
        found = asyncio.run(evaluate(held_back, LlamaCppModel(base, planner_adapter=file)))
        say(f"{checkpoint.stem}: {found.exact:.0%} of the plans exact, score {found.score:.3f}")
        if best is None or found.score > best[0].score:
            best = found, file
    assert best is not None, "training keeps at least one adapter"  # noqa: S101
    after, file = best
    if after.score < before.score and not force:
        raise WorseAdapterError(
            f"The new adapter scores {after.score:.3f}, what plans now {before.score:.3f}.",
            f"It is kept in {file}; --force puts it in place all the same.",
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, target)
    return RetrainOutcome(before, after, target)


def _planner(base: Path, target: Path) -> Path:
    adapter = target if target.is_file() else planner_adapter(base)
    if adapter is None:
        raise InputError(
            f"Nothing plans over {base} yet, so there is nothing to practise.",
            "Train an adapter without --practice first, or give one with --start.",
        )
    return adapter
