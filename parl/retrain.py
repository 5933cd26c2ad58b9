"""Train an adapter, score its plans, and install the best."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from ..errors import InputError, PlanError, WorseAdapterError
from ..files import make_folder, owner_only, read_text
from ..models.llama.gguf import planner_adapter
from ..models.llama.model import LlamaCppModel
from ..plan.task_ir import parse_plan
from ..tasks.planner.conversation import PlanContext
from ..tasks.planner.line_format import flat, read_lines, write_lines
from ..tasks.planner.planners import AdapterPlanner, GrammarPlanner
from ..text import plural
from ..untrusted.json_text import NoJsonError, read_json
from .agreement import Agreement, agreement
from .data.generate import Part, generate
from .train import (
    PolicySettings,
    Practice,
    TrainConfig,
    TrainingReport,
    average_adapters,
    export,
    train,
    training_device,
)

__all__ = ["Evaluation", "RetrainOutcome", "TrainingSource", "evaluate", "read_pairs", "retrain"]


@dataclass(frozen=True)
class Evaluation:
    """A planner's scores over some pairs.

    Attributes:
        plans: Number of pairs.
        readable: Share of objectives that got a plan.
        exact: Share of plans with the wanted steps and edges.
        edge_f1: F1 over the edges of all plans together.
        faithful: Mean share of the wanted words that the paired steps have.
        seconds: Mean seconds for one plan.
    """

    plans: int
    readable: float
    exact: float
    edge_f1: float
    faithful: float
    seconds: float

    @property
    def score(self) -> float:
        """The score that adapters are compared by, 0..1: the mean of exact, edges and words."""
        return (self.exact + self.edge_f1 + self.faithful) / 3


async def evaluate(
    pairs: Sequence[tuple[str, str]],
    model: LlamaCppModel,
    *,
    samples: int = 1,
    clock: Callable[[], float] = time.perf_counter,
) -> Evaluation:
    """Plan every objective through the engine, one after another.

    Args:
        pairs: Objectives and their wanted plans in lines; at least one.
        model: Plans with its planner adapter, if it has one.
        samples: The most plans to generate for one objective.

    Raises:
        PlanError: A wanted plan can't be read.
    """
    adapter = model.planner_adapter
    planner = (
        AdapterPlanner(model, adapter, samples=samples)
        if adapter is not None
        else GrammarPlanner(model, model)
    )
    start = clock()
    results: list[Agreement] = []
    for objective, lines in pairs:
        wanted = read_lines(lines, objective)
        try:
            plan = (await planner.plan(objective, PlanContext())).plan
        except PlanError:
            plan = None
        results.append(agreement(plan, wanted))
    return _average(results, clock() - start)


def _average(results: Sequence[Agreement], seconds: float) -> Evaluation:
    count = len(results)
    edges = sum(result.plan_edges + result.wanted_edges for result in results)
    return Evaluation(
        plans=count,
        readable=sum(result.readable for result in results) / count,
        exact=sum(result.exact for result in results) / count,
        edge_f1=2 * sum(result.matched_edges for result in results) / edges if edges else 1.0,
        faithful=sum(result.faithful for result in results) / count,
        seconds=seconds / count,
    )


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
    practice: Practice | PolicySettings | None = None,
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
        practice: Learn from the model's own plans, or with `PolicySettings` from runs of them. This
            needs an adapter that can plan: `start`, or else the current one.
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


def read_pairs(path: Path) -> list[tuple[str, str]]:
    """Read pairs of an objective and its plan in lines.

    Each line is `{"objective": …, "plan": …}`; the plan is numbered lines as one string, or a
    `TaskIR` as an object, as `prefect-swarm plan --json` prints it.

    Raises:
        InputError: The file can't be read or has no pairs, or a line is not a pair.
    """
    lines = read_text(path).splitlines()
    pairs = [_read_pair(f"{path}:{n}", line) for n, line in enumerate(lines, 1) if line.strip()]
    if not pairs:
        raise InputError(f"The file {path} has no pairs.", _FORMAT)
    return pairs


_FORMAT = 'Write {"objective": "…", "plan": "1. Name: What to do\\n2. …"} on each line.'


def _read_pair(place: str, line: str) -> tuple[str, str]:
    try:
        value = read_json(line, halves=True)
    except NoJsonError as error:
        raise InputError(f"{place} is not valid JSON: {error}.", _FORMAT) from None
    fields = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    objective, plan = fields.get("objective"), fields.get("plan")
    if not isinstance(objective, str) or not objective.strip():
        raise InputError(f"{place} has no objective.", _FORMAT)
    try:
        if isinstance(plan, dict):
            plan_fields = cast("dict[str, Any]", plan)
            return objective, write_lines(flat(parse_plan({"objective": objective, **plan_fields})))
        if isinstance(plan, str):
            return objective, write_lines(read_lines(plan, objective))
    except PlanError as error:
        raise InputError(f"The plan of {place} can't be read: {error.problem}", error.fix) from None
    raise InputError(f"{place} has no plan.", _FORMAT)
