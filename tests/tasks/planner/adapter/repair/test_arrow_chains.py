"""Arrows tell a chain, where each stage is one step."""

from __future__ import annotations

import pytest
from prefect_swarm.tasks.planner.adapter.line_format import read_lines, write_lines
from prefect_swarm.tasks.planner.adapter.repair.pipeline import repair_plan

ARROWS = "clean names.csv → sort the names by town → print the names"
FORK = """\
1. Cleaner: Clean names.csv
2. Sorter: Sort the names by town (needs 1)
3. Printer: Print the names (needs 1)"""
CHAIN = FORK.removesuffix("1)") + "2)"
APART = FORK.replace(" (needs 1)", "")


def _repaired(text: str, objective: str) -> tuple[str, tuple[str, ...]]:
    plan, notes = repair_plan(read_lines(text, objective))
    return write_lines(plan), notes


@pytest.mark.parametrize("arrow", [" → ", "->", " => "])
@pytest.mark.parametrize("text", [FORK, APART])
def test_stages_written_with_arrows_need_one_another(text: str, arrow: str) -> None:
    plan, notes = _repaired(text, ARROWS.replace(" → ", arrow))
    assert plan == CHAIN
    assert notes == ("each step needs the one before: the objective has arrows between them",)


@pytest.mark.parametrize(
    ("text", "objective"),
    [
        (CHAIN, ARROWS),
        (FORK, ARROWS.replace(" → ", ", then ")),
        (FORK, f"{ARROWS} → mail them"),
        (FORK, "clean names.csv → names by town & names by age → print the names"),
        (FORK, "clean names.csv → sort the names by town\nnames -> print"),
        (FORK.replace("1)", "1, 2)", 2).replace("town (needs 1, 2)", "town"), ARROWS),
        (FORK.replace("Print the names", "Bake a cake"), ARROWS),
    ],
    ids=["chain", "no arrows", "more stages", "two in one", "two lines", "a join", "another's"],
)
def test_what_arrows_do_not_tell_stays(text: str, objective: str) -> None:
    assert _repaired(text, objective) == (text, ())
