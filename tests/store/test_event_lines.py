"""An event comes back from its line as it was, and an unknown one stops nobody."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from prefect_swarm.store.event_log import from_line, to_line
from prefect_swarm.store.events import OtherEvent, ReadyEvent, RunEvent
from run_events import run_events


@given(run_events)
def test_an_event_comes_back_as_it_was(event: RunEvent) -> None:
    line = to_line(event)
    assert "\n" not in line
    assert from_line(line) == event


@given(run_events)
def test_a_line_that_was_cut_off_is_no_event(event: RunEvent) -> None:
    line = to_line(event).encode()
    assert from_line(line[: len(line) // 2]) is None
    assert from_line(line[:-1]) is None


def test_an_event_of_a_later_version_is_read_and_written_again() -> None:
    line = json.dumps({"number": 7, "at": 1.0, "run": "r", "kind": "dreamt", "of": ["sheep"]})
    event = from_line(line)
    assert isinstance(event, OtherEvent)
    assert (event.number, event.kind, event.data["of"]) == (7, "dreamt", ["sheep"])
    assert from_line(to_line(event)) == event


def test_a_field_of_a_later_version_is_passed_over() -> None:
    event = ReadyEvent(number=3, step="S1")
    assert from_line(json.dumps({**event.model_dump(), "mood": "good"})) == event


@pytest.mark.parametrize("line", ["", "[]", "7", '{"kind": 3}', '{"at": 1}', "[" * 100_000])
def test_what_is_no_event_is_none(line: str) -> None:
    assert from_line(line) is None
