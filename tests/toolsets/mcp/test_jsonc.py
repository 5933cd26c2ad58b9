"""JSON with comments and trailing commas says what it says without them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.toolsets.mcp.written import parse_jsonc

TEXT = st.text() | st.sampled_from(["// a", "/* b */", ",}", '"', "\\", "x,]", "https://x.org"])
DATA = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner),
)


@given(DATA, st.sampled_from([None, 2]))
def test_plain_json_stays_what_it_is(data: Any, indent: int | None) -> None:
    assert parse_jsonc(json.dumps(data, indent=indent)) == data
    assert parse_jsonc(json.dumps(data, indent=indent, ensure_ascii=False)) == data


@given(DATA)
def test_comments_and_trailing_commas_change_nothing(data: Any) -> None:
    lines = json.dumps({"data": data, "end": []}, indent=1).splitlines()
    closing = ("}", "]", "},", "],")
    written = [
        f"{line}, // a, }}"
        if after.strip() in closing and line.strip()[-1:] not in "{[,:"
        else line
        for line, after in zip(lines, [*lines[1:], ""], strict=True)
    ]
    assert parse_jsonc("\n/* all, of ] it */\n".join(written)) == {"data": data, "end": []}


def test_what_is_wrong_is_named_with_its_line() -> None:
    with pytest.raises(ValueError, match="line 3, column 4"):
        parse_jsonc('{ // a comment\n "a": 1 /* and\n*/ "b": 2}')


@pytest.mark.parametrize("text", ["", "[1,,]", '{"a": 1 "b": 2}', "/* open", '"open'])
def test_other_faults_are_faults(text: str) -> None:
    with pytest.raises(ValueError, match="line 1"):
        parse_jsonc(text)
