"""The form of a run whose server asks its user: the fields stand below the decision."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator
from prefect_swarm.flows.prefect_io.form import (
    ALL_FIELD,
    APPROVE,
    APPROVE_ALL,
    EACH,
    REJECT,
    UNDECIDED,
    PersonForm,
    form_of,
    schema_of,
)
from prefect_swarm.flows.prefect_io.form_reading import FormReading, read_response
from prefect_swarm.store.question import Question
from prefect_swarm.store.requested import fields_in

FIELDS = fields_in(
    {
        "properties": {
            "seats": {
                "type": "integer",
                "minimum": 1,
                "maximum": 9,
                "title": "**Seats**?",
            },
            "window": {"type": "boolean"},
            "meal": {"type": "string", "oneOf": [{"const": "v", "title": "Vegetarian"}]},
            "extras": {"type": "array", "items": {"enum": ["bag", "bike"]}},
            "e-mail": {"type": "string", "format": "email"},
        },
        "required": ["seats", "window"],
    }
)
BOOK = Question(
    id="S1.1.asks", asked="elicitation", subject="b", step="S1", title="Book", fields=FIELDS
)
SEND = Question(id="S2.1", asked="call", subject="s", step="S2", title="Send")
SURE = Question(id="S3.1.asks", asked="elicitation", subject="c", step="S3", title="Sure?")


def form(*questions: Question) -> PersonForm:
    made = form_of(questions, "k", suspended=False)
    # As it is after it was written down.
    return PersonForm.model_validate_json(made.model_dump_json())


def read(asked: PersonForm, values: dict[str, Any]) -> FormReading:
    return read_response(asked, values, None, lambda _: (), 7)


def is_taken(values: dict[str, Any], *questions: Question) -> bool:
    """Whether the server takes an answer, by the form's schema."""
    return Draft202012Validator(schema_of(form(*questions), questions)).is_valid(values)


def content(values: dict[str, Any], *questions: Question) -> Any:
    reading = read(form(*questions), values)
    assert reading.problems == ()
    return next(answer.content for answer in reading.answers if answer.question == BOOK.id)


def test_each_field_is_drawn_below_the_decision_as_what_it_takes() -> None:
    properties = schema_of(form(BOOK), [BOOK])["properties"]
    drawn = sorted(properties, key=lambda name: properties[name]["position"])
    names = ("seats", "window", "meal", "extras", "e_mail")
    assert drawn[1:6] == [f"input_{name}" for name in names]
    assert properties["input_seats"]["type"] == "integer"
    assert properties["input_window"]["enum"] == ["yes", "no"]
    assert properties["input_meal"]["enum"] == ["Vegetarian"]
    assert properties["input_extras"]["items"]["enum"] == ["bag", "bike"]


def test_what_is_filled_in_goes_with_the_approval() -> None:
    values = {
        "decision_S1_1_asks": APPROVE,
        "input_seats": 2,
        "input_window": "no",
        "input_meal": "Vegetarian",
        "input_extras": ["bike"],
        "input_e_mail": "",
    }
    assert is_taken(values, BOOK)
    expected = {"seats": 2, "window": False, "meal": "v", "extras": ("bike",)}
    assert content(values, BOOK) == expected


def test_an_approval_without_what_is_required_is_refused_at_once() -> None:
    values: dict[str, Any] = {"decision_S1_1_asks": APPROVE, "input_seats": 2}
    assert not is_taken(values, BOOK)
    assert is_taken({**values, "input_window": "yes"}, BOOK)
    assert is_taken({"decision_S1_1_asks": REJECT}, BOOK)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"input_seats": 12}, "seats has to be whole number, 1 to 9."),
        ({"input_seats": None}, "seats is required: whole number, 1 to 9."),
        ({"input_e_mail": "nobody"}, "e-mail has to be of the form email."),
        ({"input_extras": ["car"]}, "extras has to be some of bag, bike."),
    ],
)
def test_what_does_not_fit_is_no_approval_and_said(wrong: dict[str, Any], why: str) -> None:
    values = {"decision_S1_1_asks": APPROVE, "input_seats": 2, "input_window": "yes", **wrong}
    reading = read(form(BOOK), values)
    assert reading.answers == ()
    assert reading.problems == (f"S1.1.asks was not approved: {why}",)


def test_what_is_rejected_needs_nothing() -> None:
    reading = read(form(BOOK), {"decision_S1_1_asks": REJECT, "input_seats": 77})
    [answer] = reading.answers
    assert (answer.verdict, answer.content) == ("rejected", None)


def test_of_several_questions_each_has_its_own_fields() -> None:
    filled = {"input_S1_1_asks_seats": 3, "input_S1_1_asks_window": "yes"}
    each = {ALL_FIELD: EACH, "decision_S1_1_asks": APPROVE, "decision_S2_1": REJECT, **filled}
    assert is_taken(each, BOOK, SEND)
    assert content(each, BOOK, SEND) == {"seats": 3, "window": True}
    assert content({ALL_FIELD: APPROVE_ALL, **filled}, BOOK, SEND) == {"seats": 3, "window": True}


def test_approving_all_leaves_open_what_is_not_filled_in() -> None:
    reading = read(form(BOOK, SEND), {ALL_FIELD: APPROVE_ALL})
    assert [answer.question for answer in reading.answers] == ["S2.1"]
    assert "seats is required" in reading.problems[0]


def test_what_is_not_decided_yet_takes_nothing() -> None:
    values = {ALL_FIELD: EACH, "decision_S1_1_asks": UNDECIDED, "decision_S2_1": APPROVE}
    reading = read(form(BOOK, SEND), {**values, "input_S1_1_asks_seats": 3})
    assert [answer.question for answer in reading.answers] == ["S2.1"]
    assert reading.problems == ()


def test_a_yes_or_no_has_no_fields() -> None:
    assert not any(name.startswith("input") for name in schema_of(form(SURE), [SURE])["properties"])
    [answer] = read(form(SURE), {"decision_S3_1_asks": APPROVE}).answers
    assert (answer.verdict, answer.content) == ("approved", None)
