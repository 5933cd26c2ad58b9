"""What a person wrote to a run's orchestrator, with the turn that read it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from ..store.event_wording import decided_by
from ..store.messages import UserMessages
from ..store.protocol import RunStore
from ..text import one_line
from .page import MessageView, Strong, Text, TurnView

__all__ = ["message_lines", "messages_of"]


_MOST_CHARS = 1_000


def messages_of(run: RunStore, turns: Sequence[TurnView]) -> tuple[MessageView, ...]:
    """Return the messages of a run in their order, each with the turn that read it."""
    read_in = {number: turn.number for turn in turns for number in turn.messages}
    return tuple(
        MessageView(
            number=each.number,
            at=each.at,
            text=each.text,
            by=each.by,
            name=each.name,
            turn=read_in.get(each.number),
        )
        for each in UserMessages(run).all()
    )


def message_lines(messages: Sequence[MessageView]) -> list[tuple[Text, ...]]:
    """Write each message in a line: which way it came, when, which turn read it, what it says."""
    return [_texts(message) for message in messages]


def _texts(message: MessageView) -> tuple[Text, ...]:
    by = f", {decided_by(message.by, message.name)}" if message.by else ""
    when = f" at {datetime.fromtimestamp(message.at):%Y-%m-%d %H:%M}" if message.at else ""
    read = "read in no turn" if message.turn is None else f"read in turn {message.turn}"
    words = one_line(message.text, _MOST_CHARS)
    return (Strong(f"Message {message.number}"), f"{by}{when}, {read}: {words}")
