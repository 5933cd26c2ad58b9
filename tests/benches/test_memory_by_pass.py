"""The table of passes with and without a memory."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

BENCHES = Path(__file__).parents[2] / "benches"


@pytest.fixture(autouse=True)
def bench(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(BENCHES / "gates")
    monkeypatch.syspath_prepend(BENCHES / "memory")


def rows(*measured: Any) -> list[str]:
    return import_module("by_pass").by_pass(measured).splitlines()[2:]


def measured(tokens: int, *right: bool) -> Any:
    tally = import_module("tally")
    outcomes = tuple(
        tally.Outcome(
            id="x", kind="text", accepted=True, flaw="" if is_right else "wrong", attempts=2
        )
        for is_right in right
    )
    return tally.Measured(configuration="x", outcomes=outcomes, tokens=tokens, seconds=1.0)


def test_each_pass_has_a_row_and_all_have_one() -> None:
    first = measured(10, True, True), measured(9, True, False)
    second = measured(20, True, True), measured(30, False, False)
    assert rows(*first, *second) == [
        "| 1 | 2 | 1 | 2 | 2 | 5 | 9 | 2.00 | 2.00 |",
        "| 2 | 2 | 0 | 2 | 2 | 10 |  | 2.00 | 2.00 |",
        "| all | 4 | 1 | 4 | 4 | 8 | 39 | 2.00 | 2.00 |",
    ]


def test_a_pass_without_its_other_half_is_left_out() -> None:
    assert rows(measured(10, True)) == []
