"""What an attempt waited for: providers, and the slots of local models. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pydantic_ai.messages import ModelMessage, ModelResponse

from ...measures.stretch import Stretch

__all__ = ["queue_s_of", "waits_of"]

_LEAST_S = 0.001
"""A shorter wait is none that anybody would look for."""


def queue_s_of(messages: Iterable[ModelMessage], since: float) -> float:
    """Return the seconds that requests waited for a local model's turn.

    Args:
        messages: A conversation; what an earlier process was answered doesn't count.
        since: When the attempt began, in seconds since the Unix epoch.
    """
    return sum(seconds for _, seconds in _turns(messages, since))


def waits_of(
    messages: Iterable[ModelMessage], providers: Sequence[tuple[float, float]], since: float
) -> tuple[Stretch, ...]:
    """Return an attempt's waits, without those too short to matter.

    Args:
        messages: Its conversation.
        providers: Begin and end of its waits for providers.
        since: When it began.
    """
    waits = [
        *(Stretch(kind="provider", started_at=begin, ended_at=end) for begin, end in providers),
        *(
            Stretch(kind="slot", started_at=asked_at, ended_at=asked_at + seconds)
            for asked_at, seconds in _turns(messages, since)
        ),
    ]
    return tuple(wait for wait in waits if wait.seconds >= _LEAST_S)


def _turns(messages: Iterable[ModelMessage], since: float) -> Iterable[tuple[float, float]]:
    """Yield when each request was asked, and how long it waited."""
    for message in messages:
        details = (isinstance(message, ModelResponse) and message.provider_details) or {}
        asked_at = float(details.get("asked_at") or since)
        if asked_at >= since and (seconds := float(details.get("queue_s") or 0.0)) > 0:
            yield asked_at, seconds
