"""Lines are cut from any chunks, and no line takes more memory than its bound."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.toolsets.mcp.lines import BoundedLines, TooLong, request_of

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
