"""JSON of people and models is read strictly and within bounds, or refused with its place."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.errors import InputError, PlanError
from prefect_swarm.flows.answer_type import answer_problem
from prefect_swarm.flows.batch_line import read_line
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.plan.task_ir import parse_plan
from prefect_swarm.toolsets.mcp.configuration import read_servers
from prefect_swarm.toolsets.mcp.written import parse_jsonc
from prefect_swarm.untrusted.json_text import NoJsonError, read_json

ATTACKS = {
    "brackets": ("[" * 100_000, 1, 101, "nested over 100 levels"),
    "brackets that are closed": ("[" * 101 + "]" * 101, 1, 101, "nested over 100 levels"),
    "objects": ('{"a":' * 5_000, 1, 501, "nested over 100 levels"),
    "digits": ('{"a":\n ' + "7" * 5_000 + "}", 2, 2, "thousands of digits"),
    "digits below zero": ("-" + "7" * 5_000, 1, 2, "thousands of digits"),
    "NaN": ('{"a": NaN}', 1, 7, r"\$\.a: NaN is not a number"),
    "Infinity": ("[1,\n-Infinity]", 2, 1, "-Infinity is not a number"),
    "a number that overflows": ("[1e999]", 1, 2, "not a number"),
    "a key twice": ('{"a": 1,\n "a": 2}', 2, 2, 'the key "a" is there twice'),
    "a key twice, escaped": (r'{"a": 1, "\u0061": 2}', 1, 10, 'the key "a" is there twice'),
    "half of a character": (r'{"a": "\ud800"}', 1, 7, "half of a character"),
    "half of a character in a key": (r'{"\udfff": 1}', 1, 2, "half of a character"),
    "NUL": ('{"a": \0}', 1, 7, "Expecting value"),
    "a control character in a text": ('["\x01"]', 1, 3, "control character"),
    "a mark at the beginning": ("\ufeff{}", 1, 1, "BOM"),
    "a comment": ('{"a": 1} // b', 1, 10, "Extra data"),
    "two documents": ("{}\n{}", 2, 1, "Extra data"),
    "a text without an end": ('{"a": "b', 1, 7, "Unterminated"),
    "nothing": ("", 1, 1, "Expecting value"),
}


@pytest.mark.parametrize(("text", "line", "column", "why"), ATTACKS.values(), ids=ATTACKS)
@pytest.mark.attack("parsers")
def test_what_is_no_strict_json_is_refused_with_its_place(
    text: str, line: int, column: int, why: str
) -> None:
    with pytest.raises(NoJsonError, match=why) as caught:
        read_json(text)
    assert (caught.value.line, caught.value.column) == (line, column)


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(st.characters(codec="utf-8")),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=3), inner),
    )
)
def test_what_json_writes_is_read(value: object) -> None:
    text = json.dumps(value)
    try:
        assert read_json(text) == value
    except NoJsonError as error:
        assert "half of a character" in str(error)  # noqa: PT017 - of texts that aren't Unicode
    assert read_json(text, halves=True) == value


STRICT = ["brackets", "digits", "NaN", "a number that overflows", "a key twice", "two documents"]


def plan(text: str) -> object:
    return parse_plan(text)


def line(text: str) -> object:
    return read_line(text.replace("\n", " "), SwarmOptions(model="demo"))


def servers(text: str) -> object:
    return read_servers(text, {}, "mcp.json")


@pytest.mark.parametrize("read", [plan, line, servers], ids=["plan", "line", "servers"])
@pytest.mark.parametrize("attack", STRICT)
@pytest.mark.attack("parsers")
def test_each_text_of_json_says_line_and_column(read: Callable[[str], object], attack: str) -> None:
    text, _, _, why = ATTACKS[attack]
    with pytest.raises(InputError, match=why) as caught:
        read(text)
    assert ", column " in caught.value.problem
    assert caught.value.fix


@pytest.mark.parametrize("attack", STRICT)
@pytest.mark.attack("parsers")
def test_an_answer_that_is_no_strict_json_does_not_fit(attack: str) -> None:
    assert "is not valid JSON" in answer_problem(ATTACKS[attack][0], {}, lambda _: "")


@pytest.mark.attack("parsers")
def test_a_server_that_is_reviewed_is_the_server_that_runs() -> None:
    text = '{"mcpServers": {"time": {"command": "mcp-server-time", "command": "sh"}}}'
    with pytest.raises(InputError, match='the key "command" is there twice'):
        read_servers(text, {}, "mcp.json")


def test_a_plan_with_half_of_a_character_is_read_without_it() -> None:
    with pytest.raises(PlanError, match="breaks a rule"):
        parse_plan(r'{"objective": "\ud800"}')


def seconds(read: Callable[[str], object], text: str) -> float:
    """The shortest of three times that reading a text takes."""

    def once() -> float:
        begun = time.process_time()
        with suppress(ValueError):
            read(text)
        return time.process_time() - begun

    return min(once() for _ in range(3))


GROWING: dict[str, Callable[[int], str]] = {
    "escapes without an end": lambda n: '"' + '\\"' * n,
    "texts without an end": lambda n: '"\n' * n,
    "comments without an end": lambda n: "/*" * n,
    "slashes": lambda n: "/" * n,
    "commas": lambda n: "[" + "1," * n + "]",
    "commas and blanks": lambda n: "[" + "1,  " * n + "]",
    "keys": lambda n: "{" + ",".join(f'"{i}": 1' for i in range(n)) + "}",
}


@pytest.mark.parametrize("read", [read_json, parse_jsonc], ids=["JSON", "with comments"])
@pytest.mark.parametrize("make", GROWING.values(), ids=GROWING)
@pytest.mark.attack("parsers")
def test_four_times_the_text_takes_no_more_than_some_four_times_as_long(
    read: Callable[[str], object], make: Callable[[int], str]
) -> None:
    assert seconds(read, make(8_000)) < 9 * seconds(read, make(2_000)) + 0.01
