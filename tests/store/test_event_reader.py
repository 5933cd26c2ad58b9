"""A reader goes on where it stopped, while the run goes on and after it was killed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from prefect_swarm.store.event_log import (
    EventLog,
    EventReader,
    events_of_kinds,
    follow_events,
    read_events,
    to_line,
)
from prefect_swarm.store.events import BeganEvent, FinishedEvent, ReadyEvent, RunEvent, TextEvent


def ready(log: EventLog) -> RunEvent:
    return log.add(ReadyEvent(), "r")


def opened(path: Path) -> EventLog:
    log = EventLog(path)
    log.open()
    return log


def followed(path: Path, turns: list[Callable[[], object]], start: int = 1) -> list[int]:
    """The numbers that a reader gets; a turn is what happens while it waits, the last the end."""

    async def wait() -> None:
        turns.pop(0)()

    async def read() -> list[int]:
        events = follow_events(EventReader(path, start), is_alive=lambda: bool(turns), wait=wait)
        return [event.number async for event in events]

    return asyncio.run(asyncio.wait_for(read(), 10))


def test_it_begins_with_the_number_that_is_asked_for(tmp_path: Path) -> None:
    log = opened(tmp_path / "e")
    for _ in range(5):
        ready(log)
    assert [event.number for event in read_events(tmp_path / "e", 4)] == [4, 5]


def test_a_file_that_is_not_there_has_no_events(tmp_path: Path) -> None:
    assert [*read_events(tmp_path / "e")] == []


def test_half_a_line_is_read_when_it_is_whole(tmp_path: Path) -> None:
    path, line = tmp_path / "e", to_line(ReadyEvent(number=1)).encode() + b"\n"
    reader = EventReader(path)
    path.write_bytes(line[:30])
    assert [*reader.fresh()] == []
    path.write_bytes(line)
    assert [event.number for event in reader.fresh()] == [1]
    assert [*reader.fresh()] == []


def test_it_follows_until_the_run_is_finished(tmp_path: Path) -> None:
    log = opened(tmp_path / "e")
    turns: list[Callable[[], object]] = [
        lambda: ready(log),
        lambda: [ready(log), ready(log)],
        lambda: log.add(FinishedEvent(), "r"),
        lambda: ready(log),
    ]
    assert followed(tmp_path / "e", turns) == [1, 2, 3, 4]
    assert len(turns) == 1


def test_it_ends_with_the_process_and_has_all_that_it_wrote(tmp_path: Path) -> None:
    log = opened(tmp_path / "e")
    assert followed(tmp_path / "e", [lambda: ready(log), lambda: ready(log)], start=2) == [2]


def test_a_run_that_was_finished_and_went_on_is_read_beyond_that(tmp_path: Path) -> None:
    log = opened(tmp_path / "e")
    log.add(FinishedEvent(), "r")
    ready(log)
    assert followed(tmp_path / "e", []) == [1, 2]


def test_events_of_some_kinds_are_read_without_the_others(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    events: list[RunEvent] = [
        BeganEvent(number=1),
        TextEvent(number=2, text='{"kind":"began"}'),
        FinishedEvent(number=3, answer='"kind":"began"'),
    ]
    lines = [to_line(event) for event in events]
    path.write_text("\n".join([*lines, '{"kind":"began"']), encoding="utf-8")
    assert [event.number for event in events_of_kinds(path, {"began"})] == [1]
    assert [*events_of_kinds(tmp_path / "none", {"began"})] == []
