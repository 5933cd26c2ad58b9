"""Conformance of forgetting: what it has to remove, and what it has to leave."""

from __future__ import annotations

import pytest
from conformance.fixtures import EVERYTHING, LogFixtures, everything
from prefect_swarm.errors import InputError
from prefect_swarm.memory.episode import Selection
from prefect_swarm.memory.protocols import EpisodeLog
from samples import episode


class Forgetting(LogFixtures):
    """The tests."""

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
