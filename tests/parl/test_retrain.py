"""Retraining puts an adapter in place, unless it plans worse than what is there."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest
from prefect_swarm.errors import InputError, WorseAdapterError
from prefect_swarm.models.llama.gguf import check_adapter, demo_model_path
from prefect_swarm.parl import retrain as module
from prefect_swarm.parl.retrain import Evaluation, TrainingSource, retrain
from prefect_swarm.parl.train import Practice, TrainConfig

needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch isn't installed.")
CONFIG = TrainConfig(rank=4, alpha=8.0, lr=2e-3, steps=12, eval_every=12, batch_tokens=300)
NOT_JUDGED = replace(CONFIG, steps=1, eval_every=1)
"""Where it doesn't matter how well is planned with what comes of it."""
OWN = [
    (f"Write a poem about {thing}", f"1. Poet: Write a poem about {thing}")
    for thing in ("sun", "rain", "snow", "wind", "hail", "fog", "dew", "ice", "heat", "thunder")
]


def judge(monkeypatch: pytest.MonkeyPatch, *scores: float) -> None:
    """Let what is judged have these scores, one after the other."""
    left = iter(scores)

    async def judged(*_: object) -> Evaluation:
        score = next(left)
        return Evaluation(1, 1.0, score, score, score, 1.0)

    monkeypatch.setattr(module, "evaluate", judged)


def test_every_tenth_own_pair_is_held_out() -> None:
    source = TrainingSource(generated=0, own=OWN)
    assert source.training_pairs() == OWN[:9]
    assert source.held_out_pairs() == OWN[9:]


def test_generated_pairs_to_judge_by_are_not_learnt() -> None:
    source = TrainingSource(generated=200, judged=50)
    assert not dict(source.training_pairs()).keys() & dict(source.held_out_pairs()).keys()
    assert (len(source.training_pairs()), len(source.held_out_pairs())) == (200, 50)


@pytest.mark.slow
@pytest.mark.model
def test_a_short_training_ends_in_an_adapter_that_plans(tmp_path: Path) -> None:
    target = tmp_path / "adapters" / "poet.gguf"
    lines: list[str] = []
    outcome = retrain(
        demo_model_path(),
        TrainingSource(generated=0, own=OWN),
        CONFIG,
        tmp_path / "run",
        target,
        force=True,
        say=lines.append,
    )
    assert check_adapter(outcome.file) == target.resolve()
    assert outcome.after.plans == 1
    assert outcome.after.exact == 1.0
    assert "1 objective" in lines[0]
    assert lines[1].startswith("Training on c")


@pytest.mark.slow
@pytest.mark.model
def test_a_worse_adapter_is_kept_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judge(monkeypatch, 0.9, 0.5)
    target = tmp_path / "poet.gguf"
    with pytest.raises(
        WorseAdapterError, match=r"scores 0\.500, the current planner 0\.900"
    ) as caught:
        retrain(
            demo_model_path(),
            TrainingSource(generated=0, own=OWN),
            NOT_JUDGED,
            tmp_path / "run",
            target,
        )
    assert not target.exists()
    kept = Path(str(caught.value).split("kept in ")[1].split(";")[0])
    assert check_adapter(kept)


@pytest.mark.slow
@pytest.mark.model
def test_the_mean_with_the_adapter_it_went_on_from_is_tried_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[str] = []

    def trained(name: str, start: Path | None = None) -> Path:
        source, target = TrainingSource(generated=0, own=OWN), tmp_path / f"{name}.gguf"
        base, folder = demo_model_path(), tmp_path / name
        retrain(base, source, NOT_JUDGED, folder, target, start=start, say=lines.append)
        return target

    judge(monkeypatch, 0.1, 0.5, 0.5, 0.6, 0.9)
    file = trained("second", trained("first"))
    assert [line.split(":")[0] for line in lines[-2:]] == [
        "adapter-000001",
        "mean-adapter-000001",
    ]
    assert file.read_bytes() == (tmp_path / "second" / "mean-adapter-000001.gguf").read_bytes()


@needs_torch
def test_something_has_to_be_left_to_judge_by(tmp_path: Path) -> None:
    few = TrainingSource(generated=0, own=OWN[:9])
    with pytest.raises(InputError, match="9 pairs leave none to evaluate on"):
        retrain(demo_model_path(), few, CONFIG, tmp_path / "run", tmp_path / "out.gguf")


@needs_torch
def test_practice_wants_an_adapter_that_plans(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(_: Path) -> None:
        return None

    monkeypatch.setattr(module, "planner_adapter", none)
    source, target = TrainingSource(generated=0, own=OWN), tmp_path / "out.gguf"
    with pytest.raises(InputError, match="nothing to practise"):
        retrain(demo_model_path(), source, CONFIG, tmp_path, target, practice=Practice())
