"""Reasoning is taken off the front of a text; what is about it stays."""

from __future__ import annotations

import pytest
from counted_steps import steps_of
from prefect_swarm.models.answers.call_ids import without_foreign_reasoning
from prefect_swarm.models.answers.reasoning import split_reasoning, take_reasoning
from prefect_swarm.models.answers.usage import REASONED, note
from pydantic_ai.messages import (
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters

ASKED = ModelRequestParameters()
FORMS = [
    "<think>Hm.</think>\n\nIt is 9 m deep.",
    "\n<think>\nHm.\n</think>It is 9 m deep.",
    "<Thinking>Hm.</thinking> It is 9 m deep.",
    "<thought>Hm.</thought>It is 9 m deep.",
    "<reasoning>Hm.</reasoning>\nIt is 9 m deep.",
    "<analysis>Hm.</analysis>\nIt is 9 m deep.",
    '<think time="3">Hm.</think>It is 9 m deep.',
    "<seed:think>Hm.</seed:think>It is 9 m deep.",
    "◁think▷Hm.◁/think▷It is 9 m deep.",
    "[THINK]Hm.[/THINK]It is 9 m deep.",
    "<|channel>thought\nHm.<channel|>It is 9 m deep.",
    "<|START_THINKING|>Hm.<|END_THINKING|><|START_RESPONSE|>It is 9 m deep.<|END_RESPONSE|>",
    "Here is my thought process:\nHm.\nHere is my response:\nIt is 9 m deep.",
    "<inner_thoughts>Hm.</inner_thoughts>It is 9 m deep.",
    "<chain_of_thought>Hm.</chain_of_thought>It is 9 m deep.",
    "<thinking_process>Hm.</thinking_process>It is 9 m deep.",
    "<|think_start|>Hm.<|think_end|>It is 9 m deep.",
    "<｜begin▁of▁thinking｜>Hm.<｜end▁of▁thinking｜>It is 9 m deep.",
    "[REASONING]Hm.[/REASONING]It is 9 m deep.",
    "<think>Hm.</think><answer>It is 9 m deep.</answer>",
    "Hm.\n</think>\n\nIt is 9 m deep.",
    "Hm.</think>\n\nIt is 9 m deep.",
    "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>"
    "It is 9 m deep.<|return|>",
    "<|start|>assistant<|channel|>analysis<|message|>Hm.<|end|>"
    "<|channel|>final <|constrain|>text<|message|>It is 9 m deep.",
    "analysisHm.assistantfinalIt is 9 m deep.",
]


@pytest.mark.parametrize("text", FORMS)
def test_reasoning_is_taken_off_the_front(text: str) -> None:
    found = split_reasoning(text)
    assert (found.text, found.reasoning) == ("It is 9 m deep.", "Hm.")
    assert found.mark


def test_several_blocks_of_reasoning_are_taken_off() -> None:
    found = split_reasoning("<think>a</think>\n<think>b</think>c")
    assert (found.text, found.reasoning) == ("c", "a\n\nb")


def test_a_block_may_have_its_own_mark_in_it() -> None:
    found = split_reasoning("<think>\nThe mark `</think>` ends it.\n</think>\nIt is 9 m deep.")
    assert found.text == "It is 9 m deep."


@pytest.mark.parametrize("text", ["</think>\n\n9 m", "<think>\n\n</think>\n\n9 m"])
def test_reasoning_may_be_empty(text: str) -> None:
    assert (split_reasoning(text).text, split_reasoning(text).reasoning) == ("9 m", "")


@pytest.mark.parametrize(
    "text",
    [
        "<think>Hm",
        "<think>",
        "[THINK]Hm. {",
        "<|channel|>analysis<|message|>Hm",
        "<think>Hm.</think>",
        "<think>a</think><think>b",
    ],
)
def test_what_was_cut_off_while_it_reasoned_has_no_answer(text: str) -> None:
    assert split_reasoning(text).text == ""


@pytest.mark.parametrize(
    "text",
    [
        "Models write <think>…</think> before they answer.",
        "The block ends with </think>.",
        "The block ends with `</think>`\n\nand the answer follows.",
        "The block begins with <think>\nand ends with\n</think>\nThen it goes on.",
        "```xml\n<think>Hm.</think>\n```",
        "```\n</think>\n```\nThis closes it.",
        "<analysis>The whole document is one element.</analysis>",
        "analysis of the harbour: 9 m",
        "Use <|channel|>final<|message|> for the answer.",
        "<thinker>x</thinker>",
    ],
)
def test_a_text_about_such_marks_stays_as_it_is(text: str) -> None:
    found = split_reasoning(text)
    assert (found.text, found.mark) == (text, "")


def test_reasoning_becomes_a_part_of_its_own_and_a_note() -> None:
    answer = ModelResponse([TextPart("<think>Hm.</think>9 m")], provider_name="openai")
    found = take_reasoning(answer, ASKED)
    assert [type(part) for part in found.parts] == [ThinkingPart, TextPart]
    assert (found.text, found.thinking) == ("9 m", "Hm.")
    assert note(found, REASONED) == "<think>"


def test_what_a_client_took_for_reasoning_amid_a_text_is_text_again() -> None:
    thinking = ThinkingPart("x", id="content", provider_name="openai")
    parts = [TextPart("Write "), thinking, TextPart(" first.")]
    found = take_reasoning(ModelResponse(parts), ASKED)
    assert found.text == "Write <think>x</think> first."
    assert note(found, REASONED) == ""


def test_an_answer_without_reasoning_is_the_same() -> None:
    answer = ModelResponse([ThinkingPart("Hm."), TextPart("9 m")])
    assert take_reasoning(answer, ASKED) is answer


def test_only_reasoning_that_its_provider_has_a_field_for_is_sent_back() -> None:
    own = ThinkingPart("a", id="reasoning_content", provider_name="openai")
    of_text = ThinkingPart("b", id="content", provider_name="openai")
    others = ThinkingPart("c", id="reasoning_content", provider_name="deepseek")
    call = ToolCallPart("search", {})
    messages = [ModelRequest([UserPromptPart("?")]), ModelResponse([own, of_text, others, call])]
    sent = without_foreign_reasoning(messages, "openai")
    assert sent[0] is messages[0]
    assert list(sent[1].parts) == [own, call]


@pytest.mark.parametrize(
    "pump", ["<think>", "</think>", "<think></think>", "```", "<|channel|>a<|message|>", "<", "`\n"]
)
def test_taking_it_off_takes_steps_in_proportion_to_the_text(pump: str) -> None:
    def steps(count: int) -> int:
        return steps_of(lambda: split_reasoning(pump * count))

    assert steps(2000) <= 4 * steps(500) + 500
