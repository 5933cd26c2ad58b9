"""A run learns, can be broken off and goes on, and keeps what it found."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from prefect_swarm.errors import InputError, ModelError
from prefect_swarm.parl.train import TrainConfig, TrainingReport, TrainResult, export
from prefect_swarm.parl.train.base import Base, load_base
from prefect_swarm.parl.train.batches import TokenizedExample
from prefect_swarm.parl.train.checkpoints import load_adapter
from prefect_swarm.parl.train.learner import new_learner
from prefect_swarm.parl.train.loop import TrainingRun
from prefect_swarm.parl.train.practice import SupervisedCourse

EXAMPLES = [TokenizedExample((5, 6, n, n + 1), (n + 100, n + 101, 2)) for n in range(12)]
CONFIG = TrainConfig(
    rank=2,
    alpha=4.0,
    steps=6,
    batch_tokens=28,
    eval_every=3,
    save_every=3,
    threads=1,
    precision="float32",
)


@pytest.fixture(scope="module")
def base(tiny: Path) -> Base:
    return load_base(tiny)


@pytest.fixture
def run(base: Base, tmp_path: Path) -> Callable[..., TrainResult]:
    def run(
        folder: str = "run",
        *,
        resume: bool = False,
        examples: list[TokenizedExample] = EXAMPLES,
        unseen: list[TokenizedExample] = EXAMPLES[:3],
        show: Callable[[TrainingReport], None] = lambda _: None,
        start: Path | None = None,
        **changed: Any,
    ) -> TrainResult:
        config = replace(CONFIG, **changed)
        learner = new_learner(base, config, start)
        course = SupervisedCourse(examples, unseen, config, learner)
        run = TrainingRun(course, learner, config, tmp_path / folder, base, show)
        return run.train(resume=resume)

    return run


def matrices(result: TrainResult) -> list[torch.Tensor]:
    return load_adapter(result.checkpoints[-1])[0].parameters()


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_run_lowers_the_loss(run: Callable[..., TrainResult], precision: str) -> None:
    result = run(steps=60, lr=0.01, eval_every=20, precision=precision)
    assert result.dev_losses[60] < result.dev_losses[20] / 2
    assert {matrix.dtype for matrix in matrices(result)} == {torch.float32}


def test_the_second_matrices_learn_so_many_times_faster(run: Callable[..., TrainResult]) -> None:
    def second(result: TrainResult) -> torch.Tensor:
        adapter, _ = load_adapter(result.checkpoints[-1])
        return torch.cat([matrix.flatten() for matrix in adapter.b.values()])

    # Adam's first step is as long as the rate, whatever the gradient.
    alike, faster = second(run("alike", steps=1, lr_ratio=1.0)), second(run("faster", steps=1))
    moved = alike.abs() > alike.abs().max() / 2
    assert moved.sum() > len(alike) / 2
    torch.testing.assert_close(faster[moved], CONFIG.lr_ratio * alike[moved], rtol=0.01, atol=0.0)


def test_an_adapter_is_kept_at_each_evaluation_and_the_best_is_named(
    run: Callable[..., TrainResult],
) -> None:
    result = run(steps=7)
    assert [path.name for path in result.checkpoints] == [
        f"adapter-{step:06}.pt" for step in (3, 6, 7)
    ]
    lowest = min(result.dev_losses, key=result.dev_losses.__getitem__)
    assert result.best.name == f"adapter-{lowest:06}.pt"


def test_without_development_examples_the_last_adapter_is_the_best(
    run: Callable[..., TrainResult],
) -> None:
    result = run(unseen=[])
    assert result.best == result.checkpoints[-1]
    assert not result.dev_losses


def test_two_runs_of_one_seed_are_one(run: Callable[..., TrainResult]) -> None:
    pairs = zip(matrices(run("one")), matrices(run("two")), strict=True)
    assert all(torch.equal(first, two) for first, two in pairs)


def test_a_run_that_was_broken_off_ends_as_if_it_had_not_been(
    run: Callable[..., TrainResult],
) -> None:
    def break_off(report: TrainingReport) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run("broken", show=break_off)
    broken, whole = run("broken", resume=True), run("whole")
    pairs = zip(matrices(broken), matrices(whole), strict=True)
    assert all(torch.equal(first, other) for first, other in pairs)
    assert broken.dev_losses == whole.dev_losses


def test_an_ended_run_can_go_on_for_more_steps(run: Callable[..., TrainResult]) -> None:
    run(steps=3)
    assert run(steps=5, resume=True).steps == 5


def test_an_ended_run_that_is_resumed_does_nothing_more(run: Callable[..., TrainResult]) -> None:
    assert run(resume=False).checkpoints == run(resume=True).checkpoints


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"rank": 3}, "rank 2, not 3"),
        ({"seed": 1}, "seed 0, not 1"),
        ({"lr_ratio": 2.0}, "lr_ratio 8.0, not 2.0"),
        ({"examples": EXAMPLES[1:]}, "other examples"),
    ],
)
def test_what_a_run_began_with_cannot_change(
    run: Callable[..., TrainResult], changed: dict[str, Any], why: str
) -> None:
    run(steps=3)
    with pytest.raises(InputError, match=why):
        run(resume=True, **changed)


def test_a_folder_holds_one_run(run: Callable[..., TrainResult]) -> None:
    run(steps=3)
    with pytest.raises(InputError, match="holds a training run"):
        run(steps=3)


def test_only_a_run_that_was_begun_can_be_resumed(run: Callable[..., TrainResult]) -> None:
    with pytest.raises(InputError, match="no run to resume"):
        run(resume=True)


def test_the_log_has_a_line_for_each_report(
    run: Callable[..., TrainResult], tmp_path: Path
) -> None:
    run(steps=20, eval_every=8)
    lines = (tmp_path / "run" / "log.jsonl").read_text("utf-8").splitlines()
    reports = [json.loads(line) for line in lines]
    assert [report["step"] for report in reports] == [8, 10, 16, 20]
    assert [report["dev_loss"] is not None for report in reports] == [True, False, True, True]


def test_a_run_that_gets_no_better_ends_early(run: Callable[..., TrainResult]) -> None:
    # So small a rate changes no 32-bit number.
    result = run(steps=60, lr=1e-30, patience=2)
    assert result.steps == 9
    assert "no better" in result.stopped


def test_a_loss_that_is_no_number_ends_the_run(run: Callable[..., TrainResult]) -> None:
    with pytest.raises(InputError, match="The loss is"):
        run(steps=60, lr=1e30)


@pytest.fixture
def learnt(run: Callable[..., TrainResult], tmp_path: Path) -> tuple[Path, float]:
    result = run("learnt", steps=60, lr=0.01)
    return export(result.best, tmp_path / "learnt.gguf"), min(result.dev_losses.values())


def test_a_run_can_go_on_from_an_adapters_file(
    run: Callable[..., TrainResult], learnt: tuple[Path, float]
) -> None:
    # So small a rate changes nothing but what 16 bits leave out.
    result = run("more", steps=1, lr=1e-30, start=learnt[0])
    assert result.dev_losses[1] == pytest.approx(learnt[1], rel=0.05)


def test_a_run_can_go_on_with_a_higher_rank(
    run: Callable[..., TrainResult], learnt: tuple[Path, float]
) -> None:
    result = run("more", steps=1, lr=1e-30, start=learnt[0], rank=5, alpha=10.0)
    assert result.dev_losses[1] == pytest.approx(learnt[1], rel=0.05)
    wider, _ = load_adapter(result.best)
    assert wider.rank == 5
    assert all(matrix[2:].any() for matrix in wider.a.values())


def test_what_the_higher_rank_adds_is_learnt_too(
    run: Callable[..., TrainResult], learnt: tuple[Path, float]
) -> None:
    result = run("more", steps=3, lr=0.001, start=learnt[0], rank=5, alpha=10.0)
    wider, _ = load_adapter(result.best)
    assert all(matrix[:, 2:].any() for matrix in wider.b.values())


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"rank": 1}, "has rank 2, more than 1"),
        ({"alpha": 5.0}, "alpha 4 at rank 2"),
        ({"rank": 3}, "alpha 4 at rank 2, which doesn't match alpha 4 at rank 3"),
    ],
)
def test_it_has_to_be_of_no_higher_rank_and_of_that_scale(
    run: Callable[..., TrainResult], learnt: tuple[Path, float], changed: dict[str, Any], why: str
) -> None:
    with pytest.raises(InputError, match=why):
        run("more", start=learnt[0], **changed)


def test_it_has_to_be_there(run: Callable[..., TrainResult], tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"none\.gguf"):
        run("more", start=tmp_path / "none.gguf")
