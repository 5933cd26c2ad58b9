"""What a journal holds, and what follows from it. Pure."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Discriminator, Field, TypeAdapter, ValidationError
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse

from ...frozen import Frozen

__all__ = [
    "CallKey",
    "Committed",
    "Entry",
    "JournalState",
    "Messages",
    "Reserved",
    "call_keys",
    "conversation_of",
    "last_call_keys",
    "read_entries",
    "state_of",
    "tools_astray",
]


class CallKey(BaseModel, frozen=True, extra="forbid"):
    """Names a call within its attempt, the same in every process that works on it.

    Attributes:
        ordinal: Its number among the calls of the attempt's answers, from 1, in the answers' order.
        arguments_hash: SHA-256 of the arguments as sorted JSON, its first 16 digits.
    """

    ordinal: int = Field(ge=1)
    tool: str
    arguments_hash: str


class Messages(Frozen):
    """An answer of the model, written down before its calls are made.

    Attributes:
        messages: All messages since the last entry of this kind, as pydantic-ai writes them.
        after: How many messages the conversation had before; None in what an older version wrote.
            What follows on a line that is lost is no part of the conversation.
        toolsets: The toolsets of the tools that are called, by the names that the model was given.
    """

    kind: Literal["messages"] = "messages"
    at: float
    messages: list[Any]
    after: int | None = None
    toolsets: dict[str, str] = Field(default_factory=dict[str, str])


class Reserved(Frozen):
    """A call is about to be made."""

    kind: Literal["reserved"] = "reserved"
    at: float
    key: CallKey
    toolset: str = ""
    arguments: str = Field(default="", description="The arguments as JSON.")


class Committed(Frozen):
    """A call is over, and this is what the model reads of it.

    Attributes:
        outcome: `returned`, or `refused`: an error that the model may learn from.
        result: The text that the model reads, cut to its bound.
        characters: Those of the whole result.
        pictures: Names of the pictures that a model which takes them is shown as well.
    """

    kind: Literal["committed"] = "committed"
    at: float
    key: CallKey
    outcome: Literal["returned", "refused"] = "returned"
    result: str = ""
    characters: int = 0
    pictures: tuple[str, ...] = ()
    seconds: float = 0.0


Entry = Messages | Reserved | Committed
_ENTRY: TypeAdapter[Entry] = TypeAdapter(Annotated[Entry, Discriminator("kind")])


@dataclass(slots=True)
class JournalState:
    """What a journal says.

    Attributes:
        messages: The conversation up to the last answer, as pydantic-ai writes it.
        committed: Results by their calls.
        reserved: How often each call was begun, those that came to an end among them.
        toolsets: The toolsets of the calls that were begun.
        called: The toolsets of the tools that answers call, by the names that the model was given.
        astray: Tools of calls that may have been made and that the conversation doesn't have:
            lines of the journal are lost, or of an earlier attempt's.
        unreadable: Lines that say no more which call was begun.
    """

    messages: list[Any] = field(default_factory=list[Any])
    committed: dict[CallKey, Committed] = field(default_factory=dict[CallKey, Committed])
    reserved: Counter[CallKey] = field(default_factory=Counter[CallKey])
    toolsets: dict[CallKey, str] = field(default_factory=dict[CallKey, str])
    called: dict[str, str] = field(default_factory=dict[str, str])
    astray: frozenset[str] = frozenset()
    unreadable: int = 0

    def is_uncertain(self, key: CallKey) -> bool:
        """Say whether a call was begun and nothing says how it ended."""
        return self.reserved[key] > 0 and key not in self.committed

    def may_be_made(self, key: CallKey) -> bool:
        """Say whether a call may have been made already, as itself or at another place."""
        if key in self.committed:
            return False
        return self.is_uncertain(key) or key.tool in self.astray or self.unreadable > 0


def conversation_of(state: JournalState) -> list[ModelMessage]:
    """Return the conversation that a journal has; none where its messages are none any more."""
    try:
        return ModelMessagesTypeAdapter.validate_python(state.messages)
    except ValidationError:
        return []


def call_keys(messages: Iterable[ModelMessage]) -> list[list[CallKey]]:
    """Return the keys of a conversation's calls, answer by answer: each by its position alone."""
    made, found = 0, list[list[CallKey]]()
    for message in messages:
        if isinstance(message, ModelResponse):
            found.append(_keys(message, made))
            made += len(found[-1])
    return found


def last_call_keys(messages: Sequence[ModelMessage]) -> list[CallKey]:
    """Return the keys of the calls in a conversation's last answer; none if it has no answer."""
    answers = [message for message in messages if isinstance(message, ModelResponse)]
    made = sum(len(answer.tool_calls) for answer in answers[:-1])
    return _keys(answers[-1], made) if answers else []


def _keys(answer: ModelResponse, made: int) -> list[CallKey]:
    return [
        CallKey(ordinal=number, tool=part.tool_name, arguments_hash=arguments_hash(part.args))
        for number, part in enumerate(answer.tool_calls, made + 1)
    ]


def tools_astray(state: JournalState, messages: Iterable[ModelMessage]) -> frozenset[str]:
    """Return the tools of calls that a journal has and its conversation doesn't."""
    known = {key for keys in call_keys(messages) for key in keys}
    begun = {*state.reserved, *state.committed}
    return frozenset(key.tool for key in begun - known)


def arguments_hash(arguments: str | Mapping[str, Any] | None) -> str:
    """Return the hash of a call's arguments: their order and blanks don't count."""
    value: object = arguments or {}
    if isinstance(arguments, str):
        try:
            value = json.loads(arguments) if arguments.strip() else {}
        except (ValueError, RecursionError):
            value = arguments
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def read_entries(lines: Iterable[Mapping[str, Any]]) -> list[Entry]:
    """Return the entries of a file's lines; what is none is passed over, such as a cut line."""
    found: list[Entry] = []
    for line in lines:
        try:
            found.append(_ENTRY.validate_python(line))
        except ValidationError:
            continue
    return found


def state_of(entries: Iterable[Entry]) -> JournalState:
    """Return what entries come to, in their order. The first result of a call counts."""
    state = JournalState()
    for entry in entries:
        match entry:
            case Messages():
                known = len(state.messages) if entry.after is None else entry.after
                if known <= len(state.messages):
                    # Who wrote it could read so many; what was written before goes on otherwise.
                    state.messages[known:] = entry.messages
                    state.called |= entry.toolsets
            case Reserved():
                state.reserved[entry.key] += 1
                state.toolsets[entry.key] = entry.toolset
                state.called[entry.key.tool] = entry.toolset
            case Committed():
                state.committed.setdefault(entry.key, entry)
    return state
