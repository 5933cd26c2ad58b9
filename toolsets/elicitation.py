"""What a server asks its user in the middle of a call, and who answers it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Literal, Protocol

from ..store.approvals import Approvals
from ..store.question import Question
from ..store.requested import Content, RequestedField
from ..text import fenced, one_line, plain_words, visible
from .catalogue import place_of
from .policy import WantedCall, shown_arguments

__all__ = [
    "CallReplies",
    "Elicited",
    "ElicitedError",
    "NoBackChannelError",
    "Replies",
    "Reply",
    "current_replies",
    "elicitation_question",
    "replying",
]

_COLUMNS = 78  # of a block of code, in the narrower of Prefect's UIs


@dataclass(frozen=True, slots=True)
class Elicited:
    """A form that a server asks its user to fill in.

    Attributes:
        server: The server's name, as people see it.
        message: Its words, without secrets.
        fields: What it asks for; none where a yes or no is enough.
        number: How often it has asked this in the same call, from 1: what is asked once more is
            another question.
    """

    server: str
    message: str
    fields: tuple[RequestedField, ...] = ()
    number: int = 1

    @property
    def digest(self) -> str:
        """A hash of all but the number."""
        fields = [each.model_dump(mode="json") for each in self.fields]
        text = json.dumps([self.server, self.message, fields], sort_keys=True)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class ElicitedError(Exception):
    """A call was taken back, since its server asks something that nobody has answered yet."""

    def __init__(self, elicited: Elicited) -> None:
        super().__init__(f"{elicited.server} asks: {one_line(elicited.message, 100)}")
        self.elicited = elicited


class NoBackChannelError(Exception):
    """A server asks by a request of its own, as the older protocol has it, in a newer session."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a server is answered: the words of the protocol."""

    action: Literal["accept", "decline", "cancel"]
    content: Content | None = None


class Replies(Protocol):
    """Answers what servers ask in the middle of one call."""

    def reply(self, elicited: Elicited) -> Reply | None:
        """Return the answer; None if nobody has given one yet, so that the call is taken back."""
        ...

    def note(self, text: str) -> None:
        """Take a sentence for the model: what was answered for its user, and why."""
        ...


_replies: ContextVar[Replies | None] = ContextVar("prefect_swarm_replies", default=None)


def current_replies() -> Replies | None:
    """Return what answers servers in the call that is being made; None if nobody can."""
    return _replies.get()


@contextmanager
def replying(replies: Replies) -> Generator[None]:
    """Have servers' questions answered in the calls that are made inside."""
    token = _replies.set(replies)
    try:
        yield
    finally:
        _replies.reset(token)


def elicitation_question(
    elicited: Elicited, call: WantedCall, name: str, step: str, attempt: int
) -> Question:
    """Return what a person is asked for a server; the caller sets `at`.

    Args:
        elicited: What it asks.
        call: The call in whose middle it asks.
        name: What questions of this call are called.
        step: The step that makes the call.
        attempt: Its attempt.
    """
    server = one_line(elicited.server, 60)
    return Question(
        id=name,
        asked="elicitation",
        subject=_subject(elicited, call, name, step),
        step=step,
        attempt=attempt,
        title=f"{server} asks {step}: {one_line(elicited.message, 80)}",
        text="\n\n".join(_parts(elicited, call, step, attempt)),
        fields=elicited.fields,
    )


def _subject(elicited: Elicited, call: WantedCall, name: str, step: str) -> str:
    shown = {
        "question": name,
        "step": step,
        "ordinal": call.key.ordinal,
        "tool": call.key.tool,
        "arguments": call.key.arguments_hash,
        "toolset": call.toolset,
        "server": call.server,
        "place": place_of(call.tool),
        "asked": elicited.digest,
        "number": elicited.number,
    }
    text = json.dumps(shown, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _parts(elicited: Elicited, call: WantedCall, step: str, attempt: int) -> Iterator[str]:
    yield fenced(visible(elicited.message, strict=True), columns=_COLUMNS)
    server = plain_words(elicited.server)
    yield (
        f"So the MCP server {server} asks, in words of its own that nothing vouches for, in the "
        f"middle of call {call.key.ordinal} of attempt {attempt} of {step}. It gets what is "
        "filled in, and the run's folder keeps it: give no passwords, keys or card numbers."
    )
    if elicited.fields:
        yield "\n".join(["It asks for:", "", *(each.line for each in elicited.fields)])
    if elicited.number > 1:
        yield f"It asks this for the {elicited.number}. time in this call."
    yield f"The call is {plain_words(call.key.tool)}, with these arguments:"
    yield fenced(shown_arguments(call.arguments), "json", columns=_COLUMNS)


@dataclass(slots=True)
class CallReplies:
    """Answers of persons to what one call's server asks.

    Attributes:
        name: What questions of this call are called.
        can_ask: Whether somebody can be asked; where nobody can, all is declined.
        notes: What the model is told of it.
    """

    approvals: Approvals
    call: WantedCall
    name: str
    step: str
    attempt: int
    can_ask: bool = True
    notes: list[str] = field(default_factory=list[str])

    def question(self, elicited: Elicited) -> Question:
        """Return what a person is asked; the caller sets `at`."""
        return elicitation_question(elicited, self.call, self.name, self.step, self.attempt)

    def reply(self, elicited: Elicited) -> Reply | None:
        """Return what a person answered, or that the request is declined."""
        asked = f"The server asked its user: {one_line(elicited.message, 300)!r}."
        if not self.can_ask:
            self.note(f"{asked} That was declined: nobody can be asked here.")
            return Reply("decline")
        subject = self.question(elicited).subject
        if (answer := self.approvals.decision(self.name, subject)) is None:
            return None
        if answer.verdict != "approved":
            self.note(f"{asked} The user declined{f': {answer.why}' if answer.why else '.'}")
            return Reply("decline")
        return Reply("accept", dict(answer.content or {}))

    def note(self, text: str) -> None:
        """Take a sentence for the model, once."""
        if text not in self.notes:
            self.notes.append(text)
