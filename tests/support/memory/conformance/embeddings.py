"""How a log keeps embeddings."""

from __future__ import annotations

import numpy as np
from conformance.fixtures import EVERYTHING, LogFixtures, vector
from prefect_swarm.memory.episode import Selection, digest_of
from prefect_swarm.memory.protocols import EpisodeLog
from samples import episode


class Embeddings(LogFixtures):
    """The tests."""

    def test_vectors_come_back_bit_for_bit(self, log: EpisodeLog) -> None:
        written = [episode(number) for number in range(700)]
        log.append(written)
        kept = {known.digest: vector(number) for number, known in enumerate(written)}
        kept[written[0].digest] = np.array([0, 1e-40, -0.0, 3.4e38, 1 / 3, 1, 2, 3], np.float32)
        log.keep_vectors("llama 1", kept)
        found = log.vectors("llama 1", [*kept, digest_of("unknown"), "no digest"])
        assert {digest: held.tobytes() for digest, held in found.items()} == {
            digest: held.tobytes() for digest, held in kept.items()
        }
        assert {held.dtype for held in found.values()} == {np.dtype(np.float32)}

    def test_embedders_never_mix_whatever_their_dimension(self, log: EpisodeLog) -> None:
        written = episode()
        log.append([written])
        log.keep_vectors("small", {written.digest: vector(1, 4)})
        log.keep_vectors("large", {written.digest: vector(2, 1024)})
        assert log.vectors("small", [written.digest])[written.digest].shape == (4,)
        assert log.vectors("large", [written.digest])[written.digest].shape == (1024,)
        assert log.vectors("other", [written.digest]) == {}

    def test_a_vector_that_is_there_stays(self, log: EpisodeLog) -> None:
        written = episode()
        log.append([written])
        log.keep_vectors("e", {written.digest: vector(1)})
        log.keep_vectors("e", {written.digest: vector(2)})
        assert (log.vectors("e", [written.digest])[written.digest] == vector(1)).all()

    def test_no_vectors_are_no_vectors(self, log: EpisodeLog) -> None:
        log.keep_vectors("e", {})
        assert log.vectors("e", []) == {}

    def test_a_vector_is_forgotten_with_the_last_that_needs_it(self, log: EpisodeLog) -> None:
        shared = [episode(1, prompt="shared"), episode(2, prompt="shared", namespace="other")]
        alone = episode(3, prompt="alone")
        log.append([*shared, alone])
        both = [shared[0].digest, alone.digest]
        log.keep_vectors("e", {digest: vector(1) for digest in both})
        log.forget("default", EVERYTHING)
        assert set(log.vectors("e", both)) == {shared[0].digest}
        log.forget("other", EVERYTHING)
        assert log.vectors("e", both) == {}

    def test_a_vector_whose_text_was_forgotten_meanwhile_is_not_kept(self, log: EpisodeLog) -> None:
        log.keep_vectors("e", {digest_of("forgotten"): vector(1)})
        assert log.vectors("e", [digest_of("forgotten")]) == {}

    def test_vacuum_changes_nothing_that_is_read(self, log: EpisodeLog) -> None:
        log.append(episode(number) for number in range(10))
        log.keep_vectors("e", {episode(7).digest: vector(7)})
        log.forget("default", Selection(run="run-3"))
        before = log.since(0), log.last_position(), log.forgotten()
        log.vacuum()
        assert (log.since(0), log.last_position(), log.forgotten()) == before
        assert list(log.vectors("e", [episode(7).digest])) == [episode(7).digest]
