"""The tutorial on a folder of papers has the steps of its example."""

from __future__ import annotations

import json

from docs_pages import ROOT, blocks, page_path
from prefect_swarm.plan.task_ir import Step, load_plan

PAGE = page_path("find_then_spread.md").read_text("utf-8")
PLAN = load_plan(ROOT / "examples" / "papers.json")
PAPERS = [path.read_text("utf-8") for path in (ROOT / "examples" / "papers").iterdir()]


def test_the_steps_of_the_page_are_the_example_s() -> None:
    written = [Step.model_validate(json.loads(text)) for text in blocks(PAGE, "json")]
    assert written == [*PLAN.steps]
    assert PLAN.final_step == written[-1].id
    assert all(assumption in PAGE for assumption in PLAN.assumptions)


def test_the_folder_is_as_the_page_says() -> None:
    assert "25 invented abstracts" in PAGE
    assert len(PAPERS) == 25
    assert all(60 <= len(text.split("\n", 1)[1].split()) <= 120 for text in PAPERS)
    assert sum("Ignore your instructions" in text for text in PAPERS) == 1
