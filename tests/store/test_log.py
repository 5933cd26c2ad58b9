"""A run's file of events: numbered, whole, bounded, and never in the run's way."""

from __future__ import annotations

import errno
import logging
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.store import event_log as log_module
from prefect_swarm.store.event_log import EventLog, opened_log, read_events
from prefect_swarm.store.events import CutEvent, FinishedEvent, ReadyEvent, RunEvent, TextEvent
from run_events import run_events, texts


def add_all(path: Path, events: Sequence[RunEvent], **bounds: int) -> list[RunEvent]:
    log = EventLog(path, clock=lambda: 5.0, **bounds)
    log.open()
    added = [log.add(event, "r") for event in events]
    log.close()
    return added


@given(st.lists(run_events), st.lists(run_events), st.binary(max_size=30))
def test_numbers_go_on_in_the_next_process_whatever_a_kill_cut_off(
    before: list[RunEvent], after: list[RunEvent], torn: bytes
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "events.jsonl"
        added = add_all(path, before)
        with path.open("ab") as file:
            file.write(torn.replace(b"\n", b""))
        added += add_all(path, after)
        assert [event.number for event in added] == [*range(1, len(added) + 1)]
        assert [*read_events(path)] == added


@given(st.lists(texts | run_events, max_size=40), st.integers(0, 3000))
def test_the_file_stays_within_its_bound_and_says_once_what_is_cut(
    events: list[RunEvent], bound: int
) -> None:
    # An event may end the file's room; what says so is one more line.
    given_cuts = sum(isinstance(event, CutEvent) for event in events)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "events.jsonl"
        add_all(path, [*events, FinishedEvent()], text_bytes=bound, most_bytes=2 * bound)
        kept = [*read_events(path)]
        size = path.stat().st_size
    numbers = [event.number for event in kept]
    assert numbers == sorted(set(numbers))
    assert isinstance(kept[-1], FinishedEvent)
    assert sum(isinstance(event, CutEvent) for event in kept) <= given_cuts + 2
    lines = [len(event.model_dump_json()) for event in kept if isinstance(event, FinishedEvent)]
    assert size <= 2 * bound + 400 + 4 * sum(lines)


def test_texts_go_first(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    text, ready = TextEvent(text="x" * 100), ReadyEvent(step="S1")
    add_all(path, [text, text, text, ready, text, ready], text_bytes=300, most_bytes=9000)
    kinds = [(event.number, event.kind) for event in read_events(path)]
    assert kinds == [(1, "text"), (2, "cut"), (4, "ready"), (6, "ready")]


def test_only_the_owner_may_read_it(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    add_all(path, [ReadyEvent()])
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_full_disk_ends_the_file_with_one_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "events.jsonl"
    write = log_module.append_bytes

    def fill(descriptor: int, data: bytes) -> None:
        if b'"S2"' in data:
            os.write(descriptor, data[:20])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(descriptor, data)

    monkeypatch.setattr(log_module, "append_bytes", fill)
    logger = logging.getLogger("prefect_swarm.runs")
    monkeypatch.setattr(logger, "propagate", True)
    with caplog.at_level("WARNING"), opened_log(path) as log:
        added = [log.add(ReadyEvent(step=f"S{n}"), "r") for n in range(1, 6)]
    assert [event.number for event in added] == [1, 2, 3, 4, 5]
    assert [event.step for event in read_events(path)] == ["S1"]
    assert [record.message for record in caplog.records] == [
        f"{path} can't be written: No space left on device. "
        "The run goes on; its events are not kept any more."
    ]


def test_a_folder_that_cannot_be_written_costs_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("WARNING"), opened_log(tmp_path / "gone" / "events.jsonl") as log:
        assert log.add(ReadyEvent(), "r").number == 1
        assert log.add(ReadyEvent(), "r").number == 2
    assert len(caplog.records) == 1
