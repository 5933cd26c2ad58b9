"""Steps that a run took over from another one."""

from __future__ import annotations

from prefect_swarm.report.lines import taken_line, taken_words
from prefect_swarm.store.step import StepState, TakenFrom


def step(number: int, run: str = "") -> StepState:
    name = f"S{number}"
    origin = TakenFrom(run=run, output_ref=f"{run}/outputs/{name}.txt") if run else None
    return StepState(id=name, agent="Reader", status="succeeded", taken_from=origin)


def test_steps_are_named_with_the_run_that_did_them() -> None:
    steps = [step(1, "abc"), step(2), step(3, "def"), step(4, "abc")]
    assert taken_line(steps) == "Taken over: S1, S4 from run abc; S3 from run def."
    assert taken_words(steps[0]) == "taken over from run abc"


def test_without_any_nothing_is_written() -> None:
    assert (taken_line([step(1)]), taken_words(step(1))) == ("", "")


def test_many_steps_are_counted() -> None:
    line = taken_line([step(n, "abc") for n in range(1, 301)])
    assert line.endswith("S12 and 288 more from run abc.")
