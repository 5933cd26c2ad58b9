"""Conformance of reading from a log."""

from __future__ import annotations

import pytest
from conformance.fixtures import EVERYTHING, LogFixtures, everything, runs
from prefect_swarm.memory.protocols import EpisodeLog
from samples import episode


class Reading(LogFixtures):
    """The tests."""

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
