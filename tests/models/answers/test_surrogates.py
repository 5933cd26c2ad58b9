"""Half a character in an answer is U+FFFD before anything stores it."""

from __future__ import annotations

from prefect_swarm.models.answers.stream import read_response
from pydantic_ai.messages import (
    ModelMessagesTypeAdapter,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

HALF = "\ud83d"
ASKED = ModelRequestParameters(function_tools=[ToolDefinition(name="look")])


def test_every_text_of_an_answer_can_be_stored() -> None:
    answer = ModelResponse(
        [
            ThinkingPart(f"a{HALF}"),
            TextPart(f"b{HALF}"),
            ToolCallPart("look", f'{{"q": "{HALF}"}}', f"call{HALF}"),
            ToolCallPart("look", {"q": [HALF, {HALF: HALF}]}),
            ToolCallPart("look", '{"q": "\\ud83d"}'),
            ToolCallPart("other", "{}"),
        ],
        model_name=f"m{HALF}",
        provider_details={"refusal": HALF},
    )
    read = read_response(answer, ASKED)
    ModelMessagesTypeAdapter.dump_json([read])
    first, second, third, _ = read.tool_calls
    assert (read.text, read.thinking) == ("b\ufffd", "a\ufffd")
    assert first.args_as_dict() == {"q": "\ufffd"}
    assert second.args == {"q": ["\ufffd", {"\ufffd": "\ufffd"}]}
    assert third.args_as_dict() == {"q": "\ufffd"}


def test_two_halves_are_one_character() -> None:
    read = read_response(ModelResponse([TextPart("\ud83d\ude00")]), ASKED)
    assert read.text == "😀"


def test_a_whole_answer_is_the_same() -> None:
    answer = ModelResponse([TextPart("é 😀"), ToolCallPart("look", '{"q": "😀"}')])
    assert read_response(answer, ASKED) == answer
