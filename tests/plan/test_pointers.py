"""JSON pointers into values and into JSON Schemas."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.plan.pointers import (
    MAX_POINTER,
    MISSING,
    NoPlaceError,
    describe_place,
    element_at,
    pointer_of,
    pointer_parts,
    pointer_problem,
    schema_at,
    value_at,
)

RFC_6901 = {
    "foo": ["bar", "baz"],
    "": 0,
    "a/b": 1,
    "c%d": 2,
    "e^f": 3,
    "g|h": 4,
    "i\\j": 5,
    'k"l': 6,
    " ": 7,
    "m~n": 8,
}
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("", RFC_6901),
        ("/foo", ["bar", "baz"]),
        ("/foo/0", "bar"),
        ("/", 0),
        ("/a~1b", 1),
        ("/c%d", 2),
        ("/e^f", 3),
        ("/g|h", 4),
        ("/i\\j", 5),
        ('/k"l', 6),
        ("/ ", 7),
        ("/m~0n", 8),
    ],
)
def test_a_pointer_leads_where_its_standard_says(pointer: str, value: object) -> None:
    assert value_at(RFC_6901, pointer) == value


@pytest.mark.parametrize(
    "pointer",
    ["/foo/2", "/foo/-", "/foo/-1", "/foo/00", "/foo/0 ", "/foo/٠", "/foo/0/0", "/bar", "/a/b"],
)
def test_what_is_not_there_is_missing(pointer: str) -> None:
    assert value_at(RFC_6901, pointer) is MISSING


def test_null_is_there() -> None:
    assert value_at({"a": None}, "/a") is None


def test_an_index_of_thousands_of_digits_leads_nowhere() -> None:
    assert value_at([1], f"/{'9' * 900}") is MISSING


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("papers", "begins with no slash; write /papers"),
        ("$.papers", "begins with no slash"),
        ("/a~", "~ is written ~0"),
        ("/a~2b", "~ is written ~0"),
        ("/" + "a" * MAX_POINTER, "has over 1,000 characters"),
    ],
)
def test_what_is_no_pointer_is_refused_with_the_reason(text: str, problem: str) -> None:
    assert problem in pointer_problem(text)
    with pytest.raises(ValueError, match="not a JSON pointer"):
        value_at({}, text)


@given(st.lists(st.text(), max_size=5))
def test_names_are_read_from_a_pointer_as_they_were_written(parts: list[str]) -> None:
    pointer = pointer_of(parts)
    if not pointer_problem(pointer):
        assert list(pointer_parts(pointer)) == parts


def places_in(value: Any, before: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Any]]:
    inner: list[tuple[str, Any]] = []
    if isinstance(value, dict):
        inner = [*value.items()]
    elif isinstance(value, list):
        inner = [(str(n), each) for n, each in enumerate(value)]
    found = [place for name, each in inner for place in places_in(each, (*before, name))]
    return [(before, value), *found]


@given(VALUES)
def test_every_part_of_a_value_has_a_pointer(value: Any) -> None:
    for parts, part in places_in(value):
        assert value_at(value, pointer_of(parts)) is part


@pytest.mark.parametrize(
    ("value", "pointer", "words"),
    [
        ({"title": 1, "authors": 2}, "/papers", "there is no /papers; it has title, authors"),
        ({"a": {"b": 1}}, "/a/c", "there is no /a/c; /a has b"),
        ({}, "/a", "there is no /a; it has no fields"),
        ([1, 2], "/2", "there is no /2; it is a list of 2"),
        ({"a": [1]}, "/a/b", "there is no /a/b; /a is a list of 1"),
        ("x", "/a", "there is no /a; it is a text"),
        ({"a": None}, "/a/b/c", "there is no /a/b; /a is null"),
        ("x", "", "it is a text, not a list"),
        ({"a": {}}, "/a", "/a is an object, not a list"),
        ({"a": True}, "/a", "/a is true, not a list"),
        ({"a": 1.5}, "/a", "/a is a number, not a list"),
        ({"a": None}, "/a", "/a is null, not a list"),
        ([1], "", "it is a list of 1"),
    ],
)
def test_what_is_there_instead_is_said(value: object, pointer: str, words: str) -> None:
    assert describe_place(value, pointer) == words


def test_of_many_fields_the_first_are_named() -> None:
    words = describe_place({f"field_{n}": n for n in range(1_000)}, "/papers")
    assert words.startswith("there is no /papers; it has field_0, field_1")
    assert words.endswith(" others")


@given(VALUES, st.lists(st.text(), max_size=4))
def test_it_is_said_in_one_short_line(value: Any, parts: list[str]) -> None:
    pointer = pointer_of(parts)
    if not pointer_problem(pointer):
        words = describe_place(value, pointer)
        assert len(words) <= 210
        assert words.splitlines() == [words]


PAPERS = {
    "type": "object",
    "properties": {
        "papers": {"type": "array", "items": {"$ref": "#/$defs/Paper"}},
        "pair": {"type": "array", "prefixItems": [{"type": "string"}], "items": False},
        "few": {"type": "array", "items": {"type": "number"}, "maxItems": 2},
        "maybe": {"anyOf": [{"type": "array"}, {"type": "null"}]},
        "open": {"type": "object"},
        "empty": {},
        "any": True,
        "never": False,
        "map": {"type": "object", "additionalProperties": {"type": "integer"}},
        "free": {"type": "object", "properties": {"a": True}, "additionalProperties": True},
        "by_pattern": {
            "type": "object",
            "properties": {"a": True},
            "patternProperties": {"^x": {}},
        },
        "untyped": {"properties": {"a": {"type": "string"}}},
        "untyped_list": {"items": {"type": "string"}},
        "either": {"type": ["array", "object"], "properties": {"a": {}}, "items": {}},
        "either_closed": {"type": ["array", "object"], "additionalProperties": False},
        "a/b": {"type": "string"},
    },
    "$defs": {
        "Paper": {
            "type": "object",
            "properties": {
                "title": {"type": "string"},
                "authors": {"type": "array", "items": {"type": "string"}},
                "cites": {"type": "array", "items": {"$ref": "#/$defs/Paper"}},
            },
        }
    },
}


@pytest.mark.parametrize(
    ("pointer", "kind"),
    [
        ("", "object"),
        ("/papers", "array"),
        ("/papers/3", "object"),
        ("/papers/3/title", "string"),
        ("/papers/3/cites/0/cites/7/authors/1", "string"),
        ("/pair/0", "string"),
        ("/few/1", "number"),
        ("/map/whatever", "integer"),
        ("/map/0", "integer"),
        ("/untyped/a", "string"),
        ("/untyped_list/0", "string"),
        ("/a~1b", "string"),
    ],
)
def test_a_schema_says_what_is_at_a_pointer(pointer: str, kind: str) -> None:
    place = schema_at(PAPERS, pointer)
    assert place
    assert place.schema["type"] == kind


@pytest.mark.parametrize(
    "pointer",
    [
        "/maybe/0",
        "/open/a",
        "/empty",
        "/any/a/b",
        "/free/b",
        "/by_pattern/b",
        "/either/0",
        "/either_closed/0",
    ],
)
def test_a_schema_may_leave_open_what_is_at_a_pointer(pointer: str) -> None:
    assert schema_at(PAPERS, pointer) is None


@pytest.mark.parametrize(
    ("pointer", "problem"),
    [
        ("/paper", "there is no /paper; it has papers, pair, few"),
        ("/papers/title", "there is no /papers/title; /papers is a list"),
        ("/papers/0/titel", "there is no /papers/0/titel; /papers/0 has title, authors, cites"),
        ("/papers/0/title/0", "there is no /papers/0/title/0; /papers/0/title is a text"),
        ("/pair/1", "/pair is a list of at most 1"),
        ("/few/2", "/few is a list of at most 2"),
        ("/untyped/b", "there is no /untyped/b; /untyped has a"),
        ("/never", "there is no /never"),
    ],
)
def test_a_schema_says_what_surely_is_not_there(pointer: str, problem: str) -> None:
    with pytest.raises(NoPlaceError, match=problem):
        schema_at(PAPERS, pointer)


def test_the_elements_of_a_list_are_found_in_a_schema_with_its_references() -> None:
    paper = element_at(PAPERS, "/papers")
    assert paper
    cited = element_at(paper, "/cites")
    assert cited
    assert cited.schema is paper.schema
    assert element_at(PAPERS, "/maybe") is None
    assert element_at(PAPERS, "/pair") is None
    assert element_at({"type": "array"}, "") is None
    with pytest.raises(NoPlaceError, match="/open is an object, not a list"):
        element_at(PAPERS, "/open")


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}},
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
        {"$ref": "https://example.com/schema"},
        {"$ref": "#name", "$defs": {"a": {"$anchor": "name", "type": "string"}}},
        {"$ref": "#/nowhere"},
        {"properties": {"a": {"$id": "https://example.com/a", "$ref": "#/$defs/b"}}},
        {"properties": {"a": {"$ref": "#/$defs/b", "minProperties": 1}}, "$defs": {"b": False}},
        {"allOf": [{"properties": {"a": {}}}]},
        {"properties": {"b": {}}, "anyOf": [{"required": ["a"]}]},
    ],
)
def test_what_can_not_be_followed_in_a_schema_is_open(schema: dict[str, Any]) -> None:
    assert schema_at(schema, "/a") is None


def test_a_reference_with_escapes_is_followed() -> None:
    schema = {"$ref": "#/$defs/a%20b~1c", "$defs": {"a b/c": {"type": "string"}}}
    place = schema_at(schema, "")
    assert place
    assert place.schema == {"type": "string"}


SCHEMAS = st.recursive(
    st.booleans() | st.builds(dict, type=st.sampled_from(["string", "array", "object", "null"])),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["array", "object", ["array", "object", "null"]]),
            "properties": st.dictionaries(st.sampled_from("ab0"), inner),
            "additionalProperties": inner,
            "items": inner,
            "prefixItems": st.lists(inner, min_size=1, max_size=2),
            "maxItems": st.integers(0, 2),
            "anyOf": st.lists(inner, min_size=1, max_size=2),
        },
    ),
    max_leaves=8,
)
SMALL = st.recursive(
    st.none() | st.just("x") | st.just(1),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab0"), inner),
    max_leaves=8,
)


def are_closed(value: Any) -> Any:
    """Return a schema whose objects have no properties but those that it lists."""
    if isinstance(value, list):
        return [are_closed(each) for each in value]
    if not isinstance(value, dict):
        return value
    schema = {
        key: {name: are_closed(each) for name, each in inner.items()}
        if key == "properties"
        else are_closed(inner)
        for key, inner in value.items()
    }
    if schema.get("properties") and not schema.keys() & {"anyOf", "additionalProperties"}:
        schema["additionalProperties"] = False
    return schema


@given(SCHEMAS, SMALL, st.lists(st.sampled_from(["a", "b", "0", "1", "2"]), max_size=3))
def test_a_value_that_fits_has_nothing_where_its_schema_has_nothing(
    schema: Any, value: Any, parts: list[str]
) -> None:
    from jsonschema import Draft202012Validator

    # Without a type a list may stand where only properties are said; models mean the object.
    if not isinstance(schema, dict):
        return
    pointer = pointer_of(parts)
    try:
        place = schema_at(schema, pointer)
    except NoPlaceError:
        found = value_at(value, pointer)
        fits = Draft202012Validator(are_closed(with_types(schema))).is_valid(value)
        assert not fits or found is MISSING
        return
    assert place is None or isinstance(place.schema, dict)


def with_types(value: Any) -> Any:
    """Return a schema that says of what has properties alone that it is an object, and so on."""
    if isinstance(value, list):
        return [with_types(each) for each in value]
    if not isinstance(value, dict):
        return value
    schema = {
        key: {name: with_types(each) for name, each in inner.items()}
        if key == "properties"
        else with_types(inner)
        for key, inner in value.items()
    }
    of_objects = schema.keys() & {"properties", "additionalProperties"}
    of_lists = schema.keys() & {"items", "prefixItems", "maxItems"}
    if "type" not in schema and bool(of_objects) != bool(of_lists):
        schema["type"] = "object" if of_objects else "array"
    return schema
