"""The events of a run reach standard output, however slow their reader is."""

from __future__ import annotations

import io
import sys
import threading

import pytest
from prefect_swarm.cli.terminal.screens import JsonScreen
from prefect_swarm.store.events import ReadyEvent


class SlowReader(io.StringIO):
    """Takes nothing until it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.let = threading.Event()

    def write(self, text: str, /) -> int:
        assert self.let.wait(30)
        return super().write(text)


def test_a_reader_that_takes_nothing_holds_up_no_event(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = SlowReader()
    monkeypatch.setattr(sys, "stdout", reader)
    with JsonScreen("Compare", lambda _: None) as screen:
        for number in range(1, 101):
            screen.handle(ReadyEvent(number=number))
        assert reader.getvalue() == ""
        reader.let.set()
    assert len(reader.getvalue().splitlines()) == 100


def test_a_reader_that_is_gone_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stdout", closed)
    with JsonScreen("Compare", lambda _: None) as screen:
        screen.handle(ReadyEvent(number=1))
