"""Time is noted while something is done."""

from __future__ import annotations

import pytest
from prefect_swarm.flows.timing import NotedTime, other_answers
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


def test_samples_that_do_not_count_took_their_models_time() -> None:
    drawn = [SubagentResult(model="m", started_at=n, ended_at=n + 2) for n in (1.0, 2.0)]
    assert [(o.kind, o.started_at) for o in other_answers(drawn[1], drawn)] == [("model", 1)]
