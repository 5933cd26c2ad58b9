"""A journal of calls: JSON lines of its run, each written before what it speaks of happens."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Discriminator, Field, TypeAdapter, ValidationError
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse

from ..data_types import Frozen
from ..errors import RunDamagedError, UncertainCallError
from ..store.attempt import Compaction, Usage
from ..store.protocol import Journal, RunStore
from ..text import count_in
from ..untrusted.json_text import read_object

__all__ = [
    "CallJournal",
    "CallKey",
    "Committed",
    "Compacted",
    "Entry",
    "JournalState",
    "LeftOut",
    "Messages",
    "Reserved",
    "TakenBack",
    "call_keys",
    "conversation_of",
    "last_call_keys",
    "read_entries",
    "returned_result",
    "state_of",
    "steps_begun",
    "stored_answers",
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
            What follows on a line that is lost is not part of the conversation.
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


class TakenBack(Frozen):
    """A call that was begun counts as not made: its server asks its user something first."""

    kind: Literal["taken_back"] = "taken_back"
    at: float
    key: CallKey


class LeftOut(Frozen):
    """What a model is not sent of its conversation any more.

    Attributes:
        results: Characters that are left of results, by the numbers of their calls; 0 where a line
            stands in a result's place, or the summary.
        exchanges: How many answers at the beginning, with the results of their calls, the summary
            stands for.
    """

    results: dict[int, int] = Field(default_factory=dict[int, int])
    exchanges: int = Field(default=0, ge=0)
    summary: str = ""

    @property
    def unseen(self) -> frozenset[int]:
        """The calls whose results the model can't read any more, by their numbers."""
        return frozenset(number for number, left in self.results.items() if not left)


class Compacted(Frozen):
    """The conversation is sent shorter from here on; the journal has all of it as before.

    Attributes:
        after: How many messages the conversation had.
        left_out: All that is left out from here on, what was left out before among it.
        refused: Tokens of a request that the model refused as too large, as its provider counts.
        usage: What the summary took.
    """

    kind: Literal["compacted"] = "compacted"
    at: float
    after: int
    left_out: LeftOut
    made: Compaction
    refused: int | None = None
    usage: Usage = Usage()


Entry = Messages | Reserved | Committed | TakenBack | Compacted
_ENTRY: TypeAdapter[Entry] = TypeAdapter(Annotated[Entry, Discriminator("kind")])


@dataclass(slots=True)
class JournalState:
    """What a journal says.

    Attributes:
        messages: The conversation up to the last answer, as pydantic-ai writes it.
        compactions: What was left out of it before requests, in their order.
        committed: Results by their calls.
        reserved: How often each call was begun, those that came to an end among them; what was
            taken back isn't.
        taken_back: When calls were last taken back.
        toolsets: The toolsets of the calls that were begun.
        called: The toolsets of the tools that answers call, by the names that the model was given.
        astray: Tools of calls that may have been made and that the conversation doesn't have:
            lines of the journal are lost, or of an earlier attempt's.
        unreadable: Lines that say no more which call was begun.
    """

    messages: list[Any] = field(default_factory=list[Any])
    compactions: list[Compacted] = field(default_factory=list[Compacted])
    committed: dict[CallKey, Committed] = field(default_factory=dict[CallKey, Committed])
    reserved: Counter[CallKey] = field(default_factory=Counter[CallKey])
    taken_back: dict[CallKey, float] = field(default_factory=dict[CallKey, float])
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
    calls = {*+state.reserved, *state.committed}
    return frozenset(key.tool for key in calls - known)


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
                    # What was left out of what is no part of it any more isn't either.
                    state.compactions = [
                        each for each in state.compactions if each.after <= known + 1
                    ]
                    state.called |= entry.toolsets
            case Reserved():
                state.reserved[entry.key] += 1
                state.toolsets[entry.key] = entry.toolset
                state.called[entry.key.tool] = entry.toolset
            case Committed():
                state.committed.setdefault(entry.key, entry)
            case TakenBack():
                state.reserved[entry.key] -= 1
                state.taken_back[entry.key] = entry.at
            case Compacted():
                state.compactions.append(entry)
    return state


class CallJournal:
    """The journal of one attempt. A line is on the disk before `write` returns.

    What must not happen twice is written down twice, in two files: where one of them has lost a
    line, or is lost itself, the other one still says that the call was begun.
    """

    def __init__(self, run: RunStore, attempt: str, request_hash: str) -> None:
        """Take the file of an attempt and of what it is asked: another request has another one."""
        self._run = run
        self._name = f"{attempt}-{request_hash[:8]}"

    def read(self) -> JournalState:
        """Return what was written so far, by whatever process.

        Raises:
            UncertainCallError: A file of it can't be read, so nobody knows what was done.
        """
        state = state_of(_entries(self._lines("calls", self._name))[0])
        reservations, state.unreadable = _reservations(self._lines("begun", self._name))
        # Either file may have lost some.
        state.reserved |= reservations
        return state

    def write(self, entry: Entry) -> None:
        """Add an entry.

        Raises:
            StorageError: It can't be written, so what it speaks of must not happen.
        """
        self._run.append_call("calls", self._name, entry)

    def begin(self, entry: Reserved, *, once: bool) -> None:
        """Write down that a call is about to be made; twice, if it must not be made `once` more.

        Raises:
            StorageError: As `write` has it.
        """
        self.write(entry)
        if once:
            self._run.append_call("begun", self._name, entry)

    def take_back(self, entry: TakenBack, *, once: bool) -> None:
        """Write down that a call that was begun is not made; it is if only one file says so.

        Raises:
            StorageError: As `write` has it.
        """
        if once:
            self._run.append_call("begun", self._name, entry)
        self.write(entry)

    def lost_before(self) -> frozenset[str]:
        """Return the tools of calls that earlier attempts of the step began and know no more of.

        Their journals have lost lines. What a whole journal says is for those attempts alone.
        """
        found: set[str] = set()
        step, number = _attempt_of(self._name)
        for name in self._names("begun"):
            its_step, its_number = _attempt_of(name)
            if its_step == step and its_number < number:
                reservations, _ = _reservations(self._lines("begun", name))
                state = state_of(_entries(self._lines("calls", name))[0])
                lost = (+reservations).keys() - state.reserved.keys() - state.committed.keys()
                astray = tools_astray(state, conversation_of(state))
                found |= {key.tool for key in lost} | astray
        return frozenset(found)

    def _names(self, journal: Journal) -> list[str]:
        try:
            return self._run.call_journals(journal)
        except RunDamagedError as error:
            raise _unknown(error) from None

    def _lines(self, journal: Journal, name: str) -> list[str]:
        try:
            return self._run.calls(journal, name)
        except RunDamagedError as error:
            raise _unknown(error) from None


def _unknown(error: RunDamagedError) -> UncertainCallError:
    return UncertainCallError(
        f"{error.problem} So nobody knows which calls of tools were made.",
        "Make it readable; or, if none of its calls must be known, remove it and resume.",
    )


def steps_begun(run: RunStore) -> frozenset[str]:
    """Return the ids of the steps that have begun a call which must not be made twice.

    Raises:
        RunDamagedError: The journals can't be listed.
    """
    return frozenset(_step_of(name) for name in run.call_journals("begun"))


def returned_result(run: RunStore, step: str) -> str | None:
    """Return what the call of a step that is one returned, whatever became of the step after that.

    Returns:
        The text; None if no journal says that it returned.

    Raises:
        RunDamagedError: The journals can't be listed.
    """
    for name in run.call_journals("calls"):
        if _step_of(name) == step and not name.startswith(f"{step}-undo."):
            state = state_of(_entries(run.calls("calls", name))[0])
            for committed in state.committed.values():
                if committed.outcome == "returned":
                    return committed.result
    return None


def _step_of(name: str) -> str:
    # What stands behind a hyphen counts how often the step was begun.
    return _attempt_of(name)[0].partition("-")[0]


def stored_answers(run: RunStore, key: str) -> int:
    """Return how many answers of its model the journal of an attempt has; 0 where it has none.

    Summaries of its conversation are answers, too.

    Args:
        key: The attempt's cache key: flow run, plan's hash, attempt's name and request's hash.
    """
    attempt, _, asked_hash = key.split(".", 2)[-1].rpartition(".")
    try:
        state = CallJournal(run, attempt, asked_hash).read()
    except UncertainCallError:
        return 0
    answers = sum(message.get("kind") == "response" for message in state.messages)
    return answers + sum(each.usage.requests for each in state.compactions)


def _entries(lines: Iterable[str]) -> tuple[list[Entry], int]:
    """Return the entries of lines, and how many lines are none."""
    found: list[Entry] = []
    broken = 0
    for line in lines:
        try:
            read = read_entries([read_object(line)])
        except ValueError:
            read = []
        found += read
        broken += not read
    return found, broken


def _reservations(lines: Iterable[str]) -> tuple[Counter[CallKey], int]:
    """Return how often each call was begun, and how many lines say no more which one."""
    entries, broken = _entries(lines)
    return state_of(entries).reserved, broken


_ATTEMPT = re.compile(r"(?P<step>.+?)\.(?P<number>[0-9]+)(?:\.[0-9]+)?-[^-]*")
"""The name of a journal: step, attempt, sample and request. Of members the step has points too."""


def _attempt_of(name: str) -> tuple[str, int]:
    """The step and the number of the attempt that a journal is of, by its name."""
    if (found := _ATTEMPT.fullmatch(name)) is None:
        return name, 0
    return found["step"], count_in(found["number"]) or 0
