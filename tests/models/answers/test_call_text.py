"""A call that is written as text is made a call, or it is said why it can't be."""

from __future__ import annotations

import pytest
from counted_steps import steps_of
from prefect_swarm.models.answers.call_text import read_call_text
from prefect_swarm.models.answers.stream import read_response
from prefect_swarm.models.answers.usage import MENDED, UNMADE_CALL, note
from pydantic_ai.messages import FinishReason, ModelResponse, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

SEARCH = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
TOOLS = [
    ToolDefinition(name="search", parameters_json_schema=SEARCH),
    ToolDefinition(name="list_files", parameters_json_schema={"type": "object", "properties": {}}),
]
ASKED = ModelRequestParameters(function_tools=TOOLS)
NAMES = [tool.name for tool in TOOLS]

FORMS = [
    '<tool_call>\n{"name": "search", "arguments": {"q": "x"}}\n</tool_call>',
    '<tool_call>{"name": "search", "arguments": {"q": "x",}}',
    "<tool_call>\n<function=search>\n<parameter=q>\nx\n</parameter>\n</function>\n</tool_call>",
    '<function=search>{"q": "x"}</function>',
    "<tool_call>search\n<arg_key>q</arg_key>\n<arg_value>x</arg_value>\n</tool_call>",
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>search\n```json\n"
    '{"q": "x"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>search<｜tool▁sep｜>"
    '{"q": "x"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.search:0"
    '<|tool_call_argument_begin|>{"q": "x"}<|tool_call_end|><|tool_calls_section_end|>',
    '[TOOL_CALLS][{"name": "search", "arguments": {"q": "x"}}]',
    '[TOOL_CALLS]search[ARGS]{"q": "x"}',
    '<|python_tag|>{"name": "search", "parameters": {"q": "x"}}',
    '<|python_tag|>search.call(q="x")',
    '<|channel|>commentary to=functions.search <|constrain|>json<|message|>{"q": "x"}<|call|>',
    'commentary to=functions.search json{"q": "x"}',
    '<invoke name="search"><parameter name="q">x</parameter></invoke>',
    '<function_calls>\n<invoke name="search">\n<parameter name="q">x</parameter>\n</invoke>\n'
    "</function_calls>",
    '<minimax:tool_call><invoke name="search"><parameter name="q">x</parameter></invoke>'
    "</minimax:tool_call>",
    '<｜DSML｜function_calls><｜DSML｜invoke name="search">'
    '<｜DSML｜parameter name="q" string="true">x'
    "</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜function_calls>",
    '<|tool_call>call:search{q:<|"|>x<|"|>}<tool_call|>',
    '<|tool_call|>[{"name": "search", "arguments": {"q": "x"}}]',
    'functools[{"name": "search", "arguments": {"q": "x"}}]',
    '<tool_use><name>search</name><arguments>{"q": "x"}</arguments></tool_use>',
    '<|START_ACTION|>[{"tool_name": "search", "parameters": {"q": "x"}}]<|END_ACTION|>',
    '```tool_code\nprint(default_api.search(q="x"))\n```',
    '[search(q="x")]',
    '{"name": "search", "arguments": {"q": "x"}}',
    '{"name": "search", "arguments": {"q": "x"}}\n</tool_call>',
    '```json\n{"name": "functions.search", "arguments": "{\\"q\\": \\"x\\"}"}\n```',
    '{"type": "function", "function": {"name": "search", "arguments": {"q": "x"}}}',
    '{"tool_calls": [{"function": {"name": "search", "arguments": {"q": "x"}}}]}',
    '{"tool_uses": [{"recipient_name": "functions.search", "parameters": {"q": "x"}}]}',
    '[TOOL_CALLS]search[CALL_ID]a1b2[ARGS]{"q": "x"}',
    '<|tool_call_start|>[search(q="x")]<|tool_call_end|>',
    '<|function_call|>{"name": "search", "arguments": {"q": "x"}}',
    '<functioncall>{"name": "search", "arguments": {"q": "x"}}</functioncall>',
    '<|action_start|><|plugin|>{"name": "search", "parameters": {"q": "x"}}<|action_end|>',
    '<tool_call name="search">{"q": "x"}</tool_call>',
    '<tool name="search">{"q": "x"}</tool>',
    "<search>\n<q>x</q>\n</search>",
    '<search>{"q": "x"}</search>',
    'Action: search\nAction Input: {"q": "x"}',
    '<think>I will look.</think><tool_call>{"name": "Search", "arguments": {"Q": "x"}}</tool_call>',
]


def read(text: str, reason: FinishReason = "stop") -> ModelResponse:
    return read_response(ModelResponse([TextPart(text)], finish_reason=reason), ASKED)


@pytest.mark.parametrize("text", FORMS)
def test_a_call_as_text_is_made_a_call(text: str) -> None:
    answer = read(text)
    (call,) = answer.tool_calls
    assert (call.tool_name, call.args_as_dict()) == ("search", {"q": "x"})
    assert (answer.text, answer.finish_reason) == (None, "tool_call")
    assert "called in a text" in note(answer, MENDED)


def test_several_calls_are_made_in_their_order() -> None:
    form = '<tool_call>{"name": "search", "arguments": {"q": "%s"}}</tool_call>'
    answer = read(f"{form % 'a'}\n{form % 'b'}<tool_call>list_files</tool_call>")
    assert [call.args_as_dict() for call in answer.tool_calls] == [{"q": "a"}, {"q": "b"}, {}]


def test_reasoning_before_a_call_stays_reasoning() -> None:
    answer = read(FORMS[-1])
    assert [type(part) for part in answer.parts] == [ThinkingPart, ToolCallPart]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('<tool_call>{"name": "delete", "arguments": {}}</tool_call>', "it calls 'delete'"),
        ('<invoke name="delete"></invoke>', "it calls 'delete'"),
        (
            '<tool_call>{"name": "search", "arguments": {"q": "a "b" c"}}</tool_call>',
            "can't be read",
        ),
        ('[TOOL_CALL]\n{tool => "search"}\n[/TOOL_CALL]', "can't be read"),
        ("<function=search><parameter=q>x", "can't be read"),
        ('<|channel|>commentary to=functions.search<|message|>{"q": <|call|>', "can't be read"),
        (f"I will look.\n{FORMS[0]}", "the call of search stands behind other text"),
        (f"{FORMS[0]}\nIt is 9 m deep.", "can't be read"),
        (f"{FORMS[0]}{FORMS[0].replace('search', 'delete')}", "it calls 'delete'"),
    ],
)
def test_what_is_written_as_a_call_and_can_not_be_made_has_a_note(text: str, why: str) -> None:
    answer = read(text)
    assert answer.tool_calls == []
    assert why in note(answer, UNMADE_CALL)


@pytest.mark.parametrize(
    "text",
    [
        "It is 9 m deep.",
        '{"name": "Ann", "arguments": {"q": "x"}}',
        '{"name": "search", "arguments": {"title": "x"}}',
        '{"name": "search", "depth": 9}',
        '{"name": "list_files"}',
        "Hermes models write `<tool_call>` before a call.",
        "An example:\n```\n" + FORMS[0] + "\n```\nIt names a tool.",
        "<tools><tool>hammer</tool></tools>",
        "print(search)",
        "See also [search](x)",
        '```json\n{"a": 1}\n```',
        "search",
    ],
)
def test_what_is_no_call_stays_a_text(text: str) -> None:
    answer = read(text)
    assert (answer.text, answer.metadata) == (text, None)


def test_without_tools_a_text_is_a_text() -> None:
    answer = ModelResponse([TextPart(FORMS[0])])
    assert read_response(answer, ModelRequestParameters()) == answer


def test_a_call_that_was_cut_off_is_not_made() -> None:
    assert read(FORMS[1], "length").tool_calls == []


def test_a_text_beside_real_calls_stays_as_it_is() -> None:
    parts = [TextPart(FORMS[0]), ToolCallPart("list_files", "{}")]
    assert len(read_response(ModelResponse(parts), ASKED).tool_calls) == 1


@pytest.mark.parametrize(
    "pump",
    [
        "<tool_call>",
        "<tool_call>{",
        "<function=search>",
        "<function=search></function>",
        "<function=search><parameter=q>",
        "<tool_call>search<arg_key>q</arg_key><arg_value>",
        "[TOOL_CALLS]",
        '{"name": "search", "arguments": {}}',
        "search(" * 3,
        "<invoke name=",
        "<｜tool▁sep｜>",
        "<|channel|>commentary to=x<|message|>",
    ],
)
def test_reading_takes_steps_in_proportion_to_the_text(pump: str) -> None:
    def steps(count: int) -> int:
        return steps_of(lambda: read_call_text(pump * count, NAMES))

    assert steps(800) <= 4 * steps(200) + 4000
