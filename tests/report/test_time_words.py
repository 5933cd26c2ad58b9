"""Where the time of a run went, as people are shown it."""

from __future__ import annotations

from hypothesis import given
from prefect_swarm.metrics.clock import RunTime
from prefect_swarm.metrics.time_breakdown import explain
from prefect_swarm.report.lines import (
    path_table,
    run_figures,
    time_blocks,
    time_figures,
    time_line,
)
from prefect_swarm.report.page import Figures, Ref, Table
from prefect_swarm.store.attempt import Attempt
from prefect_swarm.store.result import Cost, Metrics
from prefect_swarm.store.step import StepState
from run_times import TimedRun, stretch, timed_runs

STRETCHES = (
    stretch("planning", 100, 102),
    stretch("model", 102, 106, "S1", 1),
    stretch("gate", 106, 107, "S1", 1),
    stretch("model", 107, 109, "S2", 1),
    stretch("prefect", 109, 109.01, "S2", 1),
    stretch("answer", 109.01, 110),
)
TIME = RunTime.of(STRETCHES, 100, 110)
TRIES = tuple(
    Attempt(number=1, tier="worker", model="m", started_at=since, ended_at=until)
    for since, until in ((102, 106), (107, 109))
)
STEPS = [
    StepState(id=f"S{n}", agent="Reader", status="succeeded", attempts=(tried,))
    for n, tried in enumerate(TRIES, 1)
]


def test_a_line_has_the_kinds_with_their_steps_the_most_first() -> None:
    assert time_line(TIME) == (
        "10.0 s = model 6.0 (S1, S2) + planning 2.0 + gates 1.0 (S1) + answer 1.0"
    )


def test_many_steps_are_counted() -> None:
    many = tuple(stretch("model", n, n + 1, f"S{n}") for n in range(6))
    assert time_line(RunTime.of(many, 0, 6)) == "6.0 s = model 6.0 (S0, S1, S2, S3 and 2 more)"


def test_what_is_too_little_to_be_named_is_named_together() -> None:
    kinds = ("model", "gate", "tool")
    small = tuple(stretch(kind, n * 0.04, (n + 1) * 0.04) for n, kind in enumerate(kinds))
    assert time_line(RunTime.of(small, 0, 0.12)) == "0.1 s = other 0.1"


def test_what_a_run_waited_for_before_it_began_is_named() -> None:
    queued = RunTime.of(STRETCHES, 100, 110, 71.0)
    assert time_line(queued).endswith("+ answer 1.0, after 1:11 in Prefect's queue")
    shown = {each.name: each for each in time_figures(queued, STEPS).figures}
    assert shown["in Prefect's queue"].value == "1:11"
    assert "queue" not in time_line(RunTime.of(STRETCHES, 100, 110, 0.3))


def test_the_total_is_what_was_before_in_and_after_the_steps() -> None:
    shown = {each.name: each for each in time_figures(TIME, STEPS).figures}
    assert [shown[name].value for name in ("before the steps", "makespan", "after the steps")] == [
        "2.0 s",
        "7.0 s",
        "1.0 s",
    ]
    assert shown["total"].value == "10.0 s"
    assert shown["makespan"].meaning.endswith(": model 6.0 s, gates 1.0 s")


def test_each_figure_has_its_meaning_beside_it() -> None:
    metrics = Metrics(
        critical_steps=3,
        makespan_s=7,
        critical_path_s=6,
        work_s=6,
        parallelism=1,
        speedup=0.9,
        total_s=10,
    )
    figures = run_figures(metrics, Cost(calls=3, tokens=1200, money_usd=0.1)).figures
    assert all(each.meaning for each in figures)
    assert {each.name: each.value for each in figures}["cost"] == "3 calls, 1,200 tokens, $0.1000"


def test_the_path_says_what_each_step_took_and_for_what() -> None:
    assert path_table(TIME).rows == (
        ("2.0 s", "the run", "planning 2.0 s"),
        ("5.0 s", Ref("S1", "S1"), "model 4.0 s, gates 1.0 s"),
        ("2.0 s", Ref("S2", "S2"), "model 2.0 s"),
        ("1.0 s", "the run", "answer 1.0 s"),
    )


def test_a_long_path_is_cut_and_says_so() -> None:
    many = tuple(stretch("model", n, n + 1, f"S{n}") for n in range(60))
    table = path_table(RunTime.of(many, 0, 60))
    assert (len(table.rows), table.more) == (40, 20)


def test_a_result_that_was_not_measured_has_no_blocks() -> None:
    assert time_blocks(None, STEPS) == []


@given(timed_runs())
def test_any_run_can_be_shown(run: TimedRun) -> None:
    stretches = explain(run.turns, run.upstream, run.around, run.began_at, run.ended_at)
    spent = RunTime.of(stretches, run.began_at, run.ended_at)
    figures, path = time_blocks(spent, [])
    assert isinstance(figures, Figures)
    assert isinstance(path, Table)
    assert "\n" not in time_line(spent)
