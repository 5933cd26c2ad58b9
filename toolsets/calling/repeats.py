"""What to do about a model that makes the same call again and again. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    ToolCallPart,
    ToolReturnPart,
)

from ..journal.entries import arguments_hash

__all__ = ["MOST_ALIKE", "Repeats", "repeats"]

MOST_ALIKE = 3
"""Calls alike, to which the result is the same, of which the last is too much."""

_Call = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Repeats:
    """What follows from the calls of a conversation's last answer.

    Attributes:
        advice: `go_on`; `tell` the model, once, that it repeats itself; `take_away` its tools, so
            that its next answer is the last.
        calls: Those of the answer that only repeat what is known, by their positions from 0.
    """

    advice: Literal["go_on", "tell", "take_away"] = "go_on"
    calls: tuple[int, ...] = ()

    @property
    def text(self) -> str:
        """What the model reads in place of the results of these calls; "" if it may go on."""
        match self.advice:
            case "go_on":
                return ""
            case "tell":
                return (
                    "This call was made before with the same arguments and had the same result. "
                    "Use that result, call with other arguments, or answer."
                )
            case "take_away":
                return "This call was made too often. No more tools can be called: answer now."


def repeats(messages: Sequence[ModelMessage]) -> Repeats:
    """Say what to do about the calls of a conversation's last answer.

    It is the same before they are made and after: their own results don't count.

    A call is too much if the same tool was called with the same arguments twice before, and the
    last two results were the same: a tool whose results change, such as a page that is waited for,
    may be asked as often as the attempt may call. The first answer with such a call is
    reason to tell the model, the next to take the tools away. It follows from the messages alone,
    so whoever goes on with an attempt decides the same.
    """
    results = _results(messages)
    counts: dict[_Call, list[str]] = {}
    found: list[tuple[int, ...]] = []
    for message in messages:
        if not isinstance(message, ModelResponse):
            continue
        turn = len(found)
        found.append(tuple(_too_many(message, counts)))
        for position, part in enumerate(message.tool_calls):
            if (result := results.get((turn, position))) is not None:
                counts.setdefault(_key(part), []).append(result)
    if not found or not found[-1]:
        return Repeats()
    told_before = any(found[:-1])
    return Repeats("take_away" if told_before else "tell", found[-1])


def _too_many(answer: ModelResponse, counts: Mapping[_Call, list[str]]) -> Iterator[int]:
    """The answer's calls that were made often enough before, or earlier in the answer."""
    in_answer: dict[_Call, int] = {}
    for position, part in enumerate(answer.tool_calls):
        key = _key(part)
        before = counts.get(key, [])
        # A text in place of a result is no result.
        last = [text for text in before if text not in _OWN_TEXTS][-2:]
        in_answer[key] = in_answer.get(key, 0) + 1
        if len(set(last)) <= 1 and len(before) + in_answer[key] >= MOST_ALIKE:
            yield position


def _key(part: ToolCallPart) -> _Call:
    return part.tool_name, arguments_hash(part.args)


def _results(messages: Sequence[ModelMessage]) -> dict[tuple[int, int], str]:
    """What came of calls, by their answers and positions: results, and errors to learn from.

    A result belongs to the last answer before it; of calls with one id the first has the first.
    """
    turn, found = -1, dict[tuple[int, int], str]()
    waiting: list[tuple[str, int]] = []
    for message in messages:
        if isinstance(message, ModelResponse):
            turn += 1
            waiting = [(part.tool_call_id, n) for n, part in enumerate(message.tool_calls)]
            continue
        for part in message.parts:
            if isinstance(part, ToolReturnPart):
                for call in waiting:
                    if call[0] == part.tool_call_id:
                        waiting.remove(call)
                        found[turn, call[1]] = part.model_response_str()
                        break
    return found


_OWN_TEXTS = frozenset({Repeats("tell").text, Repeats("take_away").text})
