"""Each thread and process has its own, and it is closed when that has ended."""

from __future__ import annotations

import os
import threading

import pytest
from prefect_swarm.memory.log.per_thread import PerThread


class Opened:
    """Opens numbers, and knows which are open."""

    def __init__(self) -> None:
        self.count = 0
        self.open: set[int] = set()
        self.mine = PerThread(self._open, self.open.discard)

    def _open(self) -> int:
        self.count += 1
        self.open.add(self.count)
        return self.count


def in_a_thread(opened: Opened) -> list[int]:
    got: list[int] = []
    thread = threading.Thread(target=lambda: got.append(opened.mine.get()))
    thread.start()
    thread.join()
    return got


def test_a_thread_keeps_its_own() -> None:
    opened = Opened()
    assert [opened.mine.get(), opened.mine.get()] == [1, 1]


def test_another_thread_has_another_and_it_is_closed_with_the_thread() -> None:
    opened = Opened()
    opened.mine.get()
    assert in_a_thread(opened) == [2]
    assert opened.open == {1}


def test_one_that_was_dropped_is_closed_and_replaced() -> None:
    opened = Opened()
    opened.mine.get()
    opened.mine.drop()
    assert opened.open == set()
    assert opened.mine.get() == 2


def test_close_closes_those_of_all_threads() -> None:
    opened = Opened()
    opened.mine.get()
    there, over = threading.Event(), threading.Event()

    def hold() -> None:
        opened.mine.get()
        there.set()
        over.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    there.wait()
    assert opened.open == {1, 2}
    opened.mine.close()
    assert opened.open == set()
    over.set()
    thread.join()


def test_a_forked_process_leaves_alone_what_is_its_parents(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Opened()
    opened.mine.get()
    parent = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: parent + 1)
    assert opened.mine.get() == 2
    opened.mine.close()
    assert opened.open == {1}
