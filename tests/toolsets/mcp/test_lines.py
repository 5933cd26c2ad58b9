"""Lines are cut from any chunks, and no line takes more memory than its bound."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.toolsets.mcp.process import (
    BoundedLines,
    TooLong,
    WholeText,
    request_of,
    with_whole_characters,
)

MOST = 300


def lines_of(chunks: list[bytes]) -> list[bytes | TooLong]:
    lines = BoundedLines(MOST)
    return [line for chunk in chunks for line in lines.feed(chunk)]


LINE = st.binary(max_size=900).map(lambda line: line.replace(b"\n", b" "))


@given(st.lists(LINE), st.integers(1, 500))
def test_chunks_of_any_size_give_the_lines_that_were_written(lines: list[bytes], size: int) -> None:
    text = b"".join(line + b"\n" for line in lines)
    found = lines_of([text[at : at + size] for at in range(0, len(text), size)])
    assert found == [
        line if len(line) <= MOST else TooLong(line[:200], line[-200:], len(line)) for line in lines
    ]


def test_a_line_without_its_end_is_not_given() -> None:
    assert lines_of([b"whole\npa"]) == [b"whole"]


@pytest.mark.parametrize("first", [True, False])
def test_the_request_that_a_long_line_answers_is_found_at_either_end(*, first: bool) -> None:
    result = {"result": {"content": ['{"jsonrpc": "2.0", "id": 8,' * 100]}}
    version = {"jsonrpc": "2.0"}
    message = {**version, "id": 7, **result} if first else {**result, **version, "id": 7}
    [line] = lines_of([json.dumps(message).encode() + b"\n"])
    assert isinstance(line, TooLong)
    assert request_of(line) == 7


def test_a_long_line_of_something_else_answers_nothing() -> None:
    [line] = lines_of([b"." * 1000 + b"\n"])
    assert isinstance(line, TooLong)
    assert (line.size, request_of(line)) == (1000, None)


@pytest.mark.parametrize(
    ("line", "whole"),
    [
        (rb'{"a": "\ud83d"}', "\ufffd"),
        (rb'{"a": "\uDE00\ud83d"}', "\ufffd\ufffd"),
        (rb'{"a": "\ud83d\ud83d\ude00"}', "\ufffd\U0001f600"),
        (rb'{"a": "\\ud83d"}', "\\ud83d"),
        (rb'{"a": "\\\ud83d"}', "\\\ufffd"),
        (rb'{"a": "\n\u00e9"}', "\n\u00e9"),
        (b'{"a": "\xff\xc3\xa9"}', "\ufffd\u00e9"),
    ],
)
def test_half_a_character_in_json_is_made_one(line: bytes, whole: str) -> None:
    assert json.loads(with_whole_characters(line)) == {"a": whole}


ESCAPES = st.lists(
    st.sampled_from([r"\ud83d", r"\ude00", r"\u00e9", "\\\\", r"\n", "x", "\u00e9", "ud83d"])
).map(lambda parts: f'{{"a": "{"".join(parts)}"}}'.encode())


@given(ESCAPES, st.integers(1, 9))
def test_chunks_of_any_size_are_made_whole_alike(line: bytes, size: int) -> None:
    text = WholeText()
    parts = [text.feed(line[at : at + size]) for at in range(0, len(line), size)]
    whole = b"".join([*parts, text.feed(b"", final=True)])
    assert whole == with_whole_characters(line)
    json.loads(whole)["a"].encode()


def test_an_escape_that_is_whole_is_not_held_back() -> None:
    event = rb'data: {"a": "x\n"}' + b"\n\n"
    assert WholeText().feed(event) == event
