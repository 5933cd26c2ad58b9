"""`inspect --time` says where a run's time went."""

from __future__ import annotations

from prefect_swarm.metrics.clock import RunTime
from prefect_swarm.store.folder import RunFolder
from run_times import stretch

from .conftest import Invoke
from .test_inspect import RESULT, ended, stored

__all__ = ["ended", "stored"]

TIME = RunTime.of(
    (
        stretch("planning", 98, 100),
        stretch("model", 100, 105, "S1", 1),
        stretch("answer", 105, 106),
    ),
    98,
    106,
)


def measured(run: RunFolder) -> RunFolder:
    run.write("result.json", RESULT.model_copy(update={"time": TIME}))
    return run


def test_the_summary_has_a_line_on_it(stored: RunFolder, invoke: Invoke) -> None:
    lines = invoke("inspect", measured(stored).run_id).stdout.splitlines()
    assert "Time: 8.0 s = model 5.0 (S1) + planning 2.0 + answer 1.0" in lines


def test_each_kind_each_step_and_each_figure_has_a_line(stored: RunFolder, invoke: Invoke) -> None:
    result = invoke("inspect", measured(stored).run_id, "--time")
    assert result.exit_code == 0
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert "model 5.0 s, 62 % a model reads and writes for a step" in lines
    assert "5.0 s S1 model 5.0 s" in lines
    assert any(line.startswith("speedup 1.20 work ÷ makespan") for line in lines)


def test_as_json_it_is_what_the_result_has(stored: RunFolder, invoke: Invoke) -> None:
    shown = invoke("inspect", measured(stored).run_id, "--time", "--json").stdout
    assert RunTime.model_validate_json(shown) == TIME


def test_a_result_of_an_earlier_version_has_no_time(ended: RunFolder, invoke: Invoke) -> None:
    result = invoke("inspect", ended.run_id, "--time")
    assert result.exit_code == 2
    assert "earlier version" in result.output


def test_a_run_that_has_not_ended_has_no_time_yet(stored: RunFolder, invoke: Invoke) -> None:
    result = invoke("inspect", stored.run_id, "--time")
    assert result.exit_code == 2
    assert "no result yet" in result.output


def test_it_is_shown_alone(ended: RunFolder, invoke: Invoke) -> None:
    result = invoke("inspect", ended.run_id, "--time", "--step", "S1")
    assert result.exit_code == 2
    assert "--step and --time exclude each other" in result.output
