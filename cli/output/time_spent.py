"""Where the time of a run went, for `inspect --time`."""

from __future__ import annotations

from ...errors import InputError
from ...result import SwarmResult
from ...tasks.report.explained import path_table, run_figures, time_figures, time_line
from ...tasks.report.page import Figures, Table, words_of
from .printing import print_json, print_section, print_table, print_text

__all__ = ["print_time"]


def print_time(result: SwarmResult, *, as_json: bool = False) -> None:
    """Print what each second of a run went to, and what each of its figures means.

    Raises:
        InputError: An earlier version made the result, and did not measure it.
    """
    if (spent := result.time) is None:
        raise InputError(
            f"Run {result.run_id} was made by an earlier version, which did not measure this.",
            "Its attempts have their times: inspect RUN --step S1.",
        )
    if as_json:
        print_json(spent)
        return
    print_text(time_line(spent))
    print_section("What the time went to")
    _print_figures(time_figures(spent, result.steps))
    print_section("What the end waited for, in order")
    _print_table(path_table(spent))
    print_section("Figures")
    _print_figures(run_figures(result.metrics, result.cost))


def _print_figures(figures: Figures) -> None:
    # Not a table, whose last column is cut: a meaning is read as a whole, or not at all.
    names = max(len(each.name) for each in figures.figures)
    values = max(len(each.value) for each in figures.figures)
    for each in figures.figures:
        print_text(f"{each.name.ljust(names)}  {each.value.rjust(values)}  {each.meaning}")


def _print_table(table: Table) -> None:
    rows = [[words_of((cell,)) for cell in row] for row in table.rows]
    print_table(table.header, rows, right=frozenset({"Took"}))
    if table.more:
        print_text(f"and {table.more} more")
