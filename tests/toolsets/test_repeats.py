"""A model that makes the same call again and again is told so once, then has no tools any more."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.toolsets.policy import MOST_ALIKE, Repeats, repeats
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)


class Talk:
    """A conversation whose calls have the ids that are named, in turn; one is all calls' own."""

    def __init__(self, *ids: str) -> None:
        self.messages: list[ModelMessage] = [ModelRequest([UserPromptPart("?")])]
        self.ids = ids
        self.count = 0

    def next_id(self) -> str:
        self.count += 1
        return self.ids[self.count % len(self.ids)] if self.ids else f"c{self.count}"

    def answer(self, *calls: tuple[str, Any]) -> Repeats:
        parts: list[ToolCallPart] = []
        for name, arguments in calls:
            parts.append(ToolCallPart(name, arguments, tool_call_id=self.next_id()))
        self.messages.append(ModelResponse(parts or [TextPart("Done.")]))
        self._asked = parts
        return repeats(self.messages)

    def returns(self, *texts: str) -> None:
        self.messages.append(
            ModelRequest(
                [
                    ToolReturnPart(call.tool_name, text, tool_call_id=call.tool_call_id)
                    for call, text in zip(self._asked, texts, strict=True)
                ]
            )
        )


def test_the_third_call_alike_is_told_and_the_fourth_takes_the_tools_away() -> None:
    talk = Talk()
    advice: list[str] = []
    for _ in range(4):
        found = talk.answer(("look", {"city": "Rome", "days": 1}))
        advice.append(found.advice)
        talk.returns(found.text or "sunny")
    assert advice == ["go_on", "go_on", "tell", "take_away"]


def test_the_order_and_form_of_arguments_make_no_other_call() -> None:
    talk = Talk()
    for arguments in ({"a": 1, "b": 2}, '{"b": 2, "a": 1}'):
        assert talk.answer(("look", arguments)) == Repeats()
        talk.returns("x")
    assert talk.answer(("look", {"b": 2, "a": 1})) == Repeats("tell", (0,))


def test_calls_in_turns_are_found_as_well() -> None:
    talk = Talk()
    for name in ("a", "b", "a", "b"):
        assert talk.answer((name, {})).advice == "go_on"
        talk.returns(name)
    assert talk.answer(("a", {})).advice == "tell"


def test_a_tool_whose_results_change_may_be_asked_again() -> None:
    talk = Talk()
    for number in range(8):
        assert talk.answer(("wait", {})).advice == "go_on"
        talk.returns(f"{number} %")


def test_a_tool_whose_results_change_no_more_is_like_any_other() -> None:
    talk = Talk()
    for text in ("1 %", "done", "done"):
        assert talk.answer(("wait", {})).advice == "go_on"
        talk.returns(text)
    assert talk.answer(("wait", {})).advice == "tell"


def test_an_error_that_comes_again_is_a_result_that_is_the_same() -> None:
    talk = Talk()
    for _ in range(2):
        talk.answer(("look", {"city": 3}))
        talk.returns("city has to be a string")
    assert talk.answer(("look", {"city": 3})).advice == "tell"


def test_after_being_told_any_other_call_may_be_made() -> None:
    talk = Talk()
    for _ in range(3):
        talk.returns(talk.answer(("look", {})).text or "x")
    assert talk.answer(("look", {"at": "all"})).advice == "go_on"
    talk.returns("y")
    assert talk.answer(("look", {})).advice == "take_away"


def test_only_the_calls_that_repeat_are_named() -> None:
    talk = Talk()
    for _ in range(2):
        talk.answer(("look", {}))
        talk.returns("x")
    assert talk.answer(("look", {}), ("other", {})).calls == (0,)


def test_the_same_call_many_times_in_an_answer_is_seen() -> None:
    assert Talk().answer(*[("look", {})] * 4).calls == (2, 3)


@pytest.mark.parametrize("ids", [("call_0",), ("",), ("look",), ("a", "b")])
def test_ids_that_calls_have_in_common_say_nothing(ids: tuple[str, ...]) -> None:
    same, others = Talk(*ids), Talk(*ids)
    for number in range(4):
        found = others.answer(("look", {"at": number}), ("look", {"at": -number - 1}))
        assert found.advice == "go_on"
        others.returns("x", "x")
    for advice in ("go_on", "go_on", "tell", "take_away"):
        found = same.answer(("look", {}), ("news", {"of": advice}))
        assert (found.advice, found.calls) == (advice, (0,) if found.text else ())
        same.returns(found.text or "x", "y")


@pytest.mark.parametrize("calls", [0, 1])
def test_an_answer_without_repeats_has_no_text(calls: int) -> None:
    assert Talk().answer(*[("look", {})] * calls).text == ""


def test_a_conversation_without_an_answer_has_none_to_repeat() -> None:
    assert repeats([]) == Repeats()


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xy")), max_size=30))
def test_a_loop_ends_unless_its_calls_or_results_are_news(calls: list[tuple[str, str]]) -> None:
    """Two tools with fixed results can be asked so often, and no more."""
    talk = Talk()
    made = 0
    for name, argument in calls:
        found = talk.answer((name, {"at": argument}))
        if found.advice == "take_away":
            break
        made += 1
        talk.returns(found.text or name + argument)
    assert made <= 4 * (MOST_ALIKE - 1) + 1


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(["sunny", "rain"])), max_size=12))
def test_what_the_last_calls_came_to_changes_nothing(made: list[tuple[str, str]]) -> None:
    talk = Talk()
    for name, result in made:
        before = talk.answer((name, {}))
        talk.returns(before.text or result)
        assert repeats(talk.messages) == before


def test_a_call_whose_result_the_model_is_not_sent_any_more_may_be_made_again() -> None:
    talk = Talk()
    for _ in range(3):
        talk.answer(("look", {"city": "Rome"}))
        talk.returns("sunny")
    assert repeats(talk.messages).advice == "tell"
    assert repeats(talk.messages, {1, 2}).advice == "go_on"
    assert repeats(talk.messages, {7}).advice == "tell"
