"""What a journal holds, and what follows from it. Pure."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Discriminator, Field, TypeAdapter, ValidationError
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart

from ...frozen import Frozen

__all__ = [
    "CallKey",
    "Committed",
    "Entry",
    "JournalState",
    "Messages",
    "Reserved",
    "call_key",
    "read_entries",
    "state_of",
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
    """

    kind: Literal["messages"] = "messages"
    at: float
    messages: list[Any]


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
    """

    messages: list[Any] = field(default_factory=list[Any])
    committed: dict[CallKey, Committed] = field(default_factory=dict[CallKey, Committed])
    reserved: Counter[CallKey] = field(default_factory=Counter[CallKey])
    toolsets: dict[CallKey, str] = field(default_factory=dict[CallKey, str])

    def is_uncertain(self, key: CallKey) -> bool:
        """Say whether a call was begun and nothing says how it ended."""
        return self.reserved[key] > 0 and key not in self.committed


def call_key(messages: Sequence[ModelMessage], call: ToolCallPart) -> CallKey:
    """Return the key of a call in the last answer of a conversation.

    Raises:
        ValueError: The answers don't have the call.
    """
    ordinal = 0
    for message in messages:
        if not isinstance(message, ModelResponse):
            continue
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                ordinal += 1
                if part.tool_call_id == call.tool_call_id:
                    hashed = arguments_hash(call.args)
                    return CallKey(ordinal=ordinal, tool=call.tool_name, arguments_hash=hashed)
    raise ValueError(f"no answer has the call {call.tool_call_id} of {call.tool_name}")


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
                state.messages += entry.messages
            case Reserved():
                state.reserved[entry.key] += 1
                state.toolsets[entry.key] = entry.toolset
            case Committed():
                state.committed.setdefault(entry.key, entry)
    return state
