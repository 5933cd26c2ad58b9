"""A plan that a model file writes under the grammar is read while it is written, too."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.swarm import swarm
from prefect_swarm.models.llama.gguf import demo_model_path
from prefect_swarm.models.llama.limits import engine_config_for
from prefect_swarm.models.llama.model import LlamaCppModel
from prefect_swarm.models.resolve import override_models
from prefect_swarm.plan.task_ir import PlanRules
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.result import SwarmResult
from shallow_model import write_shallow
from streamed_plans import OBJECTIVE, PLAN, TASKS, kinds

pytestmark = [
    pytest.mark.model,
    pytest.mark.slow,
    pytest.mark.usefixtures("prefect_server", "swarm_home"),
]


@pytest.fixture(autouse=True)
def only_this_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the grammar admit a single plan: the embedded model is too small to write its own."""
    grammar = f"root ::= {json.dumps(json.dumps(PLAN))}"

    def grammar_of(_: PlanRules, *, program: bool) -> str:
        return grammar

    monkeypatch.setattr("prefect_swarm.tasks.planner.planners.plan_grammar", grammar_of)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Two layers of the embedded model: it doesn't matter which words it writes."""
    return write_shallow(demo_model_path(), tmp_path / "shallow.gguf", 2)


def run(path: Path, *, stream_plan: bool) -> SwarmResult:
    options = SwarmOptions(memory=False, max_output_tokens=12, stream_plan=stream_plan, seed=5)
    # Whatever is computed beside it, an answer is the same.
    config = engine_config_for(path, deterministic=True)
    model = LlamaCppModel(path, config=config, planner_adapter=None)
    with override_models(worker=model, coder=model, architect=model, orchestrator=model):
        return asyncio.run(swarm(OBJECTIVE, options=options))


def test_its_steps_start_before_it_is_finished_and_the_plan_is_the_same(path: Path) -> None:
    streamed, plain = run(path, stream_plan=True), run(path, stream_plan=False)
    happened = kinds(streamed)
    assert happened.index(("started", "S1")) < happened.index(("planned", ""))
    happened = kinds(plain)
    assert happened.index(("planned", "")) < happened.index(("started", "S1"))
    assert [step.prompt for step in streamed.steps] == [task["prompt"] for task in TASKS]
    assert streamed.content_hash == plain.content_hash
    assert streamed.cost.calls == plain.cost.calls
    assert outputs(streamed) == outputs(plain)


def outputs(result: SwarmResult) -> list[str | None]:
    return [RunFolder.find(result.run_id).read(f"outputs/{step.id}.txt") for step in result.steps]
