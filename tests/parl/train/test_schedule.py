"""The learning rate rises and falls, and a run ends."""

from __future__ import annotations

import pytest
from prefect_swarm.parl.train import TrainConfig
from prefect_swarm.parl.train.checkpoints import TrainingProgress
from prefect_swarm.parl.train.loop import ended, rate


def rates(config: TrainConfig, steps: int) -> list[float]:
    return [rate(config, TrainingProgress(step=step)) for step in range(steps)]


def test_the_rate_rises_in_the_warm_up_and_then_falls() -> None:
    found = rates(TrainConfig(steps=100, warmup=0.1, lr=1.0), 100)
    assert found[:10] == sorted(found[:10])
    assert found[10:] == sorted(found[10:], reverse=True)
    assert max(found) == pytest.approx(1.0, abs=0.01)


def test_the_rate_ends_at_its_share() -> None:
    assert rates(TrainConfig(steps=1000, lr=1.0, final_lr=0.1), 1000)[-1] == pytest.approx(
        0.1, abs=0.001
    )


def test_the_rate_is_never_zero() -> None:
    assert rate(TrainConfig(minutes=1.0, lr=1.0), TrainingProgress()) > 0


@pytest.mark.parametrize("warmup", [0.0, 1.0])
def test_warm_up_may_be_nothing_or_everything(warmup: float) -> None:
    assert all(0 < value <= 1 for value in rates(TrainConfig(steps=9, warmup=warmup, lr=1.0), 9))


def test_with_two_ends_the_nearer_one_sets_the_rate() -> None:
    config = TrainConfig(steps=100, minutes=1.0, lr=1.0)
    assert rate(config, TrainingProgress(step=10, elapsed_s=54)) < rate(
        config, TrainingProgress(step=10)
    )


def test_a_run_ends_with_its_steps() -> None:
    assert ended(TrainConfig(steps=3), TrainingProgress(step=2)) is None
    assert ended(TrainConfig(steps=3), TrainingProgress(step=3)) == "3 steps are done"


def test_a_run_ends_with_its_minutes() -> None:
    assert ended(TrainConfig(minutes=2), TrainingProgress(elapsed_s=119)) is None
    assert ended(TrainConfig(minutes=2), TrainingProgress(elapsed_s=120)) == "2 minutes are over"


def test_a_run_ends_when_nothing_gets_better() -> None:
    config = TrainConfig(steps=9, patience=2)
    assert ended(config, TrainingProgress(step=3, dev_losses={1: 0.5, 2: 0.6})) is None
    assert ended(config, TrainingProgress(step=3, dev_losses={1: 0.5, 2: 0.6, 3: 0.5})) == (
        "2 evaluations were no better than step 1"
    )
