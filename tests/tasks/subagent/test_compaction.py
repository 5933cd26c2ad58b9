"""What is left out of a long conversation: decided from its messages, and from nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.tasks.subagent.compaction import (
    GOAL,
    LAST,
    decide,
    room_in,
    shown,
    summary_prompt,
    summary_tokens,
    tokens_in,
    with_summary,
)
from prefect_swarm.text import tokens_of
from prefect_swarm.toolsets.journal import LeftOut
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

_TASK = "Find the price of tea."
_NAME = "S1.1"
_PICTURE = BinaryContent(b"\x89PNG\r\n\x1a\n" + bytes(24), media_type="image/png")

Exchange = tuple[str, tuple[str, ...]]
"""What an answer says beside its calls, and what each of them gave."""


def conversation(exchanges: Sequence[Exchange], task: str = _TASK) -> list[ModelMessage]:
    messages: list[ModelMessage] = [ModelRequest([UserPromptPart(task)], instructions="Look.")]
    for number, (text, results) in enumerate(exchanges):
        names = [f"c{number:04x}{position:04x}" for position in range(len(results))]
        calls = [ToolCallPart("read", {"page": number}, tool_call_id=name) for name in names]
        messages.append(ModelResponse([ThinkingPart("Hm."), TextPart(text), *calls]))
        returned = [
            ToolReturnPart("read", result, tool_call_id=name)
            for name, result in zip(names, results, strict=True)
        ]
        messages.append(ModelRequest(returned, instructions="Look."))
    return messages


def _repeated(word: str, times: int) -> str:
    return word * times


_WORDS = st.sampled_from(["tea ", "茶 ", "é! "])
_TEXTS = st.builds(_repeated, _WORDS, st.integers(0, 400))
_EXCHANGES = st.lists(
    st.tuples(_TEXTS, st.lists(_TEXTS, min_size=1, max_size=3).map(tuple)), min_size=1, max_size=12
)
_ROOMS = st.integers(-50, 6000)


_NOTHING = LeftOut()


def left_out_of(messages: list[ModelMessage], room: int, before: LeftOut = _NOTHING) -> LeftOut:
    """What the rule leaves out, where each summary that it asks for is as long as it may be."""
    plan = decide(messages, before, room, _NAME)
    if not plan.summarise:
        return plan.left_out
    return with_summary(messages, plan, "word " * 4 * summary_tokens(room), room)


def pairs_of(messages: Sequence[ModelMessage]) -> list[tuple[list[str], list[str]]]:
    """The calls of each answer, and the results that follow it."""
    found: list[tuple[list[str], list[str]]] = []
    for message in messages:
        if isinstance(message, ModelResponse):
            found.append(([call.tool_call_id for call in message.tool_calls], []))
        elif found:
            found[-1][1].extend(
                part.tool_call_id for part in message.parts if isinstance(part, ToolReturnPart)
            )
    return found


def contents(messages: Sequence[ModelMessage]) -> list[str]:
    return [
        str(part.content)
        for message in messages
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    ]


@given(_EXCHANGES, _ROOMS)
def test_a_call_is_never_without_its_result(exchanges: list[Exchange], room: int) -> None:
    messages = conversation(exchanges)
    sent = shown(messages, left_out_of(messages, room), _NAME)
    assert all(calls == results for calls, results in pairs_of(sent))
    # And what is sent is the end of what there is.
    pairs = pairs_of(messages)
    assert pairs[len(pairs) - len(pairs_of(sent)) :] == pairs_of(sent)


@given(_EXCHANGES, _ROOMS)
def test_the_task_stays_at_the_beginning(exchanges: list[Exchange], room: int) -> None:
    messages = conversation(exchanges)
    first, *rest = shown(messages, left_out_of(messages, room), _NAME)
    assert isinstance(first, ModelRequest)
    (part,) = first.parts
    assert isinstance(part, UserPromptPart)
    assert str(part.content).startswith(_TASK)
    assert isinstance(rest[0], ModelResponse)


@given(_EXCHANGES, _ROOMS)
def test_what_is_sent_never_grows(exchanges: list[Exchange], room: int) -> None:
    messages = conversation(exchanges)
    sent = shown(messages, left_out_of(messages, room), _NAME)
    assert tokens_in(sent) <= tokens_in(messages)


@given(_EXCHANGES, _ROOMS)
def test_what_is_left_out_once_is_left_out_the_same_again(
    exchanges: list[Exchange], room: int
) -> None:
    messages = conversation(exchanges)
    once = left_out_of(messages, room)
    assert left_out_of(messages, room) == once
    assert left_out_of(messages, room, once) == once


@given(_EXCHANGES, _ROOMS)
def test_answers_that_are_sent_are_as_they_were_written(
    exchanges: list[Exchange], room: int
) -> None:
    messages = conversation(exchanges)
    answers = [each for each in messages if isinstance(each, ModelResponse)]
    sent = shown(messages, left_out_of(messages, room), _NAME)
    kept = [each for each in sent if isinstance(each, ModelResponse)]
    assert kept == answers[len(answers) - len(kept) :]
    assert len(kept) >= min(LAST, len(answers))


@given(_EXCHANGES, _ROOMS, st.integers(1, 12))
def test_what_was_left_out_stays_left_out_as_the_conversation_goes_on(
    exchanges: list[Exchange], room: int, at: int
) -> None:
    early, messages = conversation(exchanges[:at]), conversation(exchanges)
    before = left_out_of(early, room)
    after = left_out_of(messages, room, before)
    assert before.unseen <= after.unseen
    assert before.exchanges <= after.exchanges
    sent = shown(messages, after, _NAME)
    assert tokens_in(sent) <= tokens_in(shown(messages, before, _NAME))
    assert all(calls == results for calls, results in pairs_of(sent))


@given(st.integers(1, 2_000_000), st.none() | st.integers(1, 2_000_000))
def test_an_answer_has_room_in_every_context(context: int, most: int | None) -> None:
    assert context // 2 <= room_in(context, most) <= context


def test_what_fits_is_left_as_it_is() -> None:
    messages = conversation([("", ("tea " * 100,))] * 8)
    assert decide(messages, LeftOut(), tokens_in(messages), _NAME).left_out == LeftOut()
    assert shown(messages, LeftOut(), _NAME) == messages


def test_the_oldest_results_go_first_until_there_is_room_for_several_more() -> None:
    messages = conversation([("", ("tea " * 200,))] * 10)
    room = tokens_in(messages) - 1
    left_out = decide(messages, LeftOut(), room, _NAME).left_out
    gone = sorted(left_out.unseen)
    assert gone == list(range(1, len(gone) + 1))
    size = tokens_in(shown(messages, left_out, _NAME))
    assert int(room * GOAL) - 300 <= size <= int(room * GOAL)


def test_a_result_shorter_than_its_line_stays() -> None:
    messages = conversation([("", ("3",)), *[("", ("tea " * 400,))] * 6])
    left_out = decide(messages, LeftOut(), tokens_in(messages) - 1, _NAME).left_out
    assert 1 not in left_out.results
    assert 2 in left_out.unseen


def test_the_newest_results_share_half_of_the_room() -> None:
    messages = conversation([("", ("tea " * 50,)), ("", ("tea " * 9000, "tea " * 9000, "tea"))])
    left_out = decide(messages, LeftOut(), 4000, _NAME).left_out
    assert set(left_out.results) == {2, 3}
    assert not left_out.unseen
    sent = contents(shown(messages, left_out, _NAME))
    assert sum(map(len, sent)) / 3 <= 2000
    assert "[Cut to make room. The run has the 36,000 characters of call 2 of S1.1.]" in sent[1]


def test_pictures_of_what_is_left_out_are_counted_in_its_line() -> None:
    messages = conversation([("", ("tea " * 100,))] * 4)
    request = messages[2]
    assert isinstance(request, ModelRequest)
    (part,) = request.parts
    assert isinstance(part, ToolReturnPart)
    shows = replace(part, content=["A chart.", _PICTURE])
    messages[2] = replace(request, parts=[shows])
    left_out = decide(messages, LeftOut(), tokens_in(messages) - 1, _NAME).left_out
    (line, *_) = contents(shown(messages, left_out, _NAME))
    assert line == (
        '[Left out to make room. Call 1 of S1.1, read({"page": 0}), gave 8 characters and '
        "1 picture; the run has them.]"
    )


def test_a_summary_is_not_asked_for_where_it_would_make_little_room() -> None:
    messages = conversation([("", ("tea",))] * 6, task="word " * 3000)
    plan = decide(messages, LeftOut(), 4000, _NAME)
    assert plan.summarise == 0


def test_a_later_summary_is_asked_for_with_the_earlier_one() -> None:
    messages = conversation([(f"thought {n} " * 60, (f"page {n} " * 20,)) for n in range(16)])
    early = messages[:21]
    before = left_out_of(early, 1500)
    assert before.exchanges > 0
    before = before.model_copy(update={"summary": "Tea was 3 so far."})
    plan = decide(messages, before, 1500, _NAME)
    assert plan.summarise > before.exchanges
    prompt = summary_prompt(messages, plan, 1500, 40)
    assert "Tea was 3 so far." in prompt
    assert _TASK in prompt
    assert f"thought {before.exchanges} " in prompt
    assert "thought 0 " not in prompt
    assert prompt.endswith("in at most 40 words.")


@given(_EXCHANGES, st.integers(1500, 6000))
def test_what_is_asked_for_a_summary_fits_as_well(exchanges: list[Exchange], room: int) -> None:
    messages = conversation(exchanges)
    plan = decide(messages, LeftOut(), room, _NAME)
    if plan.summarise:
        assert tokens_of(summary_prompt(messages, plan, room, 40)) <= room
