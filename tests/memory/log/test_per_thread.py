"""Each thread and process has its own, and it is closed when that has ended."""

from __future__ import annotations

import os
import threading

import pytest
from prefect_swarm.memory.log.rows import PerThread


class NumberOpener:
    """Opens numbers, and knows which are open."""

    def __init__(self) -> None:
        self.count = 0
        self.open: set[int] = set()
        self.mine = PerThread(self._open, self.open.discard)

    def _open(self) -> int:
        self.count += 1
        self.open.add(self.count)
        return self.count


def get_in_thread(opener: NumberOpener) -> list[int]:
    numbers: list[int] = []
    thread = threading.Thread(target=lambda: numbers.append(opener.mine.get()))
    thread.start()
    thread.join()
    return numbers


def test_a_thread_keeps_its_own() -> None:
    opener = NumberOpener()
    assert [opener.mine.get(), opener.mine.get()] == [1, 1]


def test_another_thread_has_another_and_it_is_closed_with_the_thread() -> None:
    opener = NumberOpener()
    opener.mine.get()
    assert get_in_thread(opener) == [2]
    assert opener.open == {1}


def test_one_that_was_dropped_is_closed_and_replaced() -> None:
    opener = NumberOpener()
    opener.mine.get()
    opener.mine.drop()
    assert opener.open == set()
    assert opener.mine.get() == 2


def test_close_closes_those_of_all_threads() -> None:
    opener = NumberOpener()
    opener.mine.get()
    has_opened, over = threading.Event(), threading.Event()

    def hold() -> None:
        opener.mine.get()
        has_opened.set()
        over.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    has_opened.wait()
    assert opener.open == {1, 2}
    opener.mine.close()
    assert opener.open == set()
    over.set()
    thread.join()


def test_a_forked_process_leaves_alone_what_is_its_parents(monkeypatch: pytest.MonkeyPatch) -> None:
    opener = NumberOpener()
    opener.mine.get()
    parent = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: parent + 1)
    assert opener.mine.get() == 2
    opener.mine.close()
    assert opener.open == {1}
