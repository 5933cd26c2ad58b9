"""Invariants of a log."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import ClassVar

from conformance.fixtures import LogFixtures, everything, vector
from conformance.model import Append, Forget, Keep, Model, acts
from hypothesis import given, settings
from prefect_swarm.memory.episode import digest_of
from prefect_swarm.memory.protocols import EpisodeLog
from samples import episode


class Whole(LogFixtures):
    """The tests."""

    examples: ClassVar[int] = 60

    def test_a_reader_sees_whole_batches_in_order(
        self, log: EpisodeLog, reopen: Callable[[], EpisodeLog]
    ) -> None:
        """Nothing turns up later at a position that a reader has passed."""
        done = threading.Event()
        writers = 3

        def write(number: int) -> None:
            for batch in range(10):
                first = number * 1000 + batch * 5
                log.append(episode(first + offset) for offset in range(5))

        threads = [threading.Thread(target=write, args=(number,)) for number in range(writers)]
        seen: list[int] = []
        reader = reopen()

        def read() -> None:
            while True:
                over = done.is_set()
                found = reader.since(seen[-1] if seen else 0)
                seen.extend(entry.position for entry in found)
                if over and not found:
                    return

        reading = threading.Thread(target=read)
        for thread in [*threads, reading]:
            thread.start()
        for thread in threads:
            thread.join()
        done.set()
        reading.join()
        assert seen == [entry.position for entry in log.since(0)]
        assert len(seen) == writers * 50

    def test_it_agrees_with_a_list_whatever_is_done(
        self, new_log: Callable[[], EpisodeLog]
    ) -> None:
        @settings(max_examples=self.examples)
        @given(acts)
        def check(done: list[Append | Forget | Keep]) -> None:
            log, model = new_log(), Model()
            for act in done:
                last = log.last_position()
                apply_to_both(act, log, model)
                assert everything(log) == model.episodes
                assert log.forgotten() == model.forgotten
                assert last <= log.last_position()
            digests = {known.digest for known in model.episodes}
            assert log.vectors("e", list(digests)).keys() == model.vectors
            log.close()

        check()


def apply_to_both(act: Append | Forget | Keep, log: EpisodeLog, model: Model) -> None:
    """Do it to both, and compare what they answer."""
    if isinstance(act, Append):
        before = log.last_position()
        new = log.append(act.batch)
        assert new == model.append(act.batch)
        assert [entry.episode for entry in log.since(before)] == model.episodes[-new:][:new]
    elif isinstance(act, Forget):
        meant = log.select(act.namespace, act.which)
        assert [entry.episode for entry in meant] == model.select(act.namespace, act.which)
        gone = log.forget(act.namespace, act.which)
        assert gone == tuple(entry.position for entry in meant)
        assert len(gone) == model.forget(act.namespace, act.which)
        assert log.at(gone) == {}
    else:
        digests = {digest_of(text) for text in act.prompts}
        digests |= {known.digest for known in model.episodes[: len(act.prompts)]}
        log.keep_vectors("e", {digest: vector(1) for digest in digests})
        model.keep(digests)
