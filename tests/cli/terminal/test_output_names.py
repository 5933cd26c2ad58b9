"""Names of a run's files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flow_runs import plan_of
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.cli.terminal.files import artifact_files, extra_files, write_folder
from prefect_swarm.plan.output import OutputKind
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
    write_folder(tmp_path, {"answer.md": "x"} | made, "r")
    assert (tmp_path / "S1-tax-expert-files/in/plot.png").read_bytes() == b"\x89PNG"
    assert (tmp_path / "answer.md").read_bytes() == b"x\n"


@given(st.text(max_size=80), st.text(max_size=200), st.sampled_from(["text", "files", "shell"]))
def test_any_agent_and_any_text_give_names_inside_the_folder(
    agent: str, text: str, kind: OutputKind
) -> None:
    for name in artifact_files(result_of(kind, text, agent), {"S1": text}):
        assert not name.startswith("/")
        assert ".." not in name.split("/")
        assert len(name.split("/")[0]) < 60
