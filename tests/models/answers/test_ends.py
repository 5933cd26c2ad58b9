"""Ends of answers, and broken ones that count anyway."""

from __future__ import annotations

import pytest
from prefect_swarm.models.answers.completion import ENDS, UNFINISHED, end_of, is_whole, read_end
from pydantic_ai.exceptions import ModelAPIError
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.tools import ToolDefinition

PLAIN = ModelRequestParameters()
TOOL = ToolDefinition(name="write_plan", parameters_json_schema={"type": "object"}, kind="output")
BY_TOOL = ModelRequestParameters(
    output_tools=[TOOL],
    output_object=OutputObjectDefinition(json_schema={"type": "object"}, name="plan"),
)


def answer(raw: str, *parts: TextPart | ToolCallPart) -> ModelResponse:
    details = {"finish_reason": raw}
    return ModelResponse([*parts], model_name="m", provider_details=details)


def test_no_reason_means_two_things() -> None:
    words = [word for each in ENDS.values() for word in each]
    assert len(words) == len(set(words))


@pytest.mark.parametrize(
    ("raw", "end"),
    [
        ("Guardrail-Intervened", "content_filter"),
        ("guardrails_block", "content_filter"),
        ("FINISH_REASON_MAX_TOKENS", "length"),
        ("max_tokens_exceeded", "length"),
        ("network_error", "error"),
        ("error_finish", "error"),
        ("contentFiltered", "content_filter"),
        ("ERROR_TOXIC", "content_filter"),
        ("flagged by moderation", "content_filter"),
        ("maxTokens", "length"),
        ("context_window_exceeded", "length"),
        ("maximum output tokens reached", "length"),
        ("upstream_error", "error"),
        ("malformed_tool_use", "error"),
        ("USER_CANCEL", "error"),
        ("interrupted", "error"),
        ("rate_limit", "error"),
        ("toolUse", "tool_call"),
        ("stopSequence", "stop"),
        ("EndOfText", "stop"),
        ("repetition", None),
        ("tolerance", None),
        ("", None),
        ("null_sink of", None),
    ],
)
def test_a_reason_is_read_in_any_writing(raw: str, end: str | None) -> None:
    assert end_of(raw) == end


@pytest.mark.parametrize(
    "raw", ["error", "failed", "network_error", "insufficient_system_resource"]
)
def test_an_answer_that_broke_off_is_an_error(raw: str) -> None:
    with pytest.raises(ModelAPIError, match=f"broke off: it ended with '{raw}'"):
        read_end(answer(raw, TextPart("Half of")), PLAIN)


def test_a_broken_plan_that_is_whole_counts() -> None:
    whole = answer("error", ToolCallPart("write_plan", '{"a": 1}'))
    assert read_end(whole, BY_TOOL).finish_reason == "stop"


@pytest.mark.parametrize(
    ("part", "whole"),
    [
        (ToolCallPart("write_plan", '{"a": 1}'), True),
        (ToolCallPart("write_plan", '{"a": '), False),
        (ToolCallPart("other", '{"a": 1}'), False),
        (TextPart('Here it is: ```json\n{"a": 1}\n```'), True),
        (TextPart('{"a": [1, 2'), False),
        (TextPart("[1]"), False),
    ],
)
def test_what_was_asked_for_is_whole_where_it_can_be_read(
    part: TextPart | ToolCallPart, *, whole: bool
) -> None:
    assert is_whole(answer("", part), BY_TOOL) is whole


def test_a_text_is_never_known_to_be_whole() -> None:
    unfinished = ModelResponse([TextPart('{"a": 1}')], provider_details={UNFINISHED: True})
    with pytest.raises(ModelAPIError, match="ended without saying why"):
        read_end(unfinished, PLAIN)


def test_a_filtered_answer_says_by_what() -> None:
    filtered = read_end(answer("recitation", TextPart("Half")), PLAIN)
    assert filtered.finish_reason == "content_filter"
    assert (filtered.provider_details or {})["refusal"] == "its answer was filtered (recitation)"
