"""Items of an odd number or size: a clear error, and nothing that is large where people look."""

from __future__ import annotations

import json
from typing import Any

import pytest
from flow_runs import pages, run
from prefect_swarm.cli.app import app
from prefect_swarm.plan.task_ir import TaskIR, parse_plan
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.result import SwarmResult
from scripted import Script, scripted
from typer.testing import CliRunner

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

MANY = 10_000
LONG = "word " * 400_000
SHORT = 50_000
"""What a prompt, a page or a command has at most of a text of two megabytes."""


def plan_over(prompt: str, **for_each: Any) -> TaskIR:
    """A list, and a step for each of its items."""
    return parse_plan(
        {
            "objective": "Find out",
            "agents": [{"name": "Reader", "system_prompt": "You read."}],
            "steps": [
                {
                    "id": "S1",
                    "agent": "Reader",
                    "prompt": "list",
                    "output": {"kind": "json", "schema": {"type": "array"}},
                },
                {
                    "id": "S2",
                    "agent": "Reader",
                    "prompt": prompt,
                    "for_each": {"items": "S1", "at": "", **for_each},
                },
                {"id": "S3", "collect": "list", "depends_on": ["S2"]},
            ],
            "final_step": "S3",
        }
    )


def run_over(items: list[Any], plan: TaskIR, **options: Any) -> tuple[SwarmResult, list[str]]:
    """Run it; return what was asked beside the list, too."""
    found = json.dumps(items)
    with scripted(Script(lambda prompt: found if prompt[:4] == "list" else "read")) as script:
        result = run(plan, memory=False, **options)
    return result, [prompt for prompt in script.prompts if prompt[:4] != "list"]


def bytes_of(run: RunFolder) -> dict[str, int]:
    """Return how large each file of a run is, by its place in the folder."""
    files = (path for path in run.folder.rglob("*") if path.is_file())
    return {str(path.relative_to(run.folder)): path.stat().st_size for path in files}


def inspected(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["inspect", *arguments])
    return result.stdout + result.stderr


def test_ten_thousand_items_are_refused_before_anything_is_kept_of_them() -> None:
    items = [f"paper {number}" for number in range(MANY)]
    result, asked = run_over(items, plan_over("Read {item}"))
    assert asked == []
    assert result.status == "partial"
    assert [(step.id, step.status) for step in result.steps] == [
        ("S1", "succeeded"),
        ("S2", "failed"),
        ("S3", "skipped"),
    ]
    says = "There are 10,000 items, and max_items is 100. Raise `max_items`, narrow `where`, or set"
    assert says in result.problem
    run_folder = RunFolder.of(result.flow_run_id)
    sizes = bytes_of(run_folder)
    assert {name for name in sizes if "S2" in name} == {"steps/S2.json"}
    assert not list(run_folder.events({"expanded"}))
    assert says in inspected(result.run_id, "--step", "S2")


def test_of_ten_thousand_items_the_first_are_done_and_the_others_are_kept_nowhere() -> None:
    items = [f"paper {number}" for number in range(MANY)]
    result, asked = run_over(items, plan_over("Read {item}", max_items=20, too_many="first"))
    assert result.status == "completed"
    assert sorted(asked) == sorted(f"Read “{item}”" for item in items[:20])
    (group,) = (step for step in result.steps if step.id == "S2")
    assert group.summary == "20 of 20 instances succeeded; 9,980 items were over max_items"
    assert len(json.loads(result.answer)) == 20
    sizes = bytes_of(RunFolder.of(result.flow_run_id))
    with_list = {"transcripts/S1.1.json", "outputs/S1.txt"}
    assert {name for name, size in sizes.items() if size > len(json.dumps(items)) / 2} == with_list


@pytest.mark.parametrize("prompt", ["Read {item}", "Read {item.text}", "Read it"])
def test_an_item_of_two_megabytes_is_cut_as_an_output_is_and_printed_nowhere(prompt: str) -> None:
    items = [{"text": LONG, "title": "long"}, {"text": "brief", "title": "short"}]
    result, asked = run_over(items, plan_over(prompt), max_input_tokens=2_000)
    assert result.status == "completed"
    assert all(len(each) < SHORT for each in asked)
    steps = {step.id: step for step in result.steps}
    (cut,) = steps["S2[1]"].attempts[0].left_out
    assert cut.tokens > 0.9 * cut.of
    assert steps["S2[2]"].attempts[0].left_out == ()
    assert [steps["S2[1]"].label, steps["S2[2]"].label] == ["long", "short"]

    for name in ("events.jsonl", "result.json", "steps/S2[1].json", "steps/S2.json"):
        assert len(RunFolder.of(result.flow_run_id).read(name) or "") < SHORT, name
    assert all(len(page) < SHORT for page in pages(result.flow_run_id).values())
    for asks in ([], ["--step", "S2"], ["--step", "S2[1]"], ["--json"]):
        shown = inspected(result.run_id, *asks)
        assert "S2" in shown
        assert len(shown) < SHORT, asks
