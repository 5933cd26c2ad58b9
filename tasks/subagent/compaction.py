"""Compaction of a conversation that comes near its model's context: what is left out of it. Pure.

The whole conversation stays as it is, in memory and in the run's journal of calls; what is left out
is left out of what the model is sent. The rule:

1. Nothing is left out as long as the next request fits into its room: the context, less the answer.
2. Else the results of the last two exchanges, which the model has hardly read, are cut to half of
   the room together, where they take more.
3. Then a line stands in place of older results, the oldest first, until what is sent takes at most
   60 % of the room.
4. Where that is not enough, a summary stands for the oldest exchanges, if it makes room for at
   least an eighth.

So the beginning of what is sent, which providers keep computed, changes seldom. The task, the
answers and their calls stay as they are, and a call is never without its result.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import cast

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from ...inputs.pictures import made_picture
from ...quoting import Quote, called, with_quotes
from ...text import plural, tokens_of
from ...toolsets.journal import LeftOut
from ...toolsets.shown import arguments_of, cut, pictures_in, text_of
from .request import MARKS_TOKENS, cut_tokens, shares

__all__ = [
    "GOAL",
    "LAST",
    "CompactionPlan",
    "decide",
    "room_in",
    "shown",
    "summary_prompt",
    "summary_tokens",
    "tokens_in",
    "with_summary",
]


GOAL = 0.6
"""The share of its room that a conversation is brought down to."""
LAST = 2
"""Exchanges at the end, an answer and the results of its calls each, that are never left out."""
_LAST_SHARE, _WORTH_SHARE, _SUMMARY_SHARE, _ANSWER_SHARE = 2, 8, 16, 8
_LEAST_SUMMARY, _LEAST_SUMMARISED = 128, 1000
"""Tokens of a summary, and those of a room in which one is asked for."""
_PICTURE_TOKENS = 1600
"""About what providers count for a picture of the usual size, where its own isn't known."""
_PART_TOKENS = 4
"""What marks a part of a message, such as its role."""
_LEAST_CHARACTERS = 200
_ARGUMENTS = 80
"""Characters of a call's arguments that stand in a result's place."""
_AROUND_SUMMARY = 120
"""Tokens of what is said around a summary."""


def room_in(context_tokens: int, max_output_tokens: int | None) -> int:
    """Return the tokens that a request may read in a context.

    Room stays for an answer of as many tokens as it may have, or an eighth of the context where
    nobody bounds it; never more than half.
    """
    answer = max_output_tokens or context_tokens // _ANSWER_SHARE
    return context_tokens - min(answer, context_tokens // 2)


def summary_tokens(room: int) -> int:
    """Return the most tokens of a summary."""
    return max(_LEAST_SUMMARY, room // _SUMMARY_SHARE)


def tokens_in(messages: Sequence[ModelMessage]) -> int:
    """Return the tokens of messages, as they are estimated."""
    return sum(_tokens(part) for message in messages for part in message.parts)


def _tokens(part: object) -> int:
    match part:
        case ToolCallPart(tool_name=tool):
            return _PART_TOKENS + tokens_of(tool + arguments_of(cast("ToolCallPart", part)))
        case TextPart() | ThinkingPart():
            return _PART_TOKENS + tokens_of(part.content)
        case _:
            return _content_tokens(getattr(part, "content", ""))


def _content_tokens(content: object) -> int:
    made = [made_picture(picture.data) for picture in pictures_in(content)]
    pictures = sum(picture.tokens if picture else _PICTURE_TOKENS for picture in made)
    return _PART_TOKENS + tokens_of(text_of(content)) + pictures


@dataclass(frozen=True, slots=True)
class _Result:
    """A result, its call, the call's number from 1, and the exchange that it is of, from 0."""

    number: int
    exchange: int
    call: ToolCallPart
    part: ToolReturnPart


def _exchanges(messages: Sequence[ModelMessage]) -> list[list[ModelMessage]]:
    """Divide what follows the task: each answer with the results of its calls."""
    found: list[list[ModelMessage]] = []
    for message in messages:
        if isinstance(message, ModelResponse):
            found.append([message])
        elif found:
            found[-1].append(message)
    return found


def _results(messages: Sequence[ModelMessage]) -> list[_Result]:
    found: list[_Result] = []
    made = 0
    for number, exchange in enumerate(_exchanges(messages)):
        waiting = [
            (part.tool_call_id, made + n, part) for n, part in enumerate(_calls(exchange), start=1)
        ]
        made += len(waiting)
        for part in (part for message in exchange for part in message.parts):
            if isinstance(part, ToolReturnPart):
                for each in waiting:
                    if each[0] == part.tool_call_id:
                        waiting.remove(each)
                        found.append(_Result(each[1], number, each[2], part))
                        break
    return found


def _calls(exchange: Sequence[ModelMessage]) -> Iterator[ToolCallPart]:
    for message in exchange:
        if isinstance(message, ModelResponse):
            yield from message.tool_calls


def shown(messages: Sequence[ModelMessage], left_out: LeftOut, name: str) -> list[ModelMessage]:
    """Return a conversation as its model is sent it.

    Args:
        messages: All of it.
        left_out: What the model isn't sent.
        name: The attempt's name, which says where the run has the whole.
    """
    exchanges = _exchanges(messages)
    # The model always has an answer of its own to go on from.
    summarised = min(left_out.exchanges, len(exchanges) - 1) if exchanges else 0
    contents = {
        id(result.part): _content(result, left_out.results[result.number], name)
        for result in _results(messages)
        if result.number in left_out.results and result.exchange >= summarised
    }
    beginning = [*messages[: len(messages) - sum(map(len, exchanges))]]
    if summarised > 0 and left_out.summary:
        beginning = _with_words(beginning, _summary_words(summarised, left_out.summary))
    rest = [message for exchange in exchanges[summarised:] for message in exchange]
    return [*beginning, *(_with_contents(message, contents) for message in rest)]


def _with_contents(message: ModelMessage, contents: dict[int, str]) -> ModelMessage:
    if isinstance(message, ModelResponse) or not any(
        id(each) in contents for each in message.parts
    ):
        return message
    parts = [
        replace(part, content=contents[id(part)])
        if isinstance(part, ToolReturnPart) and id(part) in contents
        else part
        for part in message.parts
    ]
    return replace(message, parts=parts)


def _content(result: _Result, characters: int, name: str) -> str:
    text = text_of(result.part.content)
    pictures = len(pictures_in(result.part.content))
    beside = f" and {plural(pictures, 'picture')}" if pictures else ""
    if characters:
        whole = f"{len(text):,} characters{beside}"
        where = f"The run has the {whole} of call {result.number} of {name}."
        return f"{cut(text, characters)}\n[Cut to make room. {where}]"
    arguments = arguments_of(result.call)
    if len(arguments) > _ARGUMENTS:
        arguments = f"{arguments[:_ARGUMENTS]}…"
    what = f"Call {result.number} of {name}, {result.call.tool_name}({arguments}),"
    gave = f"gave {len(text):,} characters{beside}"
    return f"[Left out to make room. {what} {gave}; the run has them.]"


def _summary_words(exchanges: int, summary: str) -> str:
    answers = "Your first answer, with what its calls gave, is"
    if exchanges > 1:
        answers = f"Your first {exchanges} answers, with what their calls gave, are"
    label = f"{answers} left out to make room. Those calls were made. This is what came of them:"
    return "\n\n".join(with_quotes([Quote(text=summary, label=label)]))


def _with_words(beginning: list[ModelMessage], words: str) -> list[ModelMessage]:
    """Return the task's messages with words behind the task, as a part of the same message.

    Two messages of a user in a row are refused by the templates of some models.
    """
    for place in range(len(beginning) - 1, -1, -1):
        message = beginning[place]
        parts = [*message.parts] if isinstance(message, ModelRequest) else []
        for number in range(len(parts) - 1, -1, -1):
            part = parts[number]
            if isinstance(part, UserPromptPart):
                is_text = isinstance(part.content, str)
                content = f"{part.content}\n\n{words}" if is_text else [*part.content, words]
                parts[number] = replace(part, content=content)
                beginning[place] = replace(message, parts=parts)
                return beginning
    return [*beginning, ModelRequest([UserPromptPart(words)])]


@dataclass(frozen=True, slots=True)
class CompactionPlan:
    """What is decided about a conversation.

    Attributes:
        left_out: What is left out of it; what it was before, if there is room or nothing helps.
        summarise: How many exchanges, from the first one, a summary is to stand for; 0 for none.
    """

    left_out: LeftOut
    summarise: int = 0


def decide(
    messages: Sequence[ModelMessage], left_out: LeftOut, room: int, name: str
) -> CompactionPlan:
    """Decide what else is left out of a conversation, by the module's rule.

    Args:
        messages: All of it.
        left_out: What is left out already.
        room: Tokens, as they are estimated, that it may take.
        name: The attempt's name.
    """
    total = tokens_in(shown(messages, left_out, name))
    if total <= (room := max(0, room)):
        return CompactionPlan(left_out)
    count = len(_exchanges(messages))
    found = [each for each in _results(messages) if each.exchange >= left_out.exchanges]
    results = dict(left_out.results)
    total -= _cut_last(
        [each for each in found if each.exchange >= count - LAST], results, room, name
    )
    goal = int(room * GOAL)
    for each in found:
        if total <= goal or each.exchange >= count - LAST:
            break
        total -= _left_out(each, 0, results, name)
    decided = left_out.model_copy(update={"results": results})
    if total <= goal:
        return CompactionPlan(decided)
    return CompactionPlan(decided, _to_summarise(messages, decided, total, room, name))


def _size(result: _Result, results: dict[int, int], name: str) -> int:
    if (characters := results.get(result.number)) is None:
        return _content_tokens(result.part.content)
    return _content_tokens(_content(result, characters, name))


def _left_out(result: _Result, characters: int, results: dict[int, int], name: str) -> int:
    """Leave so many characters of a result, if that makes it shorter; return the tokens saved."""
    if results.get(result.number) == 0:
        return 0
    before = _size(result, results, name)
    after = _content_tokens(_content(result, characters, name))
    if after >= before:
        return 0
    results[result.number] = characters
    return before - after


def _cut_last(last: Sequence[_Result], results: dict[int, int], room: int, name: str) -> int:
    sizes = [_size(each, results, name) for each in last]
    saved = 0
    for each, size, share in zip(last, sizes, shares(sizes, room // _LAST_SHARE), strict=True):
        if share < size:
            saved += _left_out(each, _characters(each, share, name), results, name)
    return saved


def _characters(result: _Result, tokens: int, name: str) -> int:
    """Return how many characters of a result so many tokens have room for."""
    text = text_of(result.part.content)
    characters = len(text) * tokens // max(1, tokens_of(text))
    while characters > _LEAST_CHARACTERS:
        if _content_tokens(_content(result, characters, name)) <= tokens:
            break
        # Not all characters have as many bytes.
        characters = characters * 9 // 10
    return max(_LEAST_CHARACTERS, characters)


def _to_summarise(
    messages: Sequence[ModelMessage], left_out: LeftOut, total: int, room: int, name: str
) -> int:
    if room < _LEAST_SUMMARISED:
        return 0
    exchanges = _exchanges(messages)
    lines = _exchanges(shown(messages, left_out, name))
    before = left_out.exchanges
    standing = tokens_in(_with_words([], _summary_words(before, left_out.summary))) if before else 0
    freed = standing - summary_tokens(room) - _AROUND_SUMMARY
    found = 0
    for number in range(before + 1, len(exchanges) - LAST + 1):
        freed += tokens_in(lines[number - 1 - before])
        if freed >= room // _WORTH_SHARE:
            found = number
            if total - freed <= room * GOAL:
                break
    return found


def with_summary(
    messages: Sequence[ModelMessage], plan: CompactionPlan, summary: str, room: int
) -> LeftOut:
    """Return what is left out where a summary stands for the exchanges that a plan names."""
    gone = {each.number: 0 for each in _results(messages) if each.exchange < plan.summarise}
    return LeftOut(
        results={**plan.left_out.results, **gone},
        exchanges=plan.summarise,
        summary=cut_tokens(summary, summary_tokens(room)),
    )


def summary_prompt(
    messages: Sequence[ModelMessage], plan: CompactionPlan, room: int, words: int
) -> str:
    """Write the prompt that asks for a summary of the exchanges that a plan names.

    It has the task, the summary that there is, and the results as they were, however little of them
    is sent otherwise; long ones are cut so that all take at most 60 % of the room.
    """
    left_out = plan.left_out
    exchanges = _exchanges(messages)[left_out.exchanges : plan.summarise]
    beginning = messages[: len(messages) - sum(map(len, _exchanges(messages)))]
    task = "\n\n".join(
        text_of(part.content)
        for message in beginning
        for part in message.parts
        if isinstance(part, UserPromptPart)
    )
    quotes = [Quote(text=task, label="The task:")]
    if left_out.summary:
        quotes.append(Quote(text=left_out.summary, label="What came before, in short:"))
    results = {id(each.part): each for each in _results(messages) if each.exchange < plan.summarise}
    for part in (part for exchange in exchanges for message in exchange for part in message.parts):
        if isinstance(part, TextPart) and part.content.strip():
            quotes.append(Quote(text=part.content, label="Then you wrote:"))
        elif isinstance(part, ToolReturnPart) and (result := results.get(id(part))):
            label = f"Call {result.number}, of {called(result.call.tool_name)}, with its arguments:"
            text = f"{arguments_of(result.call)}\n\n{text_of(part.content)}"
            quotes.append(Quote(text=text, label=label))
    around = sum(tokens_of(quote.label) + MARKS_TOKENS + 2 for quote in quotes)
    sizes = [tokens_of(quote.text) for quote in quotes]
    bounds = shares(sizes, int(room * GOAL) - around - _AROUND_SUMMARY)
    cut_quotes = [
        quote.model_copy(update={"text": cut_tokens(quote.text, bound)})
        for quote, bound in zip(quotes, bounds, strict=True)
    ]
    asked = f"Write what was found, done and decided so far in at most {words} words."
    return "\n\n".join(with_quotes([*cut_quotes, asked]))
