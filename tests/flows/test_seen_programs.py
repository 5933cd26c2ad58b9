"""Runs of plans that depend on what is found, as a person sees them: one step, then its members."""

from __future__ import annotations

import json
from typing import Any

import pytest
from flow_runs import pages, run, task_runs
from prefect_swarm.cli.app import app
from prefect_swarm.cli.fork import print_difference
from prefect_swarm.cli.terminal.screens import PlainScreen
from prefect_swarm.cli.terminal.summary import print_summary
from prefect_swarm.flows.fork import compared_run
from prefect_swarm.plan.task_ir import TaskIR
from prefect_swarm.report.output_files import artifact_files
from prefect_swarm.report.page import RunView
from prefect_swarm.report.run_html import report_html
from prefect_swarm.report.stored_view import view_of
from prefect_swarm.store.diff import compare_runs
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.result import SwarmResult
from prefect_swarm.store.runs import find_run, list_runs
from scripted import Script, scripted
from typer.testing import CliRunner

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

JSON = {"kind": "json", "schema": {"type": "object"}}
AGENTS = [
    {"name": "Reader", "system_prompt": "You read closely."},
    {"name": "Writer", "system_prompt": "You write."},
]
INNER = {
    "steps": [
        {"id": "S1", "agent": "Reader", "prompt": "Gather {item}"},
        {"id": "S2", "agent": "Writer", "prompt": "Sum up", "depends_on": ["S1"]},
    ]
}


def spread(**fields: Any) -> list[dict[str, Any]]:
    """Find papers, and read each of them."""
    items = {"items": "S1", "at": "/papers", "at_least": 0.5, **fields}
    return [
        {"id": "S1", "agent": "Reader", "prompt": "List the papers", "output": JSON},
        {"id": "S2", "agent": "Reader", "prompt": "Read {item.title}", "for_each": items},
    ]


EVERYTHING = [
    *spread(),
    {
        "id": "S3",
        "agent": "Writer",
        "prompt": "Fix it",
        "when": {"step": "S1", "at": "/kind", "is": "bug"},
    },
    {
        "id": "S4",
        "agent": "Reader",
        "prompt": "Look once more, round {round}",
        "output": JSON,
        "repeat": {"until": {"at": "/problems", "empty": True}},
    },
    {"id": "S5", "for_each": {"items": ["red", "green"]}, "plan": INNER},
    {"id": "S6", "agent": "Writer", "prompt": "Join", "depends_on": ["S2", "S3", "S4", "S5"]},
]


def plan_of(steps: list[dict[str, Any]]) -> TaskIR:
    data = {"objective": "Compare papers", "agents": AGENTS, "steps": steps}
    return TaskIR.model_validate({**data, "final_step": steps[-1]["id"]})


def run_of(
    steps: list[dict[str, Any]], count: int = 4, lost: tuple[int, ...] = (3,)
) -> SwarmResult:
    """Run a plan with so many papers, of which some can't be read."""
    papers = [{"title": f"Paper {number}."} for number in range(1, count + 1)]
    rounds = iter([["a"], []])

    def reply(prompt: str) -> str:
        if "List the papers" in prompt:
            return json.dumps({"papers": papers, "kind": "idea"})
        if "Look once more" in prompt:
            return json.dumps({"problems": next(rounds)})
        unread = any(f"Read “Paper {number}.”" in prompt for number in lost)
        return "" if unread else "It claims much."

    with scripted(Script(reply)):
        return run(plan_of(steps), max_attempts=1)


def shown(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["inspect", *arguments])
    return result.stdout + result.stderr


def folder_of(result: SwarmResult) -> RunFolder:
    return RunFolder.of(result.flow_run_id)


def unfinished(result: SwarmResult) -> RunFolder:
    """The run's folder as it was before the run had ended."""
    run = folder_of(result)
    (run.folder / "result.json").unlink()
    return run


def needs(view: RunView) -> dict[str, tuple[str, ...]]:
    return {step.id: step.upstream for step in view.steps}


def test_inspect_shows_a_step_with_its_members_and_each_of_these() -> None:
    result = run_of(EVERYTHING)
    assert result.status == "completed"
    assert result.problem == ""
    whole = shown(result.run_id)
    rows = [
        line.split()[1] for line in whole.split("Timeline")[0].splitlines() if " S" in line[:16]
    ]
    assert rows == ["Step", "S1", "S2", "S3", "S4", "S5", "S6"]
    assert "3 of 4 instances done, 1 failed; without S2[3]" in whole
    assert "--step S2[3]" in whole
    table = shown(result.run_id, "--step", "s2")
    lines = [line for line in table.splitlines() if "S2[" in line[:20]]
    assert [line.split()[1] for line in lines] == ["S2[3]", "S2[1]", "S2[2]", "S2[4]"]
    assert "Its item: Paper 3." in shown(result.run_id, "--step", "S2[3]")
    assert "Ended after 2 rounds" in shown(result.run_id, "--step", "S4")
    assert "Look once more, round 2" in shown(result.run_id, "--step", "S4R2")
    assert "Part of S5[1]. Needs S5[1].S1." in shown(result.run_id, "--step", "S5[1].S2")
    assert "no failure: its condition doesn't hold" in shown(result.run_id, "--step", "S3")


def test_a_wrong_id_says_which_there_are() -> None:
    name = run_of(EVERYTHING).run_id
    assert "S2 has S2[1] to S2[4]." in shown(name, "--step", "S2[9]")
    assert "S4 has S4r1, S4r2." in shown(name, "--step", "S4r7")
    assert "S5[2] has S5[2].S1, S5[2].S2." in shown(name, "--step", "S5[2].S9")
    assert "There are S1 to S6." in shown(name, "--step", "S9[1].S2")
    assert "There are S1 to S6." in shown(name, "--step", "S2[")


def test_a_members_json_is_its_record_and_a_steps_lists_its_members() -> None:
    result = run_of(EVERYTHING)
    found = json.loads(shown(result.run_id, "--step", "S2", "--json"))
    assert [(each["id"], each["status"]) for each in found["members"]][2] == ("S2[3]", "failed")
    one = json.loads(shown(result.run_id, "--step", "S2[1]", "--json"))
    assert (one["label"], one["parent"], one["output"]) == ("Paper 1.", "S2", "It claims much.")


def test_a_run_that_is_not_over_shows_members_that_have_not_begun() -> None:
    result = run_of(EVERYTHING)
    before = view_of(folder_of(result), whole=())
    run = unfinished(result)
    for name in ("S2", "S2[4]", "S6"):
        (run.folder / "steps" / f"{name}.json").unlink()
        (run.folder / "outputs" / f"{name}.txt").unlink()
    view = view_of(run, whole=())
    assert needs(view) == needs(before)
    statuses = {step.id: step.status for step in view.steps}
    assert statuses["S2[4]"] == "ready"
    assert statuses["S2[3]"] == "failed"
    assert "2 of 4 instances done, 1 failed" in shown(result.run_id, "--step", "S2")
    assert "3 of 6 steps finished." in shown(result.run_id)
    listed = next(list_runs())
    assert listed.steps == 6


def test_members_that_started_are_shown_without_the_log() -> None:
    result = run_of(EVERYTHING)
    run = unfinished(result)
    (run.folder / "events.jsonl").unlink()
    steps = {step.id: step.status for step in view_of(run, whole=()).steps}
    assert steps == {step.id: step.status for step in result.steps}
    found = json.loads(shown(result.run_id, "--step", "S2", "--json"))
    assert len(found["members"]) == 4


def test_the_list_of_runs_counts_steps_of_the_plan() -> None:
    run_of(EVERYTHING)
    listed = next(list_runs())
    assert (listed.done, listed.steps) == (5, 6)


def test_task_runs_are_found_by_their_step() -> None:
    result = run_of([*spread(), {"id": "S3", "for_each": {"items": ["red"]}, "plan": INNER}])
    found = task_runs(result.flow_run_id, least=8)
    named = {name: set(each.tags) for name, each in found.items() if "attempt" in name}
    assert {"S2", "S2[1]"} <= named["S2[1], Reader, attempt 1"]
    assert {"S3", "S3[1]", "S3[1].S2"} <= named["S3[1].S2, Writer, attempt 1"]
    assert [name for name, tags in named.items() if "S1" in tags] == ["S1, Reader, attempt 1"]


def test_members_have_pages_in_prefect_where_there_is_room() -> None:
    result = run_of(EVERYTHING)
    made = pages(result.flow_run_id)
    assert {"swarm-s2", "swarm-s2-3", "swarm-s4r2", "swarm-s5-1-s2"} <= made.keys()
    assert "3 of 4 instances done, 1 failed" in made["swarm-plan"]
    # By its id if it was made before this page, by its key if it was not.
    assert "| failed | [S2\\[3\\]](../" in made["swarm-s2"]


def test_of_many_members_only_those_that_stand_out_have_pages() -> None:
    join = {"id": "S3", "agent": "Writer", "prompt": "Join", "depends_on": ["S2"]}
    result = run_of([*spread(), join], count=60, lost=(7, 9))
    made = {name for name in pages(result.flow_run_id) if name.startswith("swarm-s")}
    assert made == {"swarm-s1", "swarm-s2", "swarm-s3", "swarm-s2-7", "swarm-s2-9"}
    table = pages(result.flow_run_id)["swarm-s2"]
    assert table.index("S2\\[9\\]") < table.index("S2\\[1\\]")


def test_the_report_has_one_node_and_a_table() -> None:
    document = report_html(run_of(EVERYTHING))
    assert document.count('data-step="S2" data-status') == 1
    assert 'data-step="S2[1]" data-status' not in document
    assert 'id="page-S2[3]"' in document
    assert '<a href="#page-S2[3]">S2[3]</a>' in document


def test_the_summary_of_a_run_has_a_line_for_each_step_of_the_plan(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_summary(run_of(EVERYTHING))
    printed = capsys.readouterr().out
    assert "Plan of 6 steps" in printed
    assert "3 of 4 instances succeeded; without S2[3]" in printed


def test_files_of_members_lie_in_a_folder_of_their_step() -> None:
    result = run_of(EVERYTHING)
    run = find_run(result.run_id)
    outputs = {step.id: text for step in result.steps if (text := run.output(step.id)) is not None}
    files = artifact_files(result, outputs)
    assert {
        "S2-reader.md",
        "S2/S2[1]-reader.md",
        "S4/S4r2-reader.json",
        "S5/S5[1].S2-writer.md",
    } <= {*files}


def test_runs_with_other_numbers_of_instances_are_compared(
    capsys: pytest.CaptureFixture[str],
) -> None:
    runs = [run_of(EVERYTHING), run_of(EVERYTHING, count=2, lost=())]
    found = compare_runs(*(compared_run(each.run_id) for each in runs))
    assert found.plan.is_empty
    step = next(each for each in found.steps if each.step == "S2")
    assert step.summaries == (
        "3 of 4 instances succeeded; without S2[3]",
        "2 of 2 instances succeeded",
    )
    assert step.attempts == (4, 2)
    print_difference(found)
    assert "without S2[3] → succeeded: 2 of 2 instances succeeded " in capsys.readouterr().out


def test_the_log_says_how_many_instances_succeeded() -> None:
    result = run_of(EVERYTHING)
    lines: list[str] = []
    screen = PlainScreen("Compare", lines.append)
    for event in folder_of(result).events():
        screen.handle(event)
    text = "\n".join(lines)
    assert "S2: 4 members, S2[1] to S2[4]" in text
    assert "S2 Reader finished: 3 of 4 instances succeeded; without S2[3]" in text
    assert "S3 Writer skipped: its condition doesn't hold: S1 /kind is bug" in text
    rows = {row.id: row.status for row in screen.board.shown}
    assert rows == {**dict.fromkeys(["S1", "S2", "S4", "S5", "S6"], "succeeded"), "S3": "skipped"}
