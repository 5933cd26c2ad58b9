"""Text goes on at once, except for what may be a call."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.models.llama.tool_calls import HeldText, parse_answer

CALL = '{"name": "f", "arguments": {}}'


@pytest.mark.parametrize(
    ("pieces", "released"),
    [
        (["Hello", " you"], ["Hello", " you"]),
        (["I look. ", "<tool_call>", CALL], ["I look.", "", ""]),
        (["I look. <to", "ol_call>"], ["I look.", ""]),
        (["a <", " b"], ["a", " < b"]),
        ([CALL], [""]),
        (["Call:\n", "  {"], ["Call:", ""]),
        (["a {x} b"], ["a {x} b"]),
        (["[TOOL", "_CALLS]"], ["", ""]),
        (["Code: `", "``json"], ["Code:", ""]),
    ],
)
def test_text_is_let_through_until_a_call_may_begin(pieces: list[str], released: list[str]) -> None:
    held = HeldText()
    assert [held.add(piece) for piece in pieces] == released


@given(st.lists(st.sampled_from(["a", " ", "\n", "{", "<", "<tool_call>", CALL, "</tool_call>"])))
def test_all_of_an_answer_without_a_call_goes_on_in_the_end(pieces: list[str]) -> None:
    held = HeldText()
    released = "".join(held.add(piece) for piece in pieces)
    parsed = parse_answer("".join(pieces), ("f",))
    if not parsed.calls:
        assert released + held.rest(parsed) == "".join(pieces)
    else:
        assert (released + held.rest(parsed)).split() == parsed.text.split()
