"""Reading the values of a form."""

from __future__ import annotations

from typing import Any

import pytest
from flow_runs import plan_of
from hypothesis import given
from hypothesis import strategies as st
from person_forms import plan_to_copy
from prefect_swarm.errors import InputError
from prefect_swarm.flows.prefect_io.form import (
    APPROVE,
    APPROVE_ALL,
    EDIT,
    REJECT,
    REJECT_ALL,
    PersonForm,
    description_of,
    form_of,
    plan_json,
    plan_of_text,
    schema_of,
)
from prefect_swarm.flows.prefect_io.form_reading import FormReading, read_response
from prefect_swarm.plan.task_ir import PlanRules, TaskIR
from prefect_swarm.store.question import Question

BEFORE = plan_of({"id": "S1"}, {"id": "S2", "depends_on": ["S1"]})
EDITED = plan_of({"id": "S1", "prompt": "do it otherwise"})
RULES = PlanRules()
_SAID = (APPROVE, REJECT, EDIT, APPROVE_ALL, REJECT_ALL)
names = st.text(max_size=12).filter(bool)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=8,
)


def questions_of(*ids: str) -> tuple[Question, ...]:
    return tuple(
        Question(id=name, asked="plan" if name == "plan" else "step", title=f"About {name}")
        for name in ids
    )


def form(*ids: str) -> PersonForm:
    return form_of(questions_of(*ids), "k", suspended=False)


def read(form: PersonForm, response: object) -> FormReading:
    return read_response(form, response, BEFORE, lambda text: plan_of_text(text, BEFORE, RULES), 7)


def verdicts(reading: FormReading) -> dict[str, str]:
    return {answer.question: answer.verdict for answer in reading.answers}


@given(json_values)
def test_nothing_is_an_answer_that_is_not_in_so_many_words(response: Any) -> None:
    assert read(form("plan"), response).answers == ()


@given(st.lists(names, min_size=1, max_size=5, unique=True))
def test_the_defaults_decide_nothing(ids: list[str]) -> None:
    asked = form(*ids)
    fields = schema_of(asked, questions_of(*ids))["properties"]
    defaults = {name: field["default"] for name, field in fields.items() if "default" in field}
    reading = read(asked, defaults)
    assert reading.answers == ()
    assert reading.problems == ("Nothing was decided.",)


@given(
    st.lists(names, min_size=1, max_size=5, unique=True),
    st.dictionaries(st.text(max_size=20), st.sampled_from(_SAID) | json_values),
)
def test_only_questions_of_the_form_are_answered(ids: list[str], more: dict[str, Any]) -> None:
    answered = verdicts(read(form(*ids), more))
    assert set(answered) <= set(ids)


@given(st.lists(names, min_size=1, max_size=9, unique=True))
def test_each_question_has_a_field_of_its_own(ids: list[str]) -> None:
    assert sorted(form(*ids).fields.values()) == sorted(ids)


def test_what_is_decided_by_itself_goes_before_what_is_decided_for_all() -> None:
    asked = form("S1", "S2", "S1.2.1")
    response = {"decision": APPROVE_ALL, "decision_S1_2_1": REJECT, "why": " too dear "}
    reading = read(asked, response)
    assert verdicts(reading) == {"S1": "approved", "S2": "approved", "S1.2.1": "rejected"}
    assert {answer.why for answer in reading.answers} == {"too dear"}


UNTOUCHED = {"decision_plan": APPROVE, "why": "", "name": "", "plan": ""}


@pytest.mark.parametrize("name", ["Ann", "  Ann\n", "Ann\x1b[2K"])
def test_a_decision_names_the_form_and_the_person(name: str) -> None:
    (answer,) = read(form("plan"), {**UNTOUCHED, "name": name}).answers
    assert answer.by == "form"
    assert answer.name in ("Ann", "Ann\\u001b[2K")


@pytest.mark.attack("server")
@pytest.mark.parametrize(
    "response",
    [
        {"decision_plan": APPROVE},
        {"decision_plan": APPROVE, "name": "Ann"},
        {"decision_plan": APPROVE, "plan": ""},
        {"decision": APPROVE_ALL, "why": "", "name": "Ann"},
        {"decision_plan": APPROVE, "by": "form"},
        {"decision_plan": APPROVE, "by": "terminal", "name": "root"},
    ],
)
def test_what_lacks_fields_of_the_form_came_by_the_api(response: dict[str, Any]) -> None:
    (answer,) = read(form("plan"), response).answers
    assert answer.by == "api"


@pytest.mark.attack("server")
@pytest.mark.parametrize(
    "name",
    [None, 7, ["Ann"], {"by": "terminal"}, "x" * 100_000, "Ann\nplan is rejected by terminal"],
)
def test_a_name_is_a_short_line_and_changes_no_way(name: object) -> None:
    (answer,) = read(form("plan"), {**UNTOUCHED, "name": name}).answers
    assert answer.by == "form"
    assert len(answer.name) <= 100
    assert "\n" not in answer.name


def test_an_edited_plan_may_come_as_text_and_as_data() -> None:
    text = plan_json(EDITED)
    data = EDITED.model_dump(mode="json", exclude={"inputs"})
    for plan in (text, data):
        (answer,) = read(form("plan"), {"decision_plan": EDIT, "plan": plan}).answers
        assert answer.verdict == "edited"
        assert answer.plan == {**data, "inputs": {}}


def test_a_plan_that_is_none_leaves_the_question_open_and_stays_as_it_was_written() -> None:
    reading = read(form("plan"), {"decision_plan": EDIT, "plan": "steps: ["})
    assert reading.answers == ()
    assert reading.problems[0].startswith("The edited plan: line 1")
    assert reading.plan_text == "steps: ["


def test_an_approval_of_the_first_plan_does_not_approve_a_changed_one() -> None:
    response = {"decision_plan": APPROVE, "plan": plan_json(EDITED)}
    reading = read(form("plan"), response)
    assert reading.answers == ()
    assert reading.plan_text == plan_json(EDITED)


def test_the_plan_that_there_is_may_stand_in_its_field_when_it_is_approved() -> None:
    response = {"decision_plan": APPROVE, "plan": plan_json(BEFORE)}
    assert verdicts(read(form("plan"), response)) == {"plan": "approved"}


def test_what_was_wrong_and_the_plan_stand_above_the_fields() -> None:
    text = description_of(questions_of("plan"), ("no YAML",), "a ``` in it")
    assert "- no YAML" in text
    assert plan_to_copy(text) == "a ``` in it"
    assert "json" not in description_of(questions_of("S1"), (), "a plan")


def test_a_plan_is_rejected_whatever_stands_in_its_field() -> None:
    reading = read(form("plan"), {"decision_plan": REJECT, "plan": "steps: ["})
    assert verdicts(reading) == {"plan": "rejected"}


@given(st.text(max_size=60).filter(str.strip))
def test_an_untouched_plan_in_the_form_is_no_edit(prompt: str) -> None:
    try:
        before: TaskIR = plan_of({"id": "S1", "prompt": prompt})
    except InputError:
        return
    assert plan_of_text(plan_json(before), before, RULES) == before
