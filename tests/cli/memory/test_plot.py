"""A plot of a terminal stands on one axis, whatever its figures."""

from __future__ import annotations

from datetime import UTC

from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.cli.memory.persona import plot_lines
from prefect_swarm.report.memory_pages import Expectation, Period
from rich.cells import cell_len

rates = st.floats(0, 1)


def period(first: float, second: float, third: float) -> Period:
    low, mean, high = sorted((first, second, third))
    return Period(0.0, 3, 2, Expectation(mean, low, high))


found_periods = st.builds(period, rates, rates, rates)


def test_each_period_has_its_mark_between_its_bounds() -> None:
    axis, line = plot_lines([Period(0.0, 4, 3, Expectation(0.5, 0.25, 0.75))], 54, UTC)
    assert axis == "                  0%       50%    100%"
    assert line == "1970-01-01 00:00  ·····├────●────┤····  3 of 4"


@given(st.lists(found_periods, min_size=1, max_size=5), st.integers(10, 300))
def test_all_signs_are_as_wide_as_each_other(found: list[Period], width: int) -> None:
    axis, *lines = plot_lines(found, width, UTC)
    plots = [line.split("  ")[1] for line in lines]
    assert {cell_len(plot) for plot in plots} == {len(plots[0])} == {len(axis) - 18}
    assert all(plot.count("●") == 1 for plot in plots)
