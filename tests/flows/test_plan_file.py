"""A plan as YAML, and back."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from flow_runs import plan_of
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.errors import InputError, PlanError
from prefect_swarm.plan.documents import (
    LineProblem,
    marked,
    plan_from,
    plan_text,
    problems_of,
    without_marks,
)
from prefect_swarm.plan.task_ir import PlanRules, TaskIR

RULES = PlanRules(inputs=frozenset())
PLAN = plan_of(
    {"id": "S1", "prompt": "first\nthen", "output": {"kind": "json", "schema": {"type": "object"}}},
    {"id": "S2", "depends_on": ["S1"], "approval": True, "inputs": ["notes"]},
    inputs={"notes": "a long text"},
)


def problems(text: str) -> list[str]:
    found = problems_of(text, PLAN, RULES)
    assert not isinstance(found, TaskIR)
    return [str(problem) for problem in found]


def line_with(text: str, words: str) -> int:
    return next(n for n, line in enumerate(text.splitlines(), 1) if words in line)


def test_what_is_written_is_read_as_it_was_without_the_texts_of_inputs() -> None:
    text = plan_text(PLAN)
    assert problems_of(text, PLAN, RULES) == PLAN
    assert "a long text" not in text
    assert "    prompt: |-\n      first\n      then\n" in text


@given(prompt=st.text(min_size=1, max_size=200).filter(lambda text: text.strip()))
def test_any_prompt_survives(prompt: str) -> None:
    plan = PLAN.model_copy(
        update={"steps": (PLAN.steps[0].model_copy(update={"prompt": prompt}), PLAN.steps[1])}
    )
    assert yaml.safe_load(plan_text(plan))["steps"][0]["prompt"] == prompt


def test_inputs_stay_and_may_be_added_to() -> None:
    data = PLAN.model_dump(mode="json", exclude={"inputs"})
    assert plan_from(data, PLAN, RULES).inputs == {"notes": "a long text"}
    more = plan_from({**data, "inputs": {"more": "x"}}, PLAN, RULES)
    assert more.inputs == {"notes": "a long text", "more": "x"}


def test_another_objective_is_refused() -> None:
    data = PLAN.model_dump(mode="json")
    with pytest.raises(InputError, match="is not the plan's"):
        plan_from({**data, "objective": "another"}, PLAN, RULES)
    assert problems("objective: another") == ["line 1: the objective has to stay 'Find out'"]


def test_a_broken_rule_is_an_error() -> None:
    with pytest.raises(PlanError, match="steps"):
        plan_from({}, PLAN, RULES)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("agent: Reader", "agent: Writer", "step S1 is assigned to an unknown agent 'Writer'"),
        ("kind: json", "kind: prose", "kind: Input should be"),
        ("- S1", "- S9", "step S2 depends on S9, which is not a step of the plan"),
        ("approval: true", "approval: perhaps", "approval: Input should be"),
        ("approval: true", "aproval: true", "aproval: Extra inputs"),
        ("- notes", "- papers", "step S2"),
    ],
)
def test_a_problem_has_the_line_that_it_is_in(old: str, new: str, problem: str) -> None:
    text = plan_text(PLAN).replace(old, new, 1)
    (found, *_) = problems_of(text, PLAN, RULES)  # type: ignore[misc]
    assert isinstance(found, LineProblem)
    assert problem in found.problem
    step = found.problem.startswith("step ")
    assert found.line == line_with(text, f"id: {found.problem.split()[1]}" if step else new)


def test_what_is_missing_has_the_line_of_what_lacks_it() -> None:
    text = plan_text(PLAN).replace("    agent: Reader\n", "", 1)
    assert problems(text) == [f"line {line_with(text, 'id: S1')}: it has no agent"]


@pytest.mark.parametrize("text", ["steps: [", "a: b: c", "\t- x", "'", "{" * 3000])
def test_what_is_no_yaml_says_so(text: str) -> None:
    assert any("no YAML" in problem or "nested" in problem for problem in problems(text))


@pytest.mark.parametrize("text", ["", "# only a comment", "3", "- a\n- b", "null"])
def test_what_is_no_mapping_says_so(text: str) -> None:
    assert problems(text) == ["line 1: a plan is a mapping with agents and steps"]


@pytest.mark.parametrize("inputs", [3, [1], {"notes": 3}])
def test_inputs_that_are_none_are_a_problem(inputs: Any) -> None:
    data = {**yaml.safe_load(plan_text(PLAN)), "inputs": inputs}
    assert problems(yaml.safe_dump(data))


def test_problems_are_written_above_their_lines_and_taken_out_again() -> None:
    text = plan_text(PLAN).replace("kind: json", "kind: prose")
    found = problems_of(text, PLAN, RULES)
    assert not isinstance(found, TaskIR)
    shown = marked(text, found)
    lines = shown.splitlines()
    at = next(n for n, line in enumerate(lines) if "# ERROR: " in line)
    assert lines[at + 1].strip() == "kind: prose"
    assert lines[at].index("#") == lines[at + 1].index("k")
    assert yaml.safe_load(shown) == yaml.safe_load(text)
    assert without_marks(shown) == text


@given(
    st.lists(st.sampled_from(["a: 1", "  - b", "", "# note"]), min_size=1, max_size=9),
    st.lists(st.integers(0, 12), max_size=4),
)
def test_marks_change_no_other_line(lines: list[str], at: list[int]) -> None:
    text = "".join(f"{line}\n" for line in lines)
    assert without_marks(marked(text, [LineProblem(n, "wrong") for n in at])) == text
