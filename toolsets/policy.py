"""The verdict on a call of a tool: make it, ask, or do something else. Pure."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.tools import ToolDefinition

from ..store.attempt import excerpt
from ..store.question import Answer, Question
from ..text import fenced, plain_words, visible
from .catalogue import is_acting, is_idempotent, needs_approval, place_of
from .journal import CallKey, JournalState, arguments_hash

__all__ = [
    "MOST_ALIKE",
    "AttemptRules",
    "CallVerdict",
    "Repeats",
    "WantedCall",
    "is_doubtful",
    "question_about",
    "repeats",
    "shown_arguments",
    "verdict_on",
]


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


def repeats(messages: Sequence[ModelMessage], unseen: Collection[int] = ()) -> Repeats:
    """Say what to do about the calls of a conversation's last answer.

    It is the same before they are made and after: their own results don't count.

    A call is too much if the same tool was called with the same arguments twice before, and the
    last two results were the same: a tool whose results change, such as a page that is waited for,
    may be asked as often as the attempt may call. The first answer with such a call is
    reason to tell the model, the next to take the tools away. It follows from the messages alone,
    so a process that continues an attempt decides the same.

    Args:
        messages: The whole conversation.
        unseen: Numbers of calls, from 1, whose results the model isn't sent any more: to make them
            again is no repetition.
    """
    results = _results(messages)
    counts: dict[_Call, list[str]] = {}
    found: list[tuple[int, ...]] = []
    number = 0
    for message in messages:
        if not isinstance(message, ModelResponse):
            continue
        turn = len(found)
        found.append(tuple(_too_many(message, counts)))
        for position, part in enumerate(message.tool_calls):
            number += 1
            result = results.get((turn, position))
            if result is not None and number not in unseen:
                counts.setdefault(_key(part), []).append(result)
    if not found or not found[-1]:
        return Repeats()
    warned_before = any(found[:-1])
    return Repeats("take_away" if warned_before else "tell", found[-1])


def _too_many(answer: ModelResponse, counts: Mapping[_Call, list[str]]) -> Iterator[int]:
    """The answer's calls that were made often enough before, or earlier in the answer."""
    in_answer: dict[_Call, int] = {}
    for position, part in enumerate(answer.tool_calls):
        key = _key(part)
        before = counts.get(key, [])
        # A text in place of a result is not a result.
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


_COLUMNS = 78  # of a block of code, in the narrower of Prefect's UIs
_DESCRIPTION_CHARS = 600
_NAME = re.compile("[A-Za-z0-9]+(?:[_-][A-Za-z0-9]+)*")  # that means nothing to Markdown

CallVerdict = Literal["make", "stored", "over", "repeated", "ask", "rejected", "uncertain"]
"""`make` it; take what is `stored`; it is `over` the bound of calls; it is only `repeated`; `ask` a
person; a person `rejected` it; it may have been made already and is `uncertain`."""


@dataclass(frozen=True, slots=True)
class AttemptRules:
    """What an attempt's calls keep to.

    Attributes:
        most: Calls that it may make.
        asks: Whether a person is asked about what acts, and about what may have been made already;
            about a tool that needs it, they always are.
        can_ask: Whether a person can be asked at all, such as what a server wants of its user.
    """

    most: int
    asks: bool = False
    can_ask: bool = True


@dataclass(frozen=True, slots=True)
class WantedCall:
    """A call that the model wants.

    Attributes:
        key: Its position in the conversation, its tool and its arguments.
        toolset: What the tool is of, and the `server` behind it.
        question: Names the question about it within the run. One that was begun has another: that
            it may be made doesn't say that it may be made again.
        arguments: As JSON, for people.
        was_approved: Whether an approval of this very call was used before.
        is_repeated: Whether the model only repeats what it knows the result of.
        mended: What was mended to read them, in words.
    """

    key: CallKey
    tool: ToolDefinition
    question: str
    arguments: str = ""
    toolset: str = ""
    server: str = ""
    was_approved: bool = False
    is_repeated: bool = False
    mended: str = ""

    def subject(self, step: str, state: JournalState) -> str:
        """Return the hash of all that a person is asked about: an answer counts for this alone.

        What has the same one is the same call of the same tool at the same place of the same
        conversation, as often begun; the tool is the same as long as its server describes it so.
        """
        shown = {
            "question": self.question,
            "step": step,
            "ordinal": self.key.ordinal,
            "begun": state.reserved[self.key],
            "doubtful": is_doubtful(self, state),
            "unreadable": state.unreadable,
            "toolset": self.toolset,
            "server": self.server,
            "place": place_of(self.tool),
            "tool": self.key.tool,
            "description": self.tool.description,
            "parameters": self.tool.parameters_json_schema,
            "acting": is_acting(self.tool),
            "idempotent": is_idempotent(self.tool),
            "arguments": _decoded(self.arguments),
        }
        text = json.dumps(shown, sort_keys=True, separators=(",", ":"), default=str)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def is_doubtful(wanted: WantedCall, state: JournalState) -> bool:
    """Say whether a call may have been made already and must not be made twice."""
    if is_idempotent(wanted.tool):
        return False
    if not is_acting(wanted.tool):
        return state.is_uncertain(wanted.key)
    return wanted.was_approved or state.may_be_made(wanted.key)


def verdict_on(
    wanted: WantedCall, state: JournalState, rules: AttemptRules, answer: Answer | None
) -> CallVerdict:
    """Say what is done about a call.

    Args:
        state: What the journal said when this process opened it.
        answer: What a person decided about the call's subject; None if they didn't.
    """
    if wanted.key in state.committed:
        return "stored"
    if wanted.key.ordinal > rules.most:
        return "over"
    if wanted.is_repeated:
        return "repeated"
    doubtful = is_doubtful(wanted, state)
    asks = rules.asks or needs_approval(wanted.tool)
    if not doubtful and not (asks and is_acting(wanted.tool)):
        return "make"
    if answer is not None:
        return "make" if answer.verdict == "approved" else "rejected"
    if asks:
        return "ask"
    return "uncertain"


def question_about(wanted: WantedCall, state: JournalState, step: str, attempt: int) -> Question:
    """Return what a person is asked about a call; the caller sets `at`."""
    doubtful = is_doubtful(wanted, state)
    tool = visible(wanted.key.tool, strict=True)
    wish = f"may have called {tool} already and wants to call it again"
    return Question(
        id=wanted.question,
        asked="uncertain_call" if doubtful else "call",
        subject=wanted.subject(step, state),
        step=step,
        attempt=attempt,
        title=f"{step} {wish if doubtful else f'wants to call {tool}'}",
        text="\n\n".join(_said_about(wanted, step, attempt)),
    )


def _said_about(wanted: WantedCall, step: str, attempt: int) -> Iterator[str]:
    """Say what is called: the arguments first and whole, and last what its server says of it."""
    yield fenced(shown_arguments(wanted.arguments), "json", columns=_COLUMNS)
    server = f" of {plain_words(wanted.server)}" if wanted.server else ""
    call = f"call {wanted.key.ordinal} of attempt {attempt} of {step}"
    name = wanted.key.tool
    tool = f"**{name}**" if _NAME.fullmatch(name) else plain_words(name)
    yield f"These are all arguments of {tool}{server}, {call}."
    if wanted.mended:
        yield f"The model wrote them otherwise; mended: {plain_words(wanted.mended)}."
    if about := (wanted.tool.description or "").strip():
        whose = plain_words(wanted.server or wanted.toolset or wanted.key.tool)
        yield f"What {whose} says of it, in words of its own that nothing vouches for:"
        words = visible(excerpt(about, _DESCRIPTION_CHARS), strict=True).split()
        yield fenced(" ".join(words), columns=_COLUMNS)


def shown_arguments(arguments: str) -> str:
    """Return a call's arguments as JSON in lines, with nothing hidden in it."""
    try:
        text = json.dumps(_decoded(arguments), indent=2, ensure_ascii=False)
    except RecursionError:
        text = json.dumps(arguments, ensure_ascii=False)
    return visible(text, strict=True)


def _decoded(arguments: str) -> object:
    """Return a call's arguments as data; what can't be read as such as it is."""
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
