"""Forms that servers ask for: what a schema comes to, and what may be filled in."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from prefect_swarm.store.question import Answer, Question
from prefect_swarm.store.requested import (
    ContentError,
    RequestedField,
    SchemaProblemError,
    fields_in,
    filled_in,
    needs_content,
    value_in,
)

TITLED = [{"const": "r", "title": "Red"}, {"const": "g", "title": "Green"}]


def schema(*required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [*required]}


def field(**of: Any) -> RequestedField:
    [found] = fields_in(schema("x", x=of))
    return found


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=12,
)
words = st.sampled_from(["type", "properties", "required", "enum", "oneOf", "anyOf", "items", "x"])
kinds = st.sampled_from(["object", "string", "integer", "array", "boolean", "null"])
near_schemas = st.recursive(
    json_values | kinds,
    lambda inner: st.dictionaries(words, inner, max_size=4) | st.lists(inner, max_size=3),
    max_leaves=20,
)


@given(json_values | near_schemas)
def test_any_data_is_a_form_or_says_why_not(data: Any) -> None:
    try:
        fields = fields_in(data)
    except SchemaProblemError:
        return
    assert all(each.line and each.prompt for each in fields)


primitives = (
    st.builds(
        dict, type=st.just("string"), minLength=st.integers(0, 3), maxLength=st.integers(3, 9)
    )
    | st.builds(dict, type=st.just("integer"), minimum=st.integers(-5, 5))
    | st.builds(dict, type=st.just("number"), maximum=st.integers(-5, 5))
    | st.just({"type": "boolean"})
    | st.just({"type": "string", "enum": ["a", "b"]})
    | st.just({"type": "string", "oneOf": TITLED})
    | st.just({"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 1})
    | st.just({"type": "array", "items": {"anyOf": TITLED}, "minItems": 1})
)
values = st.one_of(
    st.booleans(),
    st.integers(-9, 9),
    st.floats(-9, 9),
    st.text(max_size=10),
    st.sampled_from(["a", "r", ["a"], ["a", "b"], ["r"], []]),
)


@given(st.dictionaries(st.text(min_size=1, max_size=5), primitives, max_size=4), st.data())
def test_what_is_taken_fits_the_schema(properties: dict[str, Any], data: st.DataObject) -> None:
    asked = schema(*properties)
    asked["properties"] = properties
    content = {name: data.draw(values) for name in properties}
    try:
        found = filled_in(fields_in(asked), content)
    except ContentError:
        return
    plain = {name: [*of] if isinstance(of, tuple) else of for name, of in found.items()}
    Draft202012Validator(asked).validate(plain)
    answer = Answer(question="S1", verdict="approved", content=found)
    assert Answer.model_validate_json(answer.model_dump_json()).content == found


@pytest.mark.parametrize(
    ("of", "why"),
    [
        ({"type": "object", "properties": {}}, "neither a text nor a number"),
        ({"type": "array", "items": {"type": "string"}}, "list of other than choices"),
        ({"type": "string", "enum": []}, "0 choices"),
        ({"enum": [1, 2]}, "no short texts"),
        ({"$ref": "#/$defs/x"}, "neither a text"),
        (7, "is not an object"),
    ],
)
def test_what_is_not_flat_is_no_form(of: Any, why: str) -> None:
    with pytest.raises(SchemaProblemError, match=why):
        fields_in(schema(x=of))


def test_a_form_has_no_more_fields_than_a_person_fills_in() -> None:
    many: dict[str, Any] = {f"f{n}": {"type": "string"} for n in range(51)}
    with pytest.raises(SchemaProblemError, match="51 fields"):
        fields_in(schema(**many))


@pytest.mark.parametrize(
    ("of", "typed", "value"),
    [
        ({"type": "integer"}, " 7 ", 7),
        ({"type": "number"}, "7.5", 7.5),
        ({"type": "boolean"}, "Yes", True),
        ({"type": "boolean"}, "n", False),
        ({"type": "string"}, "5", "5"),
        ({"type": "string", "enum": ["a", "B"]}, "b", "B"),
        ({"oneOf": TITLED}, "Green", "g"),
        ({"type": "array", "items": {"anyOf": TITLED}}, "Red, g", ("r", "g")),
        ({"type": "string", "format": "date"}, "2026-02-28", "2026-02-28"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "", None),
    ],
)
def test_what_is_typed_is_read_as_its_field_has_it(of: Any, typed: str, value: Any) -> None:
    assert value_in(field(**of), typed) == value


@pytest.mark.parametrize(
    ("of", "typed"),
    [
        ({"type": "integer", "minimum": 1}, "0"),
        ({"type": "integer"}, "1.5"),
        ({"type": "integer"}, "one"),
        ({"type": "boolean"}, "maybe"),
        ({"type": "string", "enum": ["a"]}, "c"),
        ({"type": "string", "format": "email"}, "nobody"),
        ({"type": "string", "format": "date"}, "2026-02-30"),
        ({"type": "string", "maxLength": 2}, "abc"),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, "a, a"),
    ],
)
def test_what_does_not_fit_says_what_does(of: Any, typed: str) -> None:
    with pytest.raises(ContentError, match=r"^x has"):
        value_in(field(**of), typed)


def test_a_field_that_is_left_empty_has_its_default() -> None:
    fields = fields_in(schema("a", a={"type": "integer", "default": 3}, b={"type": "string"}))
    assert filled_in(fields, {}) == {"a": 3}
    assert not needs_content(fields)


def test_a_default_that_does_not_fit_is_none() -> None:
    assert field(type="integer", default="3").default is None


def test_a_question_keeps_its_fields() -> None:
    fields = fields_in(schema("a", a={"oneOf": TITLED, "title": "Colour"}, b={"type": "boolean"}))
    asked = Question(id="S1", asked="elicitation", title="t", fields=fields)
    assert Question.model_validate_json(asked.model_dump_json()) == asked


@pytest.mark.parametrize("required", [[["x"]], [7], {"x": 1}, "x", None])
def test_a_strange_list_of_what_is_required_requires_nothing(required: Any) -> None:
    [found] = fields_in({"properties": {"x": {"type": "string"}}, "required": required})
    assert not found.required


def test_choices_that_look_alike_are_numbered() -> None:
    alike = [{"const": "a", "title": "Same"}, {"const": "b", "title": "Same"}]
    found = field(oneOf=alike)
    assert found.shown == ("1. Same", "2. Same")
    assert value_in(found, "2. Same") == "b"


def test_half_a_character_is_no_name_and_no_choice() -> None:
    for of in ({"a\ud83d": {"type": "string"}}, {"a": {"enum": ["\ud83d"]}}):
        with pytest.raises(SchemaProblemError, match="short text"):
            fields_in({"properties": of})
