"""A fast model's pieces become few events, and none of its text is lost."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.store.event_buffer import TextJoiner
from prefect_swarm.store.events import RunEvent, TextEvent


class LogState:
    """What a joiner told, with a clock that a test moves."""

    def __init__(self) -> None:
        self.events: list[TextEvent] = []
        self.now = 0.0
        self.joiner = TextJoiner(
            self._handle, TextEvent(step="S1", attempt=2), every_s=0.2, clock=lambda: self.now
        )

    def _handle(self, event: RunEvent) -> None:
        assert isinstance(event, TextEvent)
        self.events.append(event)


@given(st.lists(st.tuples(st.text(max_size=5), st.floats(0, 0.3))))
def test_the_texts_together_are_the_whole_text_and_none_comes_too_soon(
    pieces: list[tuple[str, float]],
) -> None:
    heard = LogState()
    heard.joiner.begin()
    told_at: list[float] = []
    for piece, seconds in pieces:
        heard.now += seconds
        before = len(heard.events)
        heard.joiner.add(piece)
        told_at += [heard.now] * (len(heard.events) - before)
    assert all(b - a >= 0.2 for a, b in pairwise(told_at))
    heard.joiner.close()
    assert "".join(event.text for event in heard.events) == "".join(text for text, _ in pieces)


def test_the_first_piece_is_told_at_once_with_its_attempt() -> None:
    heard = LogState()
    heard.joiner.begin()
    heard.joiner.add("Tea is")
    (event,) = heard.events
    assert (event.text, event.step, event.attempt, event.request) == ("Tea is", "S1", 2, 1)
    assert event.tokens == 2


def test_another_request_begins_its_text_and_tokens_again() -> None:
    heard = LogState()
    for text in ("a" * 40, "b"):
        heard.joiner.begin()
        heard.joiner.add(text)
    heard.joiner.close()
    assert [(event.request, event.tokens) for event in heard.events] == [(1, 10), (2, 1)]


def test_what_comes_after_the_end_is_not_told() -> None:
    heard = LogState()
    heard.joiner.close()
    heard.joiner.add("late")
    assert heard.events == []
