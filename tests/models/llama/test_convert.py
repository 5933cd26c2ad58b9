"""A schema's grammar is read by llama.cpp, and what it allows fits the schema."""

from __future__ import annotations

import json
from typing import Any

import pytest
from grammar_reader import GrammarReader
from grammar_walk import allowed_text, is_accepted
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from prefect_swarm.errors import InputError
from prefect_swarm.models.llama.schema_grammar import schema_grammar

ANY: dict[str, Any] = {}
NODE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "label": {"type": "string", "maxLength": 3},
        "next": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]},
    },
    "required": ["label", "next"],
}


def grammar_of(schema: Any) -> str:
    return schema_grammar(json.dumps(schema))


@pytest.fixture(scope="module")
def reader() -> GrammarReader:
    return GrammarReader()


def _between(
    kind: str, least: str, most: str, lows: st.SearchStrategy[int], **others: st.SearchStrategy[Any]
) -> st.SearchStrategy[dict[str, Any]]:
    """Schemas of a kind with two bounds, the lower first."""

    def made(low: int, more: int, **given: Any) -> dict[str, Any]:
        return {"type": kind, least: low, most: low + more, **given}

    return st.builds(made, lows, st.integers(0, 190), **others)


SCALARS = st.one_of(
    st.builds(dict, type=st.sampled_from(["string", "integer", "number", "boolean", "null"])),
    _between("string", "minLength", "maxLength", st.integers(0, 4)),
    _between("integer", "minimum", "maximum", st.integers(-20, 20)),
    st.sampled_from(
        [
            {"type": "integer", "minimum": 1},
            {"type": "integer", "exclusiveMinimum": 0},
            {"type": "integer", "maximum": -1},
            {"type": "number", "minimum": 0},
            {"type": ["string", "null"], "maxLength": 9},
            {"$ref": "#/$defs/Node"},
        ]
    ),
    st.builds(
        dict,
        type=st.just("string"),
        format=st.sampled_from(["date", "time", "date-time", "uuid", "ipv4"]),
    ),
    st.builds(dict, enum=st.lists(st.one_of(st.text(), st.integers(), st.none()), min_size=1)),
    st.builds(dict, const=st.one_of(st.text(), st.booleans(), st.lists(st.integers()))),
)
NAMES = st.text('abc _"é\\', min_size=1, max_size=5)


def _objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    def made(properties: dict[str, Any], flags: list[bool], additional: Any) -> dict[str, Any]:
        required = [name for name, flag in zip(properties, flags, strict=False) if flag]
        schema = {"type": "object", "properties": properties, "required": required}
        return schema if additional is None else {**schema, "additionalProperties": additional}

    return st.builds(
        made,
        st.dictionaries(NAMES, inner, max_size=4),
        st.lists(st.booleans(), max_size=4),
        st.none() | st.booleans() | inner,
    )


def _containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.one_of(
        _objects(inner),
        st.builds(dict, type=st.just("object"), additionalProperties=inner),
        _between("array", "minItems", "maxItems", st.integers(0, 3), items=inner),
        st.builds(dict, type=st.just("array"), items=inner),
        st.builds(
            dict,
            type=st.just("array"),
            prefixItems=st.lists(inner, min_size=1, max_size=3),
            items=inner | st.just(False),
        ),
        st.builds(dict, anyOf=st.lists(inner, min_size=1, max_size=3)),
        st.builds(dict, allOf=st.tuples(_objects(SCALARS), _objects(SCALARS)).map(list)),
    )


SCHEMAS = st.recursive(SCALARS, _containers, max_leaves=8)


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=50)
@given(SCHEMAS, st.integers(0, 2**32))
def test_whatever_the_grammar_allows_fits_the_schema(schema: Any, seed: int) -> None:
    schema = {**schema, "$defs": {"Node": NODE}}
    try:
        grammar = grammar_of(schema)
    except InputError:
        assume(False)
        return
    assert is_accepted(grammar)
    text = allowed_text(grammar, seed)
    if text is not None:
        checker = Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
        checker.validate(json.loads(text))


@pytest.mark.parametrize(
    ("schema", "right", "wrong"),
    [
        # A name that is said twice replaces the value that fits.
        (
            {"properties": {"a": {"type": "integer"}}, "additionalProperties": {"type": "string"}},
            '{"a": 1,"b": "x","ab": "","": "y"}',
            '{"a": 1,"a": "x"}',
        ),
        ({"type": "string"}, '"a\\nb\\u00e9é"', '"a\nb"'),
        ({"type": "string"}, '""', '"\\ud800"'),
        ({"type": "integer", "minimum": 1, "maximum": 12}, "12", "13"),
        ({"type": "integer", "minimum": 0, "maximum": 9, "multipleOf": 3}, "6", "7"),
        ({"type": "integer", "exclusiveMinimum": 0}, "1000", "0"),
        ({"type": "integer", "exclusiveMaximum": 0}, "-1", "1"),
        ({"type": "string", "format": "date"}, '"2024-02-28"', '"2024-02-30"'),
        ({"type": ["integer", "null"], "minimum": 0}, "null", "-1"),
        ({"type": "string", "nullable": True}, "null", "1"),
        ({"type": "string", "enum": ["a", None]}, '"a"', "null"),
        ({"anyOf": [{"const": 1}, {"const": "x"}], "type": "string"}, '"x"', "1"),
        ({"type": "array", "items": {"const": 1}, "minItems": 2}, "[1, 1,1]", "[1]"),
        ({"type": "array", "maxItems": 0}, "[]", "[1]"),
        ({"type": "array", "prefixItems": [{"const": 1}, {"const": 2}]}, "[1, 2,3]", "[1]"),
        ({"items": [{"const": 1}], "additionalItems": False}, "[1]", "[1,1]"),
        ({"type": "object", "required": ["a"]}, '{"a": []}', "{}"),
        ({"type": "object", "propertyNames": {"enum": ["x"]}}, '{"x": 1}', '{"y": 1}'),
        ({"type": "object", "patternProperties": {"^x": {"const": 1}}}, '{"x": 1}', '{"x": 2}'),
        ({"type": "object", "minProperties": 1}, '{"a": 1}', "{}"),
        ({"type": "object", "additionalProperties": False}, "{}", '{"a": 1}'),
        ({"type": "object", "properties": {}, "additionalProperties": True}, '{"a": 1}', "[]"),
        (
            {"properties": {"a": {"type": "number"}}, "allOf": [{"required": ["a"]}]},
            '{"a": 1.5e3}',
            "{}",
        ),
        (
            {"properties": {"a": {}, "b": {}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
            '{"b": [{"x": null}]}',
            "{}",
        ),
        (
            {"$ref": "#/$defs/Node", "$defs": {"Node": NODE}},
            '{"label": "a","next": {"label": "b","next": null}}',
            '{"label": "a","next": {"label": "b"}}',
        ),
        (
            {
                "$ref": "#/$defs/A",
                "$defs": {"A": {"properties": {"a": {"allOf": [{"$ref": "#/$defs/A"}]}}}},
            },
            '{"a": {"a": {}}}',
            '{"a": 1}',
        ),
        (
            {"$ref": "#/$defs/a~1b/anyOf/1", "$defs": {"a/b": {"anyOf": [{}, {"const": 1}]}}},
            "1",
            "2",
        ),
    ],
)
def test_a_value_is_allowed_or_not(
    reader: GrammarReader, schema: dict[str, Any], right: str, wrong: str
) -> None:
    grammar = grammar_of(schema)
    assert reader.accepts(grammar, right)
    assert not reader.accepts(grammar, wrong)


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/$defs/missing"},
        {"$ref": "https://example.com/schema.json"},
        {"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}},
        {"$ref": "#/$defs/A", "$defs": {"A": {"allOf": [{"$ref": "#/$defs/A"}, {"minimum": 1}]}}},
        {"allOf": [{"type": "string"}, {"type": "integer"}]},
        {"allOf": [{"enum": [1]}, {"enum": [2]}]},
        {"type": "integer", "minimum": 3, "maximum": 2},
        {"type": "array", "items": False, "minItems": 1},
        {"type": "object", "properties": {"a": False}, "required": ["a"]},
        {"type": "object", "required": 3},
        {"type": "null_sink of"},
        {"enum": []},
        {"anyOf": [False]},
        False,
        3,
    ],
)
def test_what_no_grammar_can_say_is_an_error(schema: Any) -> None:
    with pytest.raises(InputError, match="No grammar can be made"):
        grammar_of(schema)


def test_what_is_no_json_is_an_error() -> None:
    with pytest.raises(InputError, match="it is not JSON"):
        schema_grammar("{")


def test_a_choice_that_nothing_fits_is_left_out(reader: GrammarReader) -> None:
    grammar = grammar_of({"anyOf": [{"$ref": "#/$defs/missing"}, {"const": 1}]})
    assert reader.accepts(grammar, "1")


def test_a_long_bound_is_left_to_be_validated(reader: GrammarReader) -> None:
    assert reader.accepts(grammar_of({"type": "string", "maxLength": 5000}), '"abc"')
