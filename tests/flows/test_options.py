"""A ladder leads from a step's tier to models that the step has not been with."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.models.llama.gguf import demo_model_path
from prefect_swarm.plan.task_ir import TIERS, TaskType, Tier
from prefect_swarm.store.failure_policy import Policy

TASKS: tuple[TaskType, ...] = ("chat", "ingest")


def test_no_ladder_comes_to_a_model_twice() -> None:
    for names in product("abc", repeat=3):
        options = SwarmOptions(**dict(zip(TIERS, names, strict=True)))
        for start, highest, task in product(TIERS, TIERS, TASKS):
            ladder = options.ladder(highest, task, start)
            models = [options.model_of(tier) for tier in ladder]
            assert ladder[0] == start
            assert len(set(models)) == len(models), (names, start, highest, task)
            assert list(ladder) == sorted(ladder, key=TIERS.index)


@pytest.mark.parametrize(
    ("start", "ladder"), [("coder", ("coder",)), ("worker", ("worker", "architect"))]
)
def test_a_tier_that_the_ladder_leaves_out_is_still_a_steps_own(
    start: Tier, ladder: tuple[Tier, ...]
) -> None:
    options = SwarmOptions(worker="a", coder="b", architect="b")
    assert options.ladder("architect", "ingest", start) == ladder


def test_a_step_may_climb_to_what_lies_below_it_under_another_tier() -> None:
    assert SwarmOptions(worker="a", coder="b", architect="a").ladder(start="coder") == (
        "coder",
        "architect",
    )


def test_another_name_of_the_same_file_is_the_same_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link.gguf").symlink_to(demo_model_path())
    monkeypatch.chdir(tmp_path)
    options = SwarmOptions(
        worker="demo",
        coder=f"llamacpp:{demo_model_path()}",
        architect="llamacpp:link.gguf",
        policy=Policy(ladders={}),
    )
    assert options.ladder() == ("worker",)
