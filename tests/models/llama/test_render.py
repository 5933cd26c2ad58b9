"""Templates that know tools are given them; others get words."""

from __future__ import annotations

from dataclasses import replace

import pytest
from prefect_swarm.errors import ModelError
from prefect_swarm.models.llama.api import LocalTool, LocalToolCall, Message
from prefect_swarm.models.llama.chat import ChatTemplate
from prefect_swarm.models.llama.tool_calls import style_of, without_tool_turns
from quoted_texts import without_marks

QWEN = """\
{%- if tools %}<|im_start|>system
# Tools
<tools>{% for tool in tools %}
{{ tool | tojson }}{% endfor %}
</tools>
For each call write <tool_call>{"name": <name>, "arguments": <args>}</tool_call><|im_end|>
{% endif -%}
{%- for m in messages %}
{%- if m.role == "tool" %}<|im_start|>user
<tool_response>
{{ m.content }}
</tool_response><|im_end|>
{% elif m.tool_calls %}<|im_start|>assistant
{% for call in m.tool_calls %}<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>{% endfor %}<|im_end|>
{% else %}<|im_start|>{{ m.role }}
{{ m.content }}<|im_end|>
{% endif -%}
{% endfor %}<|im_start|>assistant
"""
LLAMA = """\
{%- if tools is not none %}Respond with {"name": function name, "parameters": arguments}.
{% for t in tools %}{{ t | tojson(indent=4) }}
{% endfor %}{% endif -%}
{%- for m in messages %}{% if m.tool_calls %}{% if m.tool_calls | length != 1 %}\
{{ raise_exception("Only single calls") }}{% endif %}{"name": "{{ m.tool_calls[0].function.name }}"}
{% else %}{{ m.role }}: {{ m.content }}
{% endif %}{% endfor %}"""
MISTRAL = """\
{% if tools is not none %}[AVAILABLE_TOOLS]{{ tools | tojson }}[/AVAILABLE_TOOLS]{% endif %}\
{% for m in messages %}{% if m.tool_calls %}[TOOL_CALLS]{{ m.tool_calls | tojson }}\
{% else %}{{ m.content }}{% endif %}{% endfor %}"""
PLAIN = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
STRICT = (
    "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system') }}"
    "{% endif %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
)

TOOL = LocalTool("weather", "Of a city.", {"type": "object", "properties": {}})
CALL = LocalToolCall("weather", '{"city": "Rome"}', "c1")
TURNS = (
    Message("system", "Be brief."),
    Message("user", "Rome?"),
    Message("assistant", "", (CALL,)),
    Message("tool", "sunny", call_id="c1", name="weather"),
)


def render(template: str, *turns: Message, tools: tuple[LocalTool, ...] = ()) -> str:
    return ChatTemplate(template, bos="", eos="").render(turns, tools)


@pytest.mark.parametrize(
    ("template", "style"),
    [(QWEN, "tags"), (LLAMA, "parameters"), (MISTRAL, "list"), (PLAIN, "plain"), ("", "plain")],
)
def test_a_template_shows_how_its_model_writes_calls(template: str, style: str) -> None:
    assert style_of(template) == style


def test_a_template_that_knows_tools_is_given_them() -> None:
    text = render(QWEN, *TURNS, tools=(TOOL,))
    assert '<tools>{"type": "function", "function": {"name": "weather"' in text
    assert '<tool_call>\n{"name": "weather", "arguments": {"city": "Rome"}}\n</tool_call>' in text
    assert "<tool_response>\nsunny\n</tool_response>" in text


def test_without_tools_a_template_hears_of_none() -> None:
    assert "Tools" not in render(QWEN, *TURNS[:2])
    assert "Respond" not in render(LLAMA, *TURNS[:2])
    assert "AVAILABLE" not in render(MISTRAL, *TURNS[:2])


def test_what_a_template_of_tools_refuses_is_put_in_words() -> None:
    text = render(
        LLAMA, Message("user", "?"), Message("assistant", "", (CALL, CALL)), tools=(TOOL,)
    )
    assert text.count('{"name": "weather", "arguments": {"city": "Rome"}}') == 2
    assert "You can call tools" in text


@pytest.mark.parametrize("template", [PLAIN, STRICT])
def test_other_templates_get_words(template: str) -> None:
    text = render(template, *TURNS, tools=(TOOL,))
    assert '"name": "weather", "description": "Of a city."' in text
    assert "Be brief." in text
    assert 'assistant: {"name": "weather", "arguments": {"city": "Rome"}}' in text
    assert "user: Result of weather:\nsunny" in without_marks(text)


def test_a_refusal_that_words_do_not_help_is_an_error() -> None:
    with pytest.raises(ModelError, match="refuses"):
        render("{{ raise_exception('never') }}" + QWEN, Message("user", "a"), tools=(TOOL,))


def test_text_beside_a_call_is_kept_and_neighbours_are_merged() -> None:
    turns = without_tool_turns(
        [
            Message("assistant", "I look.", (CALL,)),
            Message("tool", "1", name="weather"),
            Message("tool", "2"),
            Message("user", "So?"),
        ]
    )
    assert [replace(turn, content=without_marks(turn.content)) for turn in turns] == [
        Message("assistant", 'I look.\n{"name": "weather", "arguments": {"city": "Rome"}}'),
        Message("user", "Result of weather:\n1\n\nResult of the tool:\n2\n\nSo?"),
    ]


def test_malformed_arguments_of_an_earlier_call_are_shown_as_they_are() -> None:
    broken = LocalToolCall("weather", '{"city": ')
    assert '{\\"city\\": ' in render(PLAIN, Message("assistant", "", (broken,)))
