"""The tables of the bench follow from what the runs came to."""

from __future__ import annotations

from typing import Any

from wide_search.arms import ARMS
from wide_search.measure import MODELS
from wide_search.tables import beaten, cells_of, section_of


def ran(model: str, arm: str, trial: int = 0, **figures: Any) -> dict[str, Any]:
    item_f1 = figures.pop("item_f1", 1.0)
    return {
        "model": model,
        "arm": arm,
        "question": "wide-1",
        "trial": trial,
        "score": {"row_f1": item_f1, "item_f1": item_f1, "success": 0.0},
        "seconds": 100.0,
        "usd": 1.0,
        "tokens": 1_000,
        "requests": 10,
        **figures,
    }


def test_trials_of_a_cell_are_averaged_and_their_best_is_known() -> None:
    [cell] = cells_of([ran("flawed", "turns", n, item_f1=n / 4, usd=n) for n in (1, 2, 3)])
    assert (cell.score.item_f1, cell.best.item_f1, cell.usd) == (0.5, 0.75, 2.0)


def test_what_costs_more_and_scores_lower_is_found() -> None:
    cells = cells_of(
        [
            ran("oracle", "one agent", item_f1=0.9),
            ran("oracle", "turns", item_f1=0.8, usd=1.1),
            ran("oracle", "for each", item_f1=0.8, usd=0.9),
            ran("oracle", "serial plan", item_f1=0.95, usd=2.0),
        ]
    )
    assert [cell.arm for cell in beaten(cells)] == ["turns"]


def test_a_figure_that_misses_its_goal_is_bold() -> None:
    slow = [ran(model, arm.name) for model in MODELS for arm in ARMS]
    assert "| for each | **1.00 ×** | **+0.0** | 1.00 |" in section_of(cells_of(slow))
    fast = [
        each if each["arm"] == "one agent" else {**each, "seconds": 10.0, "usd": 2.0}
        for each in slow
    ]
    assert "| for each | 10.00 × | **+0.0** | **2.00** |" in section_of(cells_of(fast))
