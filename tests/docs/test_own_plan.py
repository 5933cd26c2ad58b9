"""The tutorial on a plan of one's own has a plan that is read as it stands."""

from __future__ import annotations

from pathlib import Path

from docs_pages import blocks, page_path
from prefect_swarm.gates import gates
from prefect_swarm.plan.task_ir import PlanRules, load_plan


def test_its_plan_can_be_run(tmp_path: Path) -> None:
    (text,) = blocks(page_path("own_plan.md").read_text("utf-8"), "json")
    (file := tmp_path / "plan.json").write_text(text, "utf-8")
    plan = load_plan(file, PlanRules(gates=frozenset(gates())))
    assert [step.depends_on for step in plan.steps] == [(), (), ("S1",)]
    assert plan.final_step == "S3"
