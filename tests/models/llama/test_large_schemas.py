"""Schemas that would take a very large grammar, or for ever, are errors; honest ones aren't."""

from __future__ import annotations

import json
from typing import Any

import pytest
from grammar_reader import GrammarReader
from growth import growth
from prefect_swarm.errors import InputError
from prefect_swarm.models.llama.schema_grammar import schema_grammar


def either(number: int) -> Any:
    return {"anyOf": [{"properties": {f"{key}{number}": {}}} for key in "ab"]}


REFUSED: dict[str, tuple[Any, str]] = {
    "choices of choices": ({"allOf": [either(n) for n in range(40)]}, "more than"),
    "properties": ({"properties": {f"p{n}": {} for n in range(5_000)}}, "1,000 properties"),
    "names that are required": ({"required": [f"p{n}" for n in range(5_000)]}, "1,000 properties"),
    "one long text": ({"const": "x" * 2_000_000}, "1,000,000 characters"),
    "many long texts": ({"enum": [f"{n}{'x' * 2_000}" for n in range(1_000)]}, "characters"),
    "choices": ({"anyOf": [{"const": n} for n in range(5_000)]}, "2,000 choices"),
    "types": ({"type": ["string", "null"] * 5_000}, "2,000 choices"),
    "steps of nothing": ({"type": "integer", "minimum": 1, "maximum": 9, "multipleOf": 0}, "zero"),
    "a number without end": ({"type": "integer", "minimum": 10**400}, "float"),
    "references in a row": (
        {
            "$ref": "#/$defs/d0",
            "$defs": {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(3000)},
        },
        "recursion",
    ),
}


@pytest.mark.attack("load")
@pytest.mark.parametrize(("schema", "why"), REFUSED.values(), ids=REFUSED)
def test_a_schema_that_is_too_large_is_refused(schema: Any, why: str) -> None:
    with pytest.raises(InputError, match=why):
        schema_grammar(json.dumps(schema))


@pytest.mark.attack("load")
def test_no_pattern_of_others_is_matched() -> None:
    grammar = schema_grammar(json.dumps({"enum": ["a" * 40 + "!", "b"], "pattern": "(a+)+$"}))
    assert '"b' in grammar.replace('\\"', "")


@pytest.mark.attack("load")
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "minItems": 1e9, "maxItems": 1e12, "items": {"type": "string"}},
        {"type": "string", "minLength": 10**9},
        {"type": "string", "maxLength": 10**9},
        {"type": "string", "minLength": -5},
        {"type": "string", "minLength": 3.0, "maxLength": 7.0},
        {"type": "object", "minProperties": 10**9},
    ],
    ids=str,
)
def test_bounds_beyond_what_a_grammar_counts_are_whole_numbers_up_to_that(schema: Any) -> None:
    root = schema_grammar(json.dumps(schema))
    assert len(root) < 2_000
    assert "{-" not in root
    assert ".0" not in root


@pytest.mark.attack("load")
def test_names_beside_free_ones_take_a_time_that_grows_as_they_do() -> None:
    def make(count: int) -> None:
        named = {f"p{n}": {"type": "string"} for n in range(count)}
        extra = {"properties": named, "additionalProperties": {"type": "string"}}
        schema_grammar(json.dumps(extra))

    assert growth(make, 200) < 9


@pytest.mark.attack("load")
def test_values_that_begin_alike_are_one_choice_up_to_where_they_differ() -> None:
    grammar = schema_grammar(json.dumps({"enum": [f"colour {n}" for n in range(1_000)]}))
    assert grammar.count("colour") == 1


@pytest.mark.model
def test_a_thousand_values_are_all_allowed_and_no_other() -> None:
    reader = GrammarReader()
    grammar = schema_grammar(json.dumps({"enum": [f"value {n}" for n in range(1_000)]}))
    assert reader.accepts(grammar, '"value 7"')
    assert reader.accepts(grammar, '"value 777"')
    assert not reader.accepts(grammar, '"value "')
    assert not reader.accepts(grammar, '"value 1000"')
