"""The form that a refused request is sent in next, by the server's words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from prefect_swarm.models.answers.compatible import AS_IT_IS, RequestForm, next_form, shaped

SYSTEM = {"role": "system", "content": "You measure."}
USER = {"role": "user", "content": "How deep?"}
CALL = {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]}
RESULT = {"role": "tool", "content": "9", "tool_call_id": "1"}


def after(words: str, *chat: dict[str, Any], form: RequestForm = AS_IT_IS) -> RequestForm | None:
    return next_form(words, form, chat or (SYSTEM, USER), "max_completion_tokens")


@pytest.mark.parametrize(
    "words",
    [
        "System role not supported",
        "Unsupported value: 'messages[0].role' does not support 'system' with this model.",
        "Developer instruction is not enabled for models/gemma-3-27b-it",
        "messages.0.role: Input should be 'user' or 'assistant'",
        "Only user and assistant roles are supported!",
    ],
)
def test_without_a_system_role_the_user_gives_the_instructions(words: str) -> None:
    assert after(words) == replace(AS_IT_IS, system="user's")
    assert after(words, form=replace(AS_IT_IS, system="user's")) is None


@pytest.mark.parametrize(
    "words",
    [
        "System message must be at the beginning.",
        "Only one system message is allowed",
        "the role of message with even index in the messages must be user or function",
        "Conversation roles must alternate user/assistant/user/assistant/...",
        "After the optional system message, conversation roles must alternate user/assistant",
    ],
)
def test_roles_are_merged_first_where_that_changes_something(words: str) -> None:
    assert after(words, SYSTEM, SYSTEM, USER) == replace(AS_IT_IS, system="merged")
    assert after(words, SYSTEM, USER) == replace(AS_IT_IS, system="user's")
    merged = replace(AS_IT_IS, system="merged")
    assert after(words, SYSTEM, SYSTEM, USER, form=merged) == replace(AS_IT_IS, system="user's")


@pytest.mark.parametrize(
    ("words", "limit"),
    [
        ("Unrecognized request argument supplied: max_completion_tokens", "max_tokens"),
        ("body.max_completion_tokens: Extra inputs are not permitted", "max_tokens"),
        ("max_completion_tokens is too large: at most 8192", None),
        ("'max_tokens' is not supported. Use 'max_completion_tokens' instead.", None),
    ],
)
def test_the_bound_of_an_answer_has_the_name_that_the_server_knows(
    words: str, limit: str | None
) -> None:
    form = after(words)
    assert (form.limit if form else None) == limit


def test_the_newer_name_is_sent_where_the_older_one_is_refused() -> None:
    words = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    form = next_form(words, AS_IT_IS, (USER,), "max_tokens")
    assert form == replace(AS_IT_IS, limit="max_completion_tokens")


def test_fields_that_a_server_does_not_know_are_left_out() -> None:
    words = "'response_format.type' must be 'json_schema' or 'text'"
    assert after(words) == replace(AS_IT_IS, response_format=False)
    assert after("Unknown field: stream_options") == replace(AS_IT_IS, stream_options=False)


@pytest.mark.parametrize("words", ["Bad request", "model does not support tools", ""])
def test_what_is_about_nothing_known_has_no_other_form(words: str) -> None:
    assert after(words) is None


def test_calls_and_their_results_stay_apart() -> None:
    chat = [SYSTEM, USER, USER, CALL, RESULT, USER]
    merged = shaped(chat, replace(AS_IT_IS, system="user's"))
    assert [message["role"] for message in merged] == ["user", "assistant", "tool", "user"]
    assert merged[0]["content"] == "You measure.\n\nHow deep?\n\nHow deep?"


def test_a_picture_stays_behind_the_text_that_it_is_joined_to() -> None:
    picture = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}
    (joined,) = shaped([SYSTEM, picture], replace(AS_IT_IS, system="user's"))
    assert [part["type"] for part in joined["content"]] == ["text", "image_url"]
