"""A model learns from plans of its own, by what they are worth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from prefect_swarm.errors import InputError
from prefect_swarm.parl.train import Practice, TrainConfig, TrainingReport, TrainResult
from prefect_swarm.parl.train.base import Base, load_base
from prefect_swarm.parl.train.batches import TokenizedExample
from prefect_swarm.parl.train.checkpoints import TrainingProgress, load_adapter
from prefect_swarm.parl.train.learner import new_learner
from prefect_swarm.parl.train.loop import TrainingRun
from prefect_swarm.parl.train.model import Writer
from prefect_swarm.parl.train.practice import PracticeCourse, Task
from prefect_swarm.tasks.planner.line_format import read_lines

LINE = "1. Poet: Write a poem about rain"
OBJECTIVE = "Write a poem about rain"
CONFIG = TrainConfig(
    rank=2, alpha=4.0, steps=8, lr=0.01, eval_every=4, save_every=2, threads=1, precision="float32"
)
PRACTICE = Practice(objectives=4, plans=6, updates=2, wanted=0.0)


@pytest.fixture(scope="module")
def base(tiny: Path) -> Base:
    return load_base(tiny)


@pytest.fixture(scope="module")
def end(base: Base) -> int:
    """A token the model comes to now and then."""
    learner = new_learner(base, CONFIG)
    writer = Writer(learner.model, learner.adapter)
    ((*plans,),) = writer.write([(5, 6, 7)], [16], 60, -1, torch.Generator().manual_seed(1))
    return Counter(token for plan in plans for token in plan[1:]).most_common(1)[0][0]


@pytest.fixture(scope="module")
def tasks(end: int) -> list[Task]:
    wanted = read_lines(LINE, OBJECTIVE)
    return [
        Task(OBJECTIVE, wanted, TokenizedExample((5, 6, n, n + 1), (8, end))) for n in range(10, 18)
    ]


@pytest.fixture
def course(base: Base, tasks: list[Task]) -> Callable[..., PracticeCourse]:
    def course(
        given: list[Task] = tasks, config: TrainConfig = CONFIG, **changed: Any
    ) -> PracticeCourse:
        end = given[0].example.plan[-1]
        # A plan that begins with an even token can be read, any other can't.
        readable = [LINE.encode() if token % 2 == 0 else b"?" for token in range(300)]
        pieces = [*readable[:end], b"", *readable[end + 1 :]]
        practice, learner = replace(PRACTICE, **changed), new_learner(base, config)
        return PracticeCourse(given, given, config, practice, learner, pieces)

    return course


@pytest.fixture
def run(
    base: Base, course: Callable[..., PracticeCourse], tmp_path: Path
) -> Callable[..., TrainResult]:
    def run(
        folder: str = "run",
        *,
        resume: bool = False,
        show: Callable[[TrainingReport], None] = lambda _: None,
        **changed: Any,
    ) -> TrainResult:
        config = replace(CONFIG, **changed)
        practised = course(config=config)
        run = TrainingRun(practised, practised.learner, config, tmp_path / folder, base, show)
        return run.train(resume=resume)

    return run


def matrices(result: TrainResult) -> list[torch.Tensor]:
    return load_adapter(result.checkpoints[-1])[0].parameters()


def test_what_its_better_plans_do_becomes_likelier(run: Callable[..., TrainResult]) -> None:
    losses = run(steps=120, eval_every=20, lr_ratio=2.0).dev_losses
    assert losses[120] < 0.6 * losses[20]


def test_where_no_plan_has_the_graph_the_wanted_one_is_taught(
    course: Callable[..., PracticeCourse], tasks: list[Task]
) -> None:
    chain = read_lines(f"{LINE}\n2. Singer: Sing the poem about rain (needs 1)", OBJECTIVE)
    practised = course([replace(task, wanted=chain) for task in tasks], wanted=0.2)
    lesson = practised.lesson(TrainingProgress())
    assert len(lesson.parts) == 2
    for batch, weights in lesson.parts:
        assert isinstance(weights, torch.Tensor)
        assert batch.targets[-2:].tolist() == [*tasks[0].example.plan]
        assert (weights[-2:] > 0).all()


def test_a_rounds_updates_have_its_objectives_between_them(
    course: Callable[..., PracticeCourse],
) -> None:
    practised, progress = course(), TrainingProgress()
    lessons = [practised.lesson(progress) for _ in range(4)]
    assert (progress.epoch, progress.batch) == (0, 4)
    assert all(len(lesson.parts) <= 2 for lesson in lessons)
    practised.lesson(progress)
    assert (progress.epoch, progress.batch) == (1, 1)


def test_objectives_of_long_plans_are_left_out(
    course: Callable[..., PracticeCourse], tasks: list[Task]
) -> None:
    long = replace(tasks[0], example=TokenizedExample((5, 6), (8,) * 9))
    assert course([*tasks, long], longest=8).data == course().data


def test_the_loss_of_a_lesson_is_what_its_plans_lack(course: Callable[..., PracticeCourse]) -> None:
    loss = course().lesson(TrainingProgress()).loss
    assert loss is not None
    assert 0 < loss <= 1


def test_a_run_that_was_broken_off_between_rounds_ends_as_if_it_had_not_been(
    run: Callable[..., TrainResult],
) -> None:
    def break_off(report: TrainingReport) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run("broken", show=break_off)
    pairs = zip(matrices(run("broken", resume=True)), matrices(run("whole")), strict=True)
    assert all(torch.equal(first, other) for first, other in pairs)


def test_a_round_that_was_broken_off_is_written_again(run: Callable[..., TrainResult]) -> None:
    run(steps=3)
    assert run(steps=6, resume=True).steps == 6


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"objectives": 0}, "objectives is 0"),
        ({"plans": 1}, "plans is 1"),
        ({"wanted": -1.0}, "wanted is -1"),
        ({"updates": 5}, "4 objectives give no 5 updates"),
    ],
)
def test_practice_that_makes_no_sense_is_refused(changed: dict[str, Any], why: str) -> None:
    with pytest.raises(InputError, match=why):
        replace(PRACTICE, **changed)


def test_some_plan_has_to_be_short_enough(course: Callable[..., PracticeCourse]) -> None:
    with pytest.raises(InputError, match="No wanted plan has 1 tokens or fewer"):
        course(longest=1)
