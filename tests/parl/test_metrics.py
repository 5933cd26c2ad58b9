"""The metrics say how much of the critical path was cut."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.gates import GateResult
from prefect_swarm.metrics.clock import Stretch
from prefect_swarm.metrics.critical_path import Metrics, critical_path, measure, seconds_of, slacks
from prefect_swarm.store.attempt import Attempt, Usage
from prefect_swarm.store.step import StepState

Ran = tuple[StepState, tuple[str, ...]]
"""A step that ran, and what it waited for."""


def step(name: str, start: float, work: float, *upstream: str, calls: int = 1) -> Ran:
    attempt = Attempt(
        number=1,
        tier="worker",
        model="test",
        started_at=start,
        ended_at=start + work,
        usage=Usage(requests=calls),
    )
    return StepState(id=name, agent="A", status="succeeded", attempts=(attempt,)), upstream


def measured(runs: tuple[Ran, ...], orchestrator_calls: int) -> Metrics:
    return measure([ran for ran, _ in runs], needs(runs), orchestrator_calls)


def needs(runs: tuple[Ran, ...]) -> dict[str, tuple[str, ...]]:
    return {ran.id: upstream for ran, upstream in runs}


def path_of(runs: tuple[Ran, ...]) -> tuple[str, ...]:
    return critical_path(seconds_of(ran for ran, _ in runs), needs(runs))


def slack_of(runs: tuple[Ran, ...]) -> dict[str, float]:
    return slacks(seconds_of(ran for ran, _ in runs), needs(runs))


UNEVEN = (
    step("S1", 0, 5),
    step("S2", 0, 20),
    step("S3", 5, 5, "S1", calls=2),
    step("S4", 20, 1, "S3", "S2"),
)


def test_an_uneven_plan_is_measured() -> None:
    found = measured(UNEVEN, orchestrator_calls=1)
    assert found.makespan_s == 21
    assert found.work_s == 31
    assert found.critical_path_s == 21
    assert found.parallelism == pytest.approx(31 / 21)
    assert found.speedup == pytest.approx(31 / 21)
    assert found.critical_steps == 1 + 1 + 2 + 1  # orchestrator, S1, S3 twice, S4


def test_slack_is_what_a_step_could_have_lost() -> None:
    assert slack_of(UNEVEN) == {"S1": 10, "S2": 0, "S3": 10, "S4": 0}


def test_the_critical_path_is_the_longest_chain() -> None:
    assert path_of(UNEVEN) == ("S2", "S4")


def test_a_run_in_which_nothing_ran_has_zeros() -> None:
    found = measured((), orchestrator_calls=2)
    assert (found.critical_steps, found.makespan_s, found.speedup) == (2, 0, 0)
    assert path_of(()) == ()


def test_upstream_that_never_ran_counts_for_nothing() -> None:
    assert path_of((step("S2", 0, 3, "S1"),)) == ("S2",)


@st.composite
def runs(draw: st.DrawFn) -> tuple[Ran, ...]:
    made: list[Ran] = []
    for n in range(draw(st.integers(1, 12))):
        names = [ran.id for ran, _ in made]
        upstream = draw(st.sets(st.sampled_from(names))) if names else set[str]()
        start = max(
            (ran.attempts[-1].ended_at for ran, _ in made if ran.id in upstream), default=0.0
        )
        made.append(step(f"S{n}", start, draw(st.integers(0, 50)), *sorted(upstream)))
    return tuple(made)


@given(runs())
def test_work_divides_into_path_and_parallelism(plan: tuple[Ran, ...]) -> None:
    found = measured(plan, orchestrator_calls=0)
    assert found.critical_path_s <= found.work_s
    # Started as early as their inputs allow, the plan ends with its critical path.
    assert found.makespan_s == pytest.approx(found.critical_path_s)


@given(runs())
def test_the_critical_path_is_a_chain_without_slack(plan: tuple[Ran, ...]) -> None:
    path, slack = path_of(plan), slack_of(plan)
    by_name = {ran.id: ran for ran, _ in plan}
    assert all(slack[name] == pytest.approx(0) for name in path)
    assert all(before in needs(plan)[after] for before, after in pairwise(path))
    assert sum(by_name[name].work_s for name in path) == measured(plan, 0).critical_path_s


def test_gates_and_reviewers_count_as_work_and_what_runs_side_by_side_counts_once() -> None:
    def gate(since: float, seconds: float, *, cached: bool = False) -> GateResult:
        return GateResult(
            gate="g", status="passed", started_at=since, duration_s=seconds, cached=cached
        )

    (first, _), (second, _) = step("S1", 1, 2), step("S2", 9, 1)
    attempt = first.attempts[0].model_copy(
        update={
            # Two gates side by side, one that is known, and one without a time.
            "gates": (gate(3, 3), gate(4, 1), gate(4, 90, cached=True), gate(0, 90)),
            "stretches": (
                Stretch(kind="model", started_at=2, ended_at=2.5),
                Stretch(kind="model", started_at=6.5, ended_at=8.5),
                Stretch(kind="memory", started_at=8.5, ended_at=9),
            ),
        }
    )
    assert (attempt.duration_s, attempt.work_s, attempt.checked_at) == (2, 2 + 3 + 2, 8.5)
    checked = first.model_copy(update={"attempts": (attempt,)})
    found = measure([checked, second], {"S2": ["S1"]}, 0)
    assert (found.work_s, found.critical_path_s, found.makespan_s) == (8, 8, 9)
    alone = measure([checked], {}, 0)
    assert (alone.makespan_s, alone.critical_path_s) == (7.5, 7)
