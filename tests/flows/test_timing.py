"""Time is noted while something is done."""

from __future__ import annotations

from pathlib import Path

import pytest
from prefect_swarm.flows import timing
from prefect_swarm.flows.timing import NotedTime, other_answers, time_of_run
from prefect_swarm.metrics.clock import Stretch
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.protocol import About
from prefect_swarm.tasks.subagent.request import SubagentResult


def noted(*moments: float) -> NotedTime:
    return NotedTime(clock=iter(moments).__next__)


def test_what_is_done_is_noted_with_its_time() -> None:
    times = noted(1.0, 3.5)
    with times.noted("delay"):
        pass
    assert [(each.kind, each.seconds) for each in times.stretches] == [("delay", 2.5)]


def test_what_fails_is_noted_too() -> None:
    times = noted(1.0, 3.5)
    with pytest.raises(ValueError, match="broken"), times.noted("planning"):
        raise ValueError("broken")
    assert [each.kind for each in times.stretches] == ["planning"]


@pytest.mark.parametrize("ended", [1.0002, 0.5])
def test_what_takes_too_little_to_matter_is_not(ended: float) -> None:
    times = noted(1.0, ended)
    with times.noted("memory"):
        pass
    assert times.stretches == []


def test_what_passed_before_a_run_began_is_counted_from_when_it_was_to_start(
    swarm_home: Path,
) -> None:
    run = RunFolder(swarm_home / "runs" / "0123abcd4567")
    run.write_about(About("0123abcd-4567", "Find out", 100.0, scheduled_at=29.0))
    spent = time_of_run(run, [], {}, [], 102.0)
    assert spent is not None
    assert (spent.total_s, spent.queued_s) == (2.0, 71.0)


def test_a_busy_server_is_named_where_nothing_else_went_on(
    swarm_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = (Stretch(kind="server", started_at=101.0, ended_at=106.0),)
    monkeypatch.setattr(timing, "server_waits", lambda: waits)
    run = RunFolder(swarm_home / "runs" / "0123abcd4567")
    run.write_about(About("0123abcd-4567", "Find out", 100.0))
    answered = Stretch(kind="answer", started_at=104.0, ended_at=110.0)
    spent = time_of_run(run, [], {}, [answered], 110.0)
    assert spent is not None
    assert spent.seconds == {"answer": 6.0, "server": 3.0, "prefect": 1.0}


def test_samples_that_do_not_count_took_their_models_time() -> None:
    drawn = [SubagentResult(model="m", started_at=n, ended_at=n + 2) for n in (1.0, 2.0)]
    assert [(o.kind, o.started_at) for o in other_answers(drawn[1], drawn)] == [("model", 1)]
