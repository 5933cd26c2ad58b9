"""A run computes on another device what it computes on the processor."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from prefect_swarm.parl.train import Practice, TrainConfig, TrainResult, export
from prefect_swarm.parl.train.base import Base, load_base
from prefect_swarm.parl.train.batches import TokenizedExample
from prefect_swarm.parl.train.checkpoints import load_adapter
from prefect_swarm.parl.train.learner import Learner, new_learner
from prefect_swarm.parl.train.loop import TrainingRun
from prefect_swarm.parl.train.practice import Course, PracticeCourse, SupervisedCourse, Task
from prefect_swarm.tasks.planner.line_format import read_lines
from pretend_device import pretend_device

CONFIG = TrainConfig(
    rank=2, alpha=4.0, steps=1, lr=0.002, batch_tokens=28, eval_every=4, save_every=4, threads=1
)
# The last is a token that the tiny model comes to now and then.
OBJECTIVE, LINE, END = "Write a poem about rain", "1. Poet: Write a poem about rain", 154


def supervised(config: TrainConfig, learner: Learner) -> Course:
    examples = [TokenizedExample((5, 6, n, n + 1), (n + 100, n + 101, 2)) for n in range(12)]
    return SupervisedCourse(examples, examples[:3], config, learner)


def practised(config: TrainConfig, learner: Learner) -> Course:
    wanted = read_lines(LINE, OBJECTIVE)
    examples = [TokenizedExample((5, 6, n, n + 1), (8, END)) for n in range(10, 18)]
    tasks = [Task(OBJECTIVE, wanted, example) for example in examples]
    pieces = [b"" if n == END else LINE.encode() if n % 2 else b"?" for n in range(300)]
    practice = Practice(objectives=4, plans=6, updates=2)
    return PracticeCourse(tasks, tasks, config, practice, learner, pieces)


@pytest.fixture(
    params=[
        "pretended",
        pytest.param(
            "cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
        ),
    ]
)
def elsewhere(request: pytest.FixtureRequest) -> Iterator[torch.device]:
    device = torch.device("cuda")
    with pretend_device() if request.param == "pretended" else nullcontext(device) as device:
        yield device


@pytest.mark.parametrize(
    ("course", "precision", "differs"),
    [
        (supervised, "float32", {"rel": 0.01}),
        (supervised, "bfloat16", {"rel": 0.01}),
        (practised, "float32", {"abs": 0.1}),
    ],
)
def test_a_run_that_is_ended_and_goes_on_learns_as_much(
    course: Callable[[TrainConfig, Learner], Course],
    precision: Any,
    differs: dict[str, Any],
    elsewhere: torch.device,
    tiny: Path,
    tmp_path: Path,
) -> None:
    def run(base: Base, *, steps: int, resume: bool = False) -> TrainResult:
        config = replace(CONFIG, precision=precision, steps=steps)
        learner = new_learner(base, config)
        folder = tmp_path / str(base.device)
        run = TrainingRun(course(config, learner), learner, config, folder, base, lambda _: None)
        return run.train(resume=resume)

    bases = [load_base(tiny, elsewhere), load_base(tiny)]
    for base in bases:
        run(base, steps=4)
    on_device, on_processor = (run(base, steps=8, resume=True) for base in bases)
    assert on_device.dev_losses == pytest.approx(on_processor.dev_losses, **differs)
    assert on_processor.dev_losses[8] < on_processor.dev_losses[4]
    kept, _ = load_adapter(on_device.best)
    assert {matrix.device.type for matrix in kept.parameters()} == {"cpu"}
    assert export(on_device.best, tmp_path / "adapter.gguf").is_file()
