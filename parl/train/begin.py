"""A run from pairs and a model file: what is learnt from, and what learns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from ...tasks.planner.adapter.line_format import read_lines
from .config import Practice, TrainConfig, TrainingReport, TrainResult
from .device import device_of, keep_memory
from .learner import Learner, new_learner
from .lessons import Course
from .loop import TrainingRun
from .network.base import load_base
from .practice import PracticeCourse, Task
from .supervised import SupervisedCourse
from .tokens import encode, pieces

__all__ = ["run"]

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
    practice: Practice | None,
    resume: bool,
) -> TrainResult:
    """Train from pairs; see `parl.train.train`."""
    keep_memory()
    loaded = load_base(base, device_of(config))
    learner = new_learner(loaded, config, start)
    course: Course = (
        SupervisedCourse(encode(pairs, base), encode(development, base), config, learner)
        if practice is None
        else _practised(pairs, development, config, practice, base, learner)
    )
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
