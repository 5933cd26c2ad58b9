"""What `train` learns from: own pairs, a memory's runs, and how."""

from __future__ import annotations

from typing import Any

import pytest
from prefect_swarm.memory.episode import Episode
from prefect_swarm.memory.store import open_configured_store
from prefect_swarm.parl import retrain as module
from prefect_swarm.parl.retrain import Evaluation, RetrainOutcome, TrainingSource
from prefect_swarm.parl.train import PolicySettings, Practice

from .conftest import Invoke

pytest.importorskip("torch")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What a training that is only noted was asked for."""
    found: dict[str, Any] = {}

    def retrain(
        base: object,
        source: TrainingSource,
        config: object,
        folder: object,
        target: Any,
        **more: Any,
    ) -> RetrainOutcome:
        found.update(more, source=source, config=config)
        same = Evaluation(1, 1.0, 1.0, 1.0, 1.0, 1.0)
        return RetrainOutcome(same, same, target)

    monkeypatch.setattr(module, "retrain", retrain)
    return found


def remember(*succeeded: bool) -> None:
    """Have the memory know runs of one step."""
    with open_configured_store() as store:
        store.log.append(
            Episode(
                run=f"r{number}",
                step="S1",
                attempt=1,
                objective=f"Write poem {number}",
                prompt=f"Write poem {number}",
                persona="Poet",
                tier="worker",
                model="test",
                succeeded=well,
                started_at=1.0,
                ended_at=2.0,
                duration_s=1.0,
                reward=1.0,
            )
            for number, well in enumerate(succeeded)
        )


def test_runs_of_the_memory_are_own_pairs(invoke: Invoke, asked: dict[str, Any]) -> None:
    remember(True, False, True)
    result = invoke("train", "--from-memory", "--generated", "0", "--steps", "1")
    assert result.exit_code == 0
    assert asked["source"].own == [
        ("Write poem 0", "1. Poet: Write poem 0"),
        ("Write poem 2", "1. Poet: Write poem 2"),
    ]
    assert "2 pairs from the memory of namespace 'default'" in result.stderr
    assert "1 run left out: a step of it failed" in result.stderr


def test_a_memory_without_completed_runs_is_refused(invoke: Invoke, asked: dict[str, Any]) -> None:
    remember(False)
    result = invoke("train", "--from-memory", "--steps", "1")
    assert result.exit_code == 2
    assert "has no completed run to learn from" in result.stderr
    assert not asked


@pytest.mark.parametrize(("option", "kind"), [("--practice", Practice), ("--parl", PolicySettings)])
def test_it_learns_from_plans_or_from_runs(
    option: str, kind: type, invoke: Invoke, asked: dict[str, Any]
) -> None:
    assert invoke("train", option, "--steps", "2").exit_code == 0
    assert isinstance(asked["practice"], kind)
    assert asked["config"].save_every % asked["practice"].updates == 0


def test_not_from_both(invoke: Invoke, asked: dict[str, Any]) -> None:
    result = invoke("train", "--practice", "--parl")
    assert "--practice and --parl exclude each other" in result.stderr
    assert not asked
