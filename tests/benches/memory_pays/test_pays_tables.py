"""The tables of the bench follow from what the uses came to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from memory_pays.arms import ALL, ARMS, OFF
from memory_pays.family import DRIFT, USES
from memory_pays.tables import DECIDED, ratio, recovered, section_of, uses_of


def rows(arm: str, attempts: Callable[[int], float]) -> list[dict[str, Any]]:
    return [
        {
            "arm": arm,
            "seed": seed,
            "use": use,
            "status": "completed" if use > 1 else "failed",
            "attempts": attempts(use),
            "usd": attempts(use) / 100,
            "makespan_s": 10 * attempts(use),
            "depth": 3,
            **dict.fromkeys(DECIDED, 1),
        }
        for seed in (1, 2)
        for use in range(1, USES + 1)
    ]


def ran(with_memory: Callable[[int], float]) -> dict[str, dict[tuple[int, int], Any]]:
    others = [row for arm in ARMS if arm != ALL for row in rows(arm, lambda _: 10)]
    return uses_of([*rows(ALL, with_memory), *others])


def test_a_ratio_is_of_the_sums_over_the_same_uses_of_the_same_seeds() -> None:
    arms = ran(lambda use: 5 if use <= 10 else 8)
    assert ratio(arms[ALL], arms[OFF], "attempts", (1, 10)) == 0.5
    assert ratio(arms[ALL], arms[OFF], "attempts", (1, 20)) == pytest.approx(0.65)
    late = {key: row for key, row in arms[ALL].items() if key[1] > 10}
    assert ratio(late, arms[OFF], "attempts", (1, 20)) == pytest.approx(0.8)


def test_a_goal_that_is_missed_is_bold() -> None:
    text = section_of(ran(lambda _: 9), ran(lambda _: 9))
    assert "| attempts | 0.90 | 0.90 | 0.90 | **0.90** | 0.90 | 0.90 |" in text
    assert "| cost | 0.90 | 0.90 | 0.90 | **0.90** |" in text
    assert "| makespan | 0.90 | 0.90 | 0.90 | 0.90 |" in text
    assert "| not completed, with memory | 2 of 20 | 0 of 20 |" in text


def test_it_is_told_how_often_both_ways_come_to_the_same() -> None:
    whole = ran(lambda use: 9 if use <= 7 else 6)
    text = section_of(whole, ran(lambda _: 9))
    assert f"| {ALL} | {2 * USES} | 14 | {2 * USES} | 0.70 | 0.70 | 0.70 |" in text


def test_a_mechanism_that_saves_is_above_one() -> None:
    arms = ran(lambda _: 8)
    assert "| without personas | 80 | 1.25 | 1.25 | 1.25 | 1.00 | 1.25 |" in section_of(arms, arms)


def test_uses_until_a_figure_is_what_it_was_before_the_drift() -> None:
    back = ran(lambda use: 10 if DRIFT < use <= DRIFT + 8 else 7)
    found = recovered(back[ALL], back[OFF])
    assert found is not None
    assert 8 < found <= 13
    assert "They are after" in section_of(back, back)
    never = ran(lambda use: 7 if use <= DRIFT else 9)
    assert recovered(never[ALL], never[OFF]) is None
    assert "**They aren't.**" in section_of(never, never)
