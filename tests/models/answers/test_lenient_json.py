"""JSON is read as models write it where that has one meaning; else the error says where."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from counted_steps import steps_of
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.models.answers.lenient_json import JsonProblem, find_json, read_json, read_values

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(VALUES)
def test_json_is_read_as_it_stands(value: Any) -> None:
    read = read_json(json.dumps(value))
    assert (read.value, read.mended) == (value, ())


@pytest.mark.parametrize(
    ("text", "value", "mended"),
    [
        ('{"a": [1, 2,],}', {"a": [1, 2]}, "a trailing comma left out"),
        ('{"a": "x\ny\tz"}', {"a": "x\ny\tz"}, "a raw line break or tab"),
        ('```json\n{"a": 1}\n```', {"a": 1}, "a fence left out"),
        ('Here is it:\n{"a": 1}\nDone.', {"a": 1}, "text around it left out"),
        ('As [the brief] says: {"a": 1}', {"a": 1}, "text around it left out"),
        ('{"a": 1}}', {"a": 1}, "a surplus bracket left out"),
        ('{"a": ["x"]], "b": 1}', {"a": ["x"], "b": 1}, "a surplus bracket left out"),
        ('{"a": [{"b": 1}]]}', {"a": [{"b": 1}]}, "a surplus bracket left out"),
        ('{"a": [{"b": 1}}, {"b": 2}]}', {"a": [{"b": 1}, {"b": 2}]}, "a surplus bracket left out"),
        ('{"a": "x",, "b": [1,,2]}', {"a": "x", "b": [1, 2]}, "a surplus comma left out"),
        ('{"a"："x"，"b"：1}', {"a": "x", "b": 1}, ""),
        ('{"a": {"b": [1', {"a": {"b": [1]}}, 'a missing "]" added at the end'),
        ('{"a": {"b": 1}\n```\nDone', {"a": {"b": 1}}, 'a missing "}" added at the end'),
        ('{"a": 1, // one\n "b": 2 /* two */}', {"a": 1, "b": 2}, "a comment left out"),
        ('{"a": 1, # one\n "b": 2}', {"a": 1, "b": 2}, "a comment left out"),
        ("{'a': 'it\\'s'}", {"a": "it's"}, "other quotation marks made straight ones"),
        ("{“a”: 1}", {"a": 1}, "other quotation marks made straight ones"),
        ("{a: 1}", {"a": 1}, "a name put into quotation marks"),
        ('{"a": True, "b": None}', {"a": True, "b": None}, "True written as JSON has it"),
        ('{"a": "x"\n "b": 2}', {"a": "x", "b": 2}, "a missing comma added"),
        ('[{"a": 1} {"b": 2}]', [{"a": 1}, {"b": 2}], "a missing comma added"),
        (r'{"a": "\d+ \_"}', {"a": r"\d+ \_"}, "a backslash before a character"),
        ('{}{"a": 1}', {"a": 1}, "text around it left out"),
        ('{"a": 1}{"a": 1}', {"a": 1}, "text around it left out"),
        ('\ufeff{"a": 1}', {"a": 1}, "text around it left out"),
    ],
)
def test_what_has_one_meaning_is_mended_and_said(text: str, value: Any, mended: str) -> None:
    read = read_json(text)
    assert read.value == value
    assert not mended or any(what.startswith(mended) for what in read.mended), read.mended


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{\n  "a": "say "hi" now"\n}', 'line 2, column 14: expected "," or "}", found \'hi'),
        ('{"a": {"b": 1}}, "c": 2}', "column 18: expected the end of the JSON"),
        ('{"a": 1}{"a": 2}', "expected one JSON value and nothing behind it"),
        ('{"a": "cut', 'column 11: expected " at the end of the text'),
        ('{"a": NaN}', "column 7: expected a value"),
        ('{"a": [1, 2}, "b": 3}', 'expected "," or "]"'),
        ('{"a": [{"b": 1], "c": 2}', 'expected "," or "}"'),
        ('{"p": [{"a": [1}, {"b": 2}]}', 'expected "," or "]"'),
        ('{"a": 01}', 'column 8: expected "," or "}"'),
        ("", "line 1, column 1: expected a JSON object, found the end of the text"),
        ("Just measure them.", "line 1, column 1: expected a JSON object, found 'Just"),
        ('{"a": ' + "9" * 5000 + "}", "expected a smaller number, of fewer digits"),
        ('{"a": 1e999}', "expected a smaller number, of fewer digits"),
        ('{"a":' * 5000, "expected at most 200 brackets"),
        ("[" * 300 + "]" * 300, "expected at most 200 brackets"),
        ('{"a": /* x', "expected */ at the end of the comment"),
    ],
)
def test_what_has_none_or_several_is_an_error_with_its_place(text: str, problem: str) -> None:
    with pytest.raises(JsonProblem) as caught:
        read_json(text)
    assert problem in str(caught.value)


def test_many_brackets_beside_one_another_are_read() -> None:
    value = [{"a": ']}[{\\"'}] * 300
    assert read_json(json.dumps(value)).value == value


def test_brackets_are_added_only_to_what_is_not_cut_off() -> None:
    with pytest.raises(JsonProblem, match="expected"):
        read_json('{"a": [1', whole=False)


def test_json_within_a_text_is_found_as_it_stands() -> None:
    text = 'One {"a": 1}, [a note](x), two [2], broken {"b": 1,} and {"c": {"d": []}}.'
    found = find_json(text)
    assert [text[each.start : each.end] for each in found] == [
        '{"a": 1}',
        "[2]",
        '{"c": {"d": []}}',
    ]


def test_values_behind_one_another_are_read_and_text_between_them_is_an_error() -> None:
    assert read_values('{"a": "} {"}\n;{"b": 2}') == [{"a": "} {"}, {"b": 2}]
    with pytest.raises(JsonProblem, match="JSON and nothing else"):
        read_values('{"a": 1} and {"b": 2}')


def steps(text: str) -> int:
    def read() -> None:
        with suppress(JsonProblem):
            read_json(text)

    return steps_of(read)


@pytest.mark.parametrize(
    "pump",
    [
        "[",
        "{",
        '{"a":',
        "[1,",
        '"',
        "\\",
        "/*",
        "//\n",
        "# \n",
        "{}",
        "[a]",
        "}{",
        "```",
        "{'",
        '{"a" ',
        ", ",
    ],
)
@pytest.mark.parametrize("before", ["", '{"a": "', '{"a": [1, '])
def test_reading_takes_steps_in_proportion_to_the_text(pump: str, before: str) -> None:
    short, long = steps(before + pump * 200), steps(before + pump * 800)
    assert long <= 4 * short + 4000
