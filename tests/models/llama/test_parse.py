"""Calls are found in what known models write, and nothing that is not a call is lost."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.models.llama.api import LocalToolCall
from prefect_swarm.models.llama.tool_calls import ParsedAnswer, parse_answer

NAMES = ("weather", "add")
ROME = LocalToolCall("weather", '{"city": "Rome"}')
ADD = LocalToolCall("add", '{"a": 1, "b": [2]}')
BARE = '{"name": "weather", "arguments": {"city": "Rome"}}'
OTHER = '{"name": "add", "arguments": {"a": 1, "b": [2]}}'


@pytest.mark.parametrize(
    ("text", "kept", "calls"),
    [
        # Hermes and Qwen
        (f"<tool_call>\n{BARE}\n</tool_call>", "", [ROME]),
        (f"<tool_call>{BARE}</tool_call>\n<tool_call>{OTHER}</tool_call>", "", [ROME, ADD]),
        (f"I look.\n<tool_call>\n{BARE}\n</tool_call>", "I look.", [ROME]),
        (f"<tool_call>{BARE}</tool_call> Done.", "Done.", [ROME]),
        (f"<tool_call>\n{BARE}", "", [ROME]),
        # Llama 3.1
        ('{"name": "weather", "parameters": {"city": "Rome"}}', "", [ROME]),
        ('<|python_tag|>{"name": "weather", "parameters": {"city": "Rome"}}', "", [ROME]),
        (f"{BARE}; {OTHER}", "", [ROME, ADD]),
        ('{"type": "function", "function": ' + BARE + "}", "", [ROME]),
        # Mistral
        (f"[TOOL_CALLS][{BARE}, {OTHER}]", "", [ROME, ADD]),
        (f"[TOOL_CALLS] [{BARE}]", "", [ROME]),
        (f"Yes. [TOOL_CALLS][{BARE}]", "Yes.", [ROME]),
        (f"[{BARE}]", "", [ROME]),
        # What our own instructions ask for
        (BARE, "", [ROME]),
        (f"\n {BARE}\n", "", [ROME]),
        (f"```json\n{BARE}\n```", "", [ROME]),
        (f"I call it:\n{BARE}\nand wait.", "I call it:\nand wait.", [ROME]),
        (f"{BARE}\nThat is it.", "That is it.", [ROME]),
        ('{"name": "weather", "arguments": "{\\"city\\": \\"Rome\\"}"}', "", [ROME]),
        ('{"name": "add"}', "", [LocalToolCall("add", "{}")]),
    ],
)
def test_calls_are_taken_out(text: str, kept: str, calls: list[LocalToolCall]) -> None:
    assert parse_answer(text, NAMES) == ParsedAnswer(kept, tuple(calls))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "No tool is needed.",
        '{"name": "unknown", "arguments": {}}',
        '{"name": "Rome", "population": 3}',
        '{"name": "weather", "population": 3}',
        '{"city": "Rome"}',
        f"In a sentence {BARE} is not a call.",
        "[1, 2]",
        "{",
        "<tool_call>nothing</tool_call>",
        "[TOOL_CALLS]nothing",
        "```json\n{}\n```",
    ],
)
def test_what_is_no_call_stays_text(text: str) -> None:
    assert parse_answer(text, NAMES) == ParsedAnswer(text)


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ('<tool_call>{"name": "add", "arguments": {"a": 1,}}</tool_call>', '{"a": 1,}}'),
        ('<tool_call>{"name": "add", "arguments": {"a": </tool_call>', '{"a":'),
        ('[TOOL_CALLS][{"name": "add", "arguments": {"a": ', '{"a":'),
        ('<tool_call>{"name": "add", oops}</tool_call>', '{"name": "add", oops}'),
    ],
)
def test_a_marked_call_that_is_malformed_keeps_its_arguments(text: str, arguments: str) -> None:
    assert parse_answer(text, NAMES).calls == (LocalToolCall("add", arguments),)


def test_a_marked_call_may_name_what_is_not_known() -> None:
    text = '<tool_call>{"name": "other", "arguments": {}}</tool_call>'
    assert parse_answer(text, NAMES).calls == (LocalToolCall("other", "{}"),)


def test_without_tools_everything_is_text() -> None:
    assert parse_answer(BARE, ()) == ParsedAnswer(BARE)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=6,
)
ARGUMENTS = st.dictionaries(st.text(), JSON)


@given(ARGUMENTS, st.sampled_from(["{}", "<tool_call>{}</tool_call>", "[TOOL_CALLS][{}]", "[{}]"]))
def test_any_arguments_come_back(arguments: dict[str, object], form: str) -> None:
    written = json.dumps({"name": "add", "arguments": arguments}, ensure_ascii=False)
    if "</tool_call>" in written:
        return
    (call,) = parse_answer(form.replace("{}", written), NAMES).calls
    assert json.loads(call.arguments) == arguments


@given(st.text(alphabet='{}[]<>"name:tol_c/\n `', max_size=60))
def test_any_text_can_be_read(text: str) -> None:
    found = parse_answer(text, NAMES)
    assert found.calls or found.text == text
