"""Drawn costs add up to the run's cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from prefect_swarm.report.page import RunView
from prefect_swarm.report.svg.costs import Spent, by_model, by_step, costs_svg
from prefect_swarm.report.svg.theme import amount, fitted, seconds
from prefect_swarm.store.result import Cost
from report_views import HOSTILE, attempt, busy_view, large_view, step, view_of_steps


@pytest.mark.parametrize("view", [busy_view(), large_view()], ids=["busy", "large"])
@pytest.mark.parametrize("split", [by_step, by_model])
def test_parts_add_up_to_the_whole(
    view: RunView, split: Callable[[RunView], Sequence[Spent]]
) -> None:
    parts = split(view)
    assert sum(part.usage.tokens for part in parts) == view.cost.tokens
    money = sum(part.usage.cost_usd or 0.0 for part in parts)
    assert money == pytest.approx(view.cost.money_usd)


def test_models_stand_with_what_they_took() -> None:
    assert [spent.name for spent in by_model(busy_view())] == [
        "openai:gpt-5-mini",
        "openai:gpt-5",
        "anthropic:claude-sonnet",
        "answer and the rest",
    ]


def test_many_steps_are_summed_up() -> None:
    parts = by_step(large_view())
    assert "276 other steps" in [part.name for part in parts]


def test_a_run_that_asked_nothing_has_no_costs() -> None:
    assert costs_svg(replace(view_of_steps(), cost=Cost(), planning=None)) == ""


def test_what_a_model_wrote_is_text() -> None:
    view = view_of_steps(step("S1", HOSTILE, attempt(1, 0, 2, model=HOSTILE)))
    drawn = costs_svg(view)
    tags = {each.tag.rpartition("}")[2] for each in ElementTree.fromstring(drawn).iter()}
    assert tags.isdisjoint({"script", "img"})
    assert "&lt;script" in drawn


@pytest.mark.parametrize(
    ("count", "words"),
    [(0, "0"), (999, "999"), (1240, "1.24k"), (999_600, "1M"), (4_120_000, "4.12M")],
)
def test_counts_are_short(count: int, words: str) -> None:
    assert amount(count) == words


@pytest.mark.parametrize(
    ("value", "words"), [(0.42, "0.4 s"), (12.4, "12 s"), (125, "2:05"), (3725, "1:02:05")]
)
def test_seconds_are_short(value: float, words: str) -> None:
    assert seconds(value) == words


def test_wide_letters_take_two_places() -> None:
    assert fitted("价格分析师", 6) == "价格…"
    assert fitted("Reader", 6) == "Reader"
