"""A reader that is slow or gone costs the run nothing, and hears what it has missed."""

from __future__ import annotations

import threading

from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.store.event_buffer import EventBuffer
from prefect_swarm.store.events import CutEvent, ReadyEvent, RunEvent, TextEvent


def numbered(kinds: list[bool]) -> list[RunEvent]:
    events = (TextEvent(text="x") if is_text else ReadyEvent() for is_text in kinds)
    return [event.model_copy(update={"number": n}) for n, event in enumerate(events, 1)]


@given(st.lists(st.booleans(), max_size=60), st.integers(2, 20))
def test_it_never_holds_more_than_its_bound_and_keeps_the_order(
    kinds: list[bool], most: int
) -> None:
    buffer, events = EventBuffer(most), numbered(kinds)
    for event in events:
        buffer.put(event)
    taken = buffer.take()
    numbers = [event.number for event in taken]
    assert len(taken) <= most
    assert numbers == sorted(set(numbers))
    if len(events) <= most // 2:
        assert taken == events
    elif len(events) > most:
        assert any(isinstance(event, CutEvent) for event in taken)


def test_texts_are_left_out_before_anything_else() -> None:
    buffer = EventBuffer(4)
    for event in numbered([False, True, True, True, True, False]):
        buffer.put(event)
    assert [event.kind for event in buffer.take()] == ["ready", "text", "cut", "ready"]


def test_a_reader_that_has_caught_up_hears_texts_again() -> None:
    buffer = EventBuffer(4)
    for event in numbered([True, True, True]):
        buffer.put(event)
    buffer.take()
    buffer.put(TextEvent(number=4, text="again"))
    assert [event.kind for event in buffer.take()] == ["text"]


def test_who_waits_is_woken_by_an_event_and_by_the_end() -> None:
    buffer, taken = EventBuffer(), list[list[RunEvent]]()

    def read() -> None:
        while events := buffer.wait():
            taken.append(events)

    reader = threading.Thread(target=read)
    reader.start()
    buffer.put(ReadyEvent(number=1))
    buffer.close()
    reader.join(30)
    assert not reader.is_alive()
    assert [event.number for events in taken for event in events] == [1]


def test_nothing_is_added_once_it_is_closed() -> None:
    buffer = EventBuffer()
    buffer.close()
    buffer.put(ReadyEvent())
    assert buffer.is_empty
