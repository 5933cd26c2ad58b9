"""Conformance of appending to a log."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from conformance.fixtures import LogFixtures, everything, runs
from prefect_swarm.errors import InputError
from prefect_swarm.memory.episode import Episode, EpisodeKey
from prefect_swarm.memory.protocols import EpisodeLog
from samples import episode, full_episode

AWKWARD_TEXTS = (
    "",
    "Größe: 数 🦙 e\u0301",
    "a\x00b\x00",
    "\x1a0 \x1a1 \x1a",
    "\\x00 \\u0000 ' \" ; -- %s ? {}",
    "\ufffe\uffff\U0010ffff",
    "one\r\ntwo\ttabs",
)


def unchecked(written: Episode, **changes: Any) -> Episode:
    """Change an episode without its own checks, which most wrong numbers don't pass."""
    return written.model_copy(update=changes)


class Appending(LogFixtures):
    """The tests."""

    def test_an_empty_log_has_nothing(self, log: EpisodeLog) -> None:
        assert (log.count(), log.last_position(), log.forgotten()) == (0, 0, 0)
        assert log.since(0) == []
        assert log.get("default", EpisodeKey("run-1", "S1", 1)) is None

    def test_nothing_appended_is_nothing_new(self, log: EpisodeLog) -> None:
        assert log.append([]) == 0

    def test_an_episode_comes_back_as_it_was(self, log: EpisodeLog) -> None:
        written = full_episode()
        assert log.append([written]) == 1
        entry = log.get("default", written.key)
        assert entry is not None
        assert entry.episode == written

    def test_positions_grow_in_the_order_of_writing(self, log: EpisodeLog) -> None:
        log.append(episode(number) for number in (3, 1, 2))
        log.append([episode(0)])
        entries = log.since(0)
        assert [entry.episode.run for entry in entries] == ["run-3", "run-1", "run-2", "run-0"]
        positions = [entry.position for entry in entries]
        assert positions == sorted(set(positions))
        assert positions[0] > 0
        assert log.last_position() == positions[-1]

    def test_a_key_that_is_there_stays_as_it_is(self, log: EpisodeLog) -> None:
        first = episode(1, prompt="first")
        log.append([first])
        assert log.append([episode(1, prompt="second"), episode(2)]) == 1
        assert everything(log) == [first, episode(2)]

    def test_a_key_twice_in_one_batch_is_written_once(self, log: EpisodeLog) -> None:
        assert log.append([episode(1, prompt="first"), episode(1, prompt="second")]) == 1
        assert [written.prompt for written in everything(log)] == ["first"]

    def test_a_key_from_two_threads_is_written_once(self, log: EpisodeLog) -> None:
        start = threading.Barrier(4)
        new: list[int] = []

        def write() -> None:
            start.wait()
            new.extend(log.append([episode(number)]) for number in range(20))

        threads = [threading.Thread(target=write) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(new) == 80
        assert sum(new) == log.count() == 20

    def test_a_batch_is_written_whole_or_not_at_all(self, log: EpisodeLog) -> None:
        with pytest.raises(InputError, match="reward is nan"):
            log.append([episode(1), unchecked(episode(2), reward=float("nan"))])
        assert log.count() == 0

    @pytest.mark.parametrize(
        "wrong", [{"ended_at": float("inf")}, {"terms": {"t": float("nan")}}, {"attempt": 2**64}]
    )
    def test_a_number_that_no_database_holds_is_refused(
        self, log: EpisodeLog, wrong: dict[str, Any]
    ) -> None:
        with pytest.raises(InputError):
            log.append([unchecked(episode(1), **wrong)])

    def test_what_is_written_is_there_when_it_is_opened_again(
        self, log: EpisodeLog, reopen: Callable[[], EpisodeLog]
    ) -> None:
        log.append([full_episode()])
        other = reopen()
        assert everything(other) == [full_episode()]
        assert other.append([full_episode()]) == 0

    @pytest.mark.parametrize("text", AWKWARD_TEXTS, ids=ascii)
    def test_any_text_comes_back(self, log: EpisodeLog, text: str) -> None:
        written = episode(
            run=f"r{text}", step=f"s{text}", namespace=f"n{text}"[:80], prompt=text, error=text,
            objective=text, persona=text, excerpt=text, terms={text: 0.1}, upstream=(text,),
            used=(EpisodeKey(text, text, 1),),
        )  # fmt: skip
        log.append([written])
        entry = log.get(written.namespace, written.key)
        assert entry is not None
        assert entry.episode == written
        assert runs(log, written.namespace, persona=text) == [written.run]

    def test_a_huge_text_comes_back(self, log: EpisodeLog) -> None:
        written = episode(prompt="x" * 5_000_000 + "\x00 größer", excerpt="y" * 1_000_000)
        log.append([written])
        assert everything(log) == [written]
        assert runs(log, "default", containing="GRÖSSER") == ["run-1"]
