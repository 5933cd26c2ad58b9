"""A cases file is read whole, or what is wrong is named with case and line."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from prefect_swarm.errors import InputError, PlanError
from prefect_swarm.evals.cases import EvalCases, read_cases

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "cases.yaml"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copy(ROOT / "examples" / "uneven.json", tmp_path)
    (tmp_path / "notes.md").write_text("Tea is old.", "utf-8")
    return tmp_path


def read(folder: Path, text: str, times: int | None = None) -> EvalCases:
    (path := folder / "my cases.yaml").write_text(text, "utf-8")
    return read_cases(path, times, max_steps=100)


def test_the_example_can_be_read() -> None:
    cases = read_cases(EXAMPLE, None, 100)
    assert cases.name == "example"
    assert [case.name for case in cases.cases] == ["drinks", "haiku", "uneven"]
    assert {case.times for case in cases.cases} == {3}
    assert cases.cases[2].plan is not None


FULL = """
times: 2
judge: openai:gpt-5
cases:
  - name: plain
    objective: Compare tea and coffee
    files: [notes.md]
    inputs: {claim: Coffee is older.}
    times: 4
    checks:
      judge: It names tea.
  - name: planned
    plan: uneven.json
    checks:
      judge: {rubric: It is short., model: demo}
"""


def test_a_case_has_what_it_names(folder: Path) -> None:
    plain, planned = read(folder, FULL).cases
    assert plain.inputs == {"notes.md": "Tea is old.", "claim": "Coffee is older."}
    assert (plain.times, planned.times) == (4, 2)
    assert (plain.judge, planned.judge) == ("openai:gpt-5", "demo")
    assert planned.plan is not None
    assert planned.objective == planned.plan.objective


def test_times_on_the_command_line_go_before_the_file_s(folder: Path) -> None:
    assert {case.times for case in read(folder, FULL, times=7).cases} == {7}


def test_a_fingerprint_is_of_what_is_asked_and_not_of_how_often(folder: Path) -> None:
    def prints(text: str) -> list[str]:
        return [case.fingerprint for case in read(folder, text).cases]

    first = prints(FULL)
    assert prints(FULL.replace("times: 4", "times: 5")) == first
    assert prints(FULL.replace("names tea", "names coffee"))[0] != first[0]
    (folder / "notes.md").write_text("Tea is young.", "utf-8")
    assert [new == old for new, old in zip(prints(FULL), first, strict=True)] == [False, True]


def test_files_of_the_same_name_in_two_folders_have_reports_of_their_own(folder: Path) -> None:
    (folder / "inner").mkdir()
    text = "cases: [{name: a, objective: b}]"
    names = {read(folder, text).name, read(folder / "inner", text).name}
    assert len(names) == 2
    assert all(name.startswith("my-cases-") for name in names)


CASE = "cases:\n  - name: drinks\n    objective: Compare\n"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "has no cases"),
        ("[]", "has no cases"),
        ("cases: []", "has no cases"),
        ("cases: [", "is not valid YAML: "),
        ("a: 1\na: 2", "line 2, column 1: 'a' is there twice"),
        ("cases: !!python/name:os.system ''", "is not valid YAML: "),
        ("[" * 5000, "is not valid YAML: "),
        (f"{CASE}    cheks: {{}}", "line 4: case drinks: cheks: Extra inputs"),
        (f"{CASE}    checks:\n      max_stpes: 3", "line 5: case drinks: checks.max_stpes"),
        (f"{CASE}    checks: {{words: {{none: [7]}}}}", "(got 7), which has to be quoted"),
        (f"{CASE}    checks: {{matches: '['}}", "line 4: case drinks: checks.matches.0: it is no"),
        (f"{CASE}    checks: {{schema: {{type: nothing}}}}", "JSON Schema is wrong"),
        (f"{CASE}    checks: {{judge: ''}}", "case drinks: checks.judge.rubric: it is empty"),
        (f"{CASE}    checks: {{max_steps: 0}}", "greater than or equal to 1 (got 0)"),
        (f"{CASE}    times: 0", "case drinks: times"),
        (f"{CASE}    plan: uneven.json", "an objective or a plan, and not both"),
        ("cases: [{name: drinks}]", "line 1: case drinks: it has to have an objective or a plan"),
        ("cases: [{objective: drinks}]", "case number 1: name: Field required"),
        ("name: ../up\ncases: [{name: a, objective: b}]", "line 1: name: "),
        (f"{CASE}  - name: drinks\n    objective: x", "'drinks', the second in line 4"),
        (f"{CASE}    files: [gone.md]", "Case drinks: The input "),
        (f"{CASE}    files: [notes.md]\n    inputs: {{notes.md: x}}", "notes.md is given twice"),
    ],
)
def test_what_is_wrong_is_named(folder: Path, text: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        read(folder, text)
    assert problem in caught.value.problem
    assert caught.value.fix


@pytest.mark.parametrize("plan", ["gone.json", "notes.md"])
def test_a_plan_that_can_t_be_read_is_named_with_its_case(folder: Path, plan: str) -> None:
    with pytest.raises(PlanError, match=r"^Case planned: .*" + plan):
        read(folder, f"cases: [{{name: planned, plan: {plan}}}]")
