"""What every `EpisodeLog` has to do. A log's tests inherit this and say how to open one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from prefect_swarm.errors import InputError
from prefect_swarm.memory.episode import Episode, EpisodeKey, Selection, digest_of
from prefect_swarm.memory.protocols import EpisodeLog
from samples import episode, full_episode

EVERYTHING = Selection(everything=True)
AWKWARD_TEXTS = (
    "",
    "Größe: 数 🦙 e\u0301",
    "a\x00b\x00",
    "\x1a0 \x1a1 \x1a",
    "\\x00 \\u0000 ' \" ; -- %s ? {}",
    "\ufffe\uffff\U0010ffff",
    "one\r\ntwo\ttabs",
)


def vector(seed: int, dimension: int = 8) -> np.ndarray[Any, np.dtype[np.float32]]:
    drawn = np.random.default_rng(seed).standard_normal(dimension)
    return (drawn / np.linalg.norm(drawn)).astype(np.float32)


def runs(log: EpisodeLog, namespace: str, **conditions: Any) -> list[str]:
    return [entry.episode.run for entry in log.select(namespace, Selection(**conditions))]


def everything(log: EpisodeLog) -> list[Episode]:
    return [entry.episode for entry in log.since(0, 100_000)]


class LogConformance:
    """The suite. `log` is an empty log; `again` opens the same one once more."""

    @pytest.fixture
    def log(self, request: pytest.FixtureRequest) -> EpisodeLog:
        raise NotImplementedError

    @pytest.fixture
    def again(self, request: pytest.FixtureRequest) -> Callable[[], EpisodeLog]:
        raise NotImplementedError

    # --- append -------------------------------------------------------------------------------

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
            log.append([episode(1), episode(2, reward=float("nan"))])
        assert log.count() == 0

    @pytest.mark.parametrize(
        "wrong", [{"ended_at": float("inf")}, {"terms": {"t": float("nan")}}, {"attempt": 2**64}]
    )
    def test_a_number_that_no_database_holds_is_refused(
        self, log: EpisodeLog, wrong: dict[str, Any]
    ) -> None:
        with pytest.raises(InputError):
            log.append([episode(1, **wrong)])

    def test_what_is_written_is_there_when_it_is_opened_again(
        self, log: EpisodeLog, again: Callable[[], EpisodeLog]
    ) -> None:
        log.append([full_episode()])
        other = again()
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

    # --- reading ------------------------------------------------------------------------------

    def test_since_gives_what_follows_up_to_a_limit(self, log: EpisodeLog) -> None:
        log.append(episode(number) for number in range(5))
        positions = [entry.position for entry in log.since(0)]
        assert [entry.position for entry in log.since(positions[1])] == positions[2:]
        assert [entry.position for entry in log.since(positions[1], 2)] == positions[2:4]
        assert log.since(positions[-1]) == []
        assert log.since(0, 0) == []

    def test_at_gives_what_is_there(self, log: EpisodeLog) -> None:
        log.append(episode(number) for number in range(3))
        first, second, _ = (entry.position for entry in log.since(0))
        assert log.at([second, first, second, 10_000, -1]) == {
            first: episode(0),
            second: episode(1),
        }
        assert log.at([]) == {}

    def test_at_takes_many_positions(self, log: EpisodeLog) -> None:
        log.append(episode(number) for number in range(1200))
        assert len(log.at(range(100_000 // 40))) == 1200

    def test_select_takes_each_condition_and_all_together(self, log: EpisodeLog) -> None:
        log.append([
            episode(1, step="S1", persona="tester", ended_at=10.0, error="It is Broken"),
            episode(2, step="S2", persona="tester", ended_at=20.0, excerpt="broken glass"),
            episode(3, step="S2", persona="editor", ended_at=30.0, objective="UnBROKEN"),
            episode(4, step="S2", persona="editor", ended_at=40.0, prompt="a bro ken line"),
        ])  # fmt: skip
        assert runs(log, "default", run="run-3") == ["run-3"]
        assert runs(log, "default", step="S2") == ["run-2", "run-3", "run-4"]
        assert runs(log, "default", persona="tester") == ["run-1", "run-2"]
        assert runs(log, "default", before=30.0) == ["run-1", "run-2"]
        assert runs(log, "default", containing="bRoKeN") == ["run-1", "run-2", "run-3"]
        assert runs(log, "default", step="S2", before=40.0, containing="broken") == [
            "run-2",
            "run-3",
        ]
        assert runs(log, "default", everything=True) == ["run-1", "run-2", "run-3", "run-4"]
        assert runs(log, "default", everything=True, persona="tester") == ["run-1", "run-2"]
        assert runs(log, "default") == ["run-1", "run-2", "run-3", "run-4"]

    @pytest.mark.parametrize("wanted", ["%", "_", "\\", "'", "a%b", "STRASSE", "İ"])
    def test_containing_means_the_characters_themselves(self, log: EpisodeLog, wanted: str) -> None:
        log.append([episode(1), episode(2, error=f"before {wanted.casefold()} after")])
        assert runs(log, "default", containing=wanted) == ["run-2"]

    def test_equal_means_equal_to_the_letter(self, log: EpisodeLog) -> None:
        log.append([episode(1, run="a"), episode(2, run="A"), episode(3, run="a ")])
        assert runs(log, "default", run="a") == ["a"]

    # --- namespaces ---------------------------------------------------------------------------

    def test_namespaces_never_mix(self, log: EpisodeLog) -> None:
        mine, yours = episode(1, namespace="mine"), episode(1, namespace="yours", prompt="other")
        assert log.append([mine, yours]) == 2
        assert (log.count(), log.count("mine"), log.count("nobody's")) == (2, 1, 0)
        assert [entry.episode for entry in log.select("mine", EVERYTHING)] == [mine]
        entry = log.get("yours", mine.key)
        assert entry is not None
        assert entry.episode == yours
        log.forget("mine", EVERYTHING)
        assert everything(log) == [yours]
        assert log.get("mine", mine.key) is None

    # --- forgetting ---------------------------------------------------------------------------

    @pytest.mark.parametrize(
        "which",
        [
            Selection(run="run-2"),
            Selection(step="S2"),
            Selection(persona="editor"),
            Selection(before=15.0),
            Selection(containing="SECRET"),
            Selection(run="run-2", step="S2", persona="editor", before=15.0, containing="secret"),
            Selection(everything=True, run="run-2"),
        ],
        ids=repr,
    )
    def test_forget_removes_what_is_meant_and_nothing_else(
        self, log: EpisodeLog, which: Selection
    ) -> None:
        rest = [episode(1, ended_at=20.0), episode(3, ended_at=20.0)]
        meant = episode(2, step="S2", persona="editor", ended_at=10.0, excerpt="a Secret")
        log.append([rest[0], meant, rest[1]])
        position = log.since(0)[1].position
        assert log.forget("default", which) == (position,)
        assert everything(log) == rest
        assert log.at([position]) == {}
        assert log.get("default", meant.key) is None

    def test_everything_is_forgotten_on_request_alone(self, log: EpisodeLog) -> None:
        log.append(episode(number) for number in range(3))
        with pytest.raises(InputError, match="what to forget"):
            log.forget("default", Selection())
        assert log.count() == 3
        assert len(log.forget("default", EVERYTHING)) == 3
        assert log.count() == 0

    def test_a_position_is_never_given_again(self, log: EpisodeLog) -> None:
        log.append([episode(1), episode(2)])
        highest = log.last_position()
        log.forget("default", EVERYTHING)
        assert log.last_position() == highest
        log.append([episode(2)])
        assert [entry.position > highest for entry in log.since(0)] == [True]

    def test_the_count_of_forgettings_grows_when_something_goes(self, log: EpisodeLog) -> None:
        log.append([episode(1), episode(2)])
        assert log.forget("default", Selection(run="nothing")) == ()
        assert log.forgotten() == 0
        log.forget("default", Selection(run="run-1"))
        log.forget("default", Selection(run="run-2"))
        assert log.forgotten() == 2

    def test_a_forgotten_key_may_be_written_again(self, log: EpisodeLog) -> None:
        log.append([episode(1)])
        log.forget("default", EVERYTHING)
        assert log.append([episode(1)]) == 1

    # --- vectors ------------------------------------------------------------------------------

    def test_vectors_come_back_bit_for_bit(self, log: EpisodeLog) -> None:
        written = [episode(number) for number in range(700)]
        log.append(written)
        kept = {one.digest: vector(number) for number, one in enumerate(written)}
        kept[written[0].digest] = np.array([0, 1e-40, -0.0, 3.4e38, 1 / 3, 1, 2, 3], np.float32)
        log.keep_vectors("llama 1", kept)
        found = log.vectors("llama 1", [*kept, digest_of("unknown"), "no digest"])
        assert {digest: held.tobytes() for digest, held in found.items()} == {
            digest: held.tobytes() for digest, held in kept.items()
        }
        assert {held.dtype for held in found.values()} == {np.dtype(np.float32)}

    def test_embedders_never_mix_whatever_their_dimension(self, log: EpisodeLog) -> None:
        one = episode()
        log.append([one])
        log.keep_vectors("small", {one.digest: vector(1, 4)})
        log.keep_vectors("large", {one.digest: vector(2, 1024)})
        assert log.vectors("small", [one.digest])[one.digest].shape == (4,)
        assert log.vectors("large", [one.digest])[one.digest].shape == (1024,)
        assert log.vectors("other", [one.digest]) == {}

    def test_a_vector_that_is_there_stays(self, log: EpisodeLog) -> None:
        one = episode()
        log.append([one])
        log.keep_vectors("e", {one.digest: vector(1)})
        log.keep_vectors("e", {one.digest: vector(2)})
        assert (log.vectors("e", [one.digest])[one.digest] == vector(1)).all()

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

    # --- the rest -----------------------------------------------------------------------------

    def test_vacuum_changes_nothing_that_is_read(self, log: EpisodeLog) -> None:
        log.append(episode(number) for number in range(10))
        log.keep_vectors("e", {episode(7).digest: vector(7)})
        log.forget("default", Selection(run="run-3"))
        before = log.since(0), log.last_position(), log.forgotten()
        log.vacuum()
        assert (log.since(0), log.last_position(), log.forgotten()) == before
        assert list(log.vectors("e", [episode(7).digest])) == [episode(7).digest]

    def test_a_reader_sees_whole_batches_in_order(
        self, log: EpisodeLog, again: Callable[[], EpisodeLog]
    ) -> None:
        """Nothing turns up later at a position that a reader has passed."""
        done = threading.Event()
        writers = 3

        def write(number: int) -> None:
            for batch in range(10):
                first = number * 1000 + batch * 5
                log.append(episode(first + one) for one in range(5))

        threads = [threading.Thread(target=write, args=(number,)) for number in range(writers)]
        seen: list[int] = []
        reader = again()

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
