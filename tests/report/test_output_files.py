"""Names of a run's files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from flow_runs import plan_of
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.cli.terminal.files import write_folder
from prefect_swarm.plan.output import OutputKind
from prefect_swarm.report.output_files import artifact_files, extra_files, with_pictures
from prefect_swarm.store.result import Cost, Metrics, Planning, SwarmResult
from prefect_swarm.store.step import StepState

METRICS = Metrics(
    critical_steps=1, makespan_s=1, critical_path_s=1, work_s=1, parallelism=1, speedup=1
)
TWO_FILES = "slug.py\n```python\na = 1\n```\n\ndocs/read.md\n```md\nHello\n```\n"


def result_of(kind: OutputKind, answer: str, agent: str = "Tax Expert") -> SwarmResult:
    plan = plan_of({"id": "S1", "output": {"kind": kind}})
    return SwarmResult(
        run_id="r",
        flow_run_id="f",
        status="completed",
        answer=answer,
        plan=plan,
        content_hash="",
        planning=Planning(source="user"),
        steps=(StepState(id="S1", agent=agent, status="succeeded"),),
        metrics=METRICS,
        cost=Cost(),
    )


def files(kind: OutputKind, text: str, answer: str, **options: Any) -> dict[str, str]:
    return artifact_files(result_of(kind, answer), {"S1": text}, **options)


def test_an_answer_has_the_suffix_of_the_step_that_gave_it() -> None:
    assert files("python", "a = 1", "a = 1") == {"answer.py": "a = 1", "S1-tax-expert.py": "a = 1"}
    assert set(files("json", "{}", "In words")) == {"answer.md", "S1-tax-expert.json"}
    assert "answer.json" in files("text", "x", "{}", is_json=True)


PATCH = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-a = 1\n+a = 2\n"


@pytest.mark.parametrize("is_json", [False, True])
def test_all_patches_of_a_run_are_a_patch(is_json: bool) -> None:
    whole = PATCH + PATCH.replace("a.py", "b.py")
    written = files("patch", PATCH, whole, is_json=is_json)
    assert written == {"answer.patch": whole, "S1-tax-expert.patch": PATCH}


JOINED = {"depends_on": ["S1"], "agent": "", "prompt": ""}
FOUND = {"id": "S1", "output": {"kind": "json"}}
SPREAD = {"id": "S2", "for_each": {"items": "S1", "at": ""}}


def names(*steps: dict[str, Any], members: Mapping[str, str] | None = None) -> set[str]:
    """The names of the files of a plan's steps, and of members, by their parents' ids."""
    ids = [step["id"] for step in steps]
    states = [StepState(id=name, agent="", status="succeeded") for name in ids]
    states += [
        StepState(id=name, agent="", parent=parent, status="succeeded")
        for name, parent in (members or {}).items()
    ]
    update = {"plan": plan_of(*steps), "steps": tuple(states)}
    result = result_of("text", "").model_copy(update=update)
    return set(artifact_files(result, {state.id: TWO_FILES for state in states}))


@pytest.mark.parametrize(
    ("how", "made"),
    [
        ("table", {"S2.csv"}),
        ("list", {"S2.json"}),
        ("json", {"S2.json"}),
        ("files", {"S2/slug.py", "S2/docs/read.md"}),
    ],
)
def test_what_is_joined_has_the_suffix_of_what_joining_makes(how: str, made: set[str]) -> None:
    assert names(FOUND, {"id": "S2", "collect": how, **JOINED}) == {"S1.json"} | made


def test_an_answer_that_is_a_table_is_csv() -> None:
    plan = plan_of(FOUND, {"id": "S2", "collect": "table", **JOINED}, final_step="S2")
    result = result_of("text", "a,b").model_copy(update={"plan": plan})
    assert "answer.csv" in artifact_files(result, {"S2": "a,b\n"})


def test_what_has_instances_has_the_suffix_of_what_their_outputs_are_joined_to() -> None:
    members = {"S2[1]": "S2"}
    for kind, own, all_ in [
        ("json", ".json", ".json"),
        ("text", ".md", ".md"),
        ("python", ".py", ".md"),
    ]:
        made = names(FOUND, {**SPREAD, "output": {"kind": kind}}, members=members)
        assert made == {"S1.json", f"S2{all_}", f"S2/S2[1]{own}"}


def test_lists_of_lists_are_joined_as_lists_are() -> None:
    follows = {"id": "S3", "for_each": {"items": "S2", "at": ""}, "output": {"kind": "python"}}
    spread = {**SPREAD, "output": {"kind": "json"}}
    members = {"S3[1]": "S3", "S3[1.1]": "S3[1]"}
    made = names(FOUND, spread, follows, members=members)
    assert made == {"S1.json", "S2.json", "S3.md", "S3/S3[1].md", "S3/S3[1.1].py"}


def test_a_step_with_a_plan_has_the_suffix_of_its_final_step_and_one_that_gathers_of_a_list() -> (
    None
):
    table = {"id": "S2", "collect": "table", "depends_on": ["S1"]}
    inner = {"agents": [], "steps": [{"agent": "Reader", "prompt": "p", **FOUND}, table]}
    around = {"id": "S1", "agent": "", "prompt": "", "plan": inner}
    made = names(around, members={"S1.S1": "S1", "S1.S2": "S1"})
    assert made == {"S1.csv", "S1/S1.S1.json", "S1/S1.S2.csv"}
    gathers = {**FOUND, "repeat": {"until": "no_new_items", "at": "/x"}}
    assert names(gathers, members={"S1r1": "S1"}) == {"S1.json", "S1/S1r1.json"}


def test_an_artifact_of_several_files_is_a_folder_of_them() -> None:
    made = files("files", TWO_FILES, "x")
    assert set(made) == {"answer.md", "S1-tax-expert/slug.py", "S1-tax-expert/docs/read.md"}
    assert made["S1-tax-expert/slug.py"].strip() == "a = 1"


def test_a_file_that_leads_out_of_the_folder_is_not_made() -> None:
    text = TWO_FILES.replace("slug.py", "../../slug.py")
    assert not any(".." in name for name in files("files", text, ""))


def test_files_that_a_step_left_lie_in_a_folder_of_their_own(tmp_path: Path) -> None:
    result = result_of("files", "x")
    made = extra_files(result.steps, {"S1": {"in/plot.png": b"\x89PNG"}, "S9": {"x": b""}})
    assert made == {"S1-tax-expert-files/in/plot.png": b"\x89PNG"}
    write_folder(tmp_path, {"answer.md": b"x"} | made, "r")
    assert (tmp_path / "S1-tax-expert-files/in/plot.png").read_bytes() == b"\x89PNG"
    assert (tmp_path / "answer.md").read_bytes() == b"x"


@given(st.text(max_size=80), st.text(max_size=200), st.sampled_from(["text", "files", "shell"]))
def test_any_agent_and_any_text_give_names_inside_the_folder(
    agent: str, text: str, kind: OutputKind
) -> None:
    for name in artifact_files(result_of(kind, text, agent), {"S1": text}):
        assert not name.startswith("/")
        assert ".." not in name.split("/")
        assert len(name.split("/")[0]) < 60


def test_pictures_that_calls_returned_are_added_once_and_take_no_files_name() -> None:
    left = {"a.png": b"red", "b.png": b"blue"}
    returned = {"a.png": b"green", "c.png": b"blue", "d.png": None, "e.png": b"white"}
    assert with_pictures(left, returned) == {**left, "e.png": b"white"}
    assert with_pictures({}, {}) == {}
