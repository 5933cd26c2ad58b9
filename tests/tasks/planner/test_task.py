"""Asking for a plan as a task: its cache key, and what is told of where the plan came from."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from adapters import write_adapter
from prefect_swarm.models.llama import gguf as adapters
from prefect_swarm.models.llama.engine import close_engines
from prefect_swarm.models.llama.gguf import demo_model_path, file_hash
from prefect_swarm.models.resolve import forget_models, override_models
from prefect_swarm.plan.task_ir import TierName
from prefect_swarm.tasks.planner import task as module
from prefect_swarm.tasks.planner.task import PlanRequest, plan_objective
from prefect_swarm.tasks.subagent.request import SubagentRequest
from prefect_swarm.tasks.subagent.task import answer
from scripted_local import ScriptedModel

COMPARE = "Compare tea and coffee"
GOOD = """\
1. Tea Expert: Describe tea
2. Coffee Expert: Describe coffee
3. Judge: Compare tea and coffee (needs 1, 2)"""
REQUEST = PlanRequest(run="r", objective=COMPARE, model="demo", max_steps=12, seed=0)


def key(**changes: Any) -> str:
    request = REQUEST.model_copy(update=changes).model_dump(mode="json")
    return module._key(None, {"request": request})  # type: ignore[arg-type]


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An adapter for the embedded model in the shipped one's place."""
    path = tmp_path / "shipped.gguf"
    monkeypatch.setattr(adapters, "SHIPPED_ADAPTER", path)
    return write_adapter(path, swarm__base__sha256=file_hash(demo_model_path().resolve()))


def test_the_cache_key_is_the_same_for_the_same_commission(shipped: Path) -> None:
    assert key() == key()
    assert key().startswith("r.plan.")


def test_the_cache_key_tells_with_and_without_the_adapter_apart(shipped: Path) -> None:
    assert key() != key(adapter=False)


def test_the_cache_key_tells_adapters_apart(shipped: Path) -> None:
    before, without = key(), key(adapter=False)
    base = file_hash(demo_model_path().resolve())
    write_adapter(shipped, scale=0.5, swarm__base__sha256=base)
    assert key() != before
    assert key(adapter=False) == without


def test_the_cache_key_of_a_model_without_an_adapter_does_not_follow_the_shipped_one(
    shipped: Path,
) -> None:
    before = key(model="openai:gpt-5")
    shipped.unlink()
    assert key(model="openai:gpt-5") == before


def test_the_result_has_the_hash_of_the_adapter_that_was_applied(shipped: Path) -> None:
    with override_models(orchestrator=ScriptedModel(GOOD, adapter=shipped)):
        planned = asyncio.run(plan_objective(REQUEST))
    assert planned.planning.adapter == file_hash(shipped)
    assert planned.planning.score == 1.0


@pytest.mark.model
@pytest.mark.parametrize("tier", ["worker", "orchestrator"])
def test_what_is_no_plan_is_written_on_the_bare_weights(
    tier: TierName, shipped: Path, swarm_home: Path
) -> None:
    request = SubagentRequest(
        key="k",
        run="r",
        step="S1",
        agent="Beekeeper",
        attempt=1,
        tier=tier,
        model="demo",
        instructions="You know bees.",
        prompt="Say what bees do",
        max_output_tokens=12,
    )

    def text() -> str:
        forget_models()
        return asyncio.run(answer(request)).text

    try:
        beside_the_adapter = text()
        shipped.unlink()
        assert text() == beside_the_adapter
    finally:
        close_engines()
