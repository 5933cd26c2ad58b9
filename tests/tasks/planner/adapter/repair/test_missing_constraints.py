"""Limits and facts that a plan has lost, put back where they belong; and what stays left out."""

from __future__ import annotations

import pytest
from prefect_swarm.tasks.planner.adapter.line_format import read_lines
from prefect_swarm.tasks.planner.adapter.repair.pipeline import repair_plan

PARTS = "1. Writer: Write a teaser for part 1\n2. Writer: Write a teaser for part 2"
VERDICT = """\
1. Advocate: Argue for a car-free town
2. Opponent: Argue against a car-free town
3. Judge: Give a verdict on a car-free town (needs 1, 2)"""
TUBS = "1. Gardener: Look at an old tin bath\n2. Gardener: Look at a clay pot"


def _prompts(lines: str, objective: str) -> list[str]:
    plan, _ = repair_plan(read_lines(lines, objective))
    return [step.prompt for step in plan.steps]


def test_a_compound_goes_before_its_noun_in_the_steps_that_make_it() -> None:
    lines = f"{PARTS}\n3. Editor: Make one poster from the teasers (needs 1, 2)"
    assert _prompts(lines, "A one-line teaser for each part, and from the teasers one poster") == [
        "Write a one-line teaser for part 1",
        "Write a one-line teaser for part 2",
        "Make one poster from the teasers",
    ]


@pytest.mark.parametrize(
    ("number", "says"),
    [
        ("eight", "an eight-line teaser"),
        ("80", "an 80-line teaser"),
        ("11", "an 11-line teaser"),
        ("110", "a 110-line teaser"),
        ("one", "a one-line teaser"),
    ],
)
def test_its_article_fits_it(number: str, says: str) -> None:
    assert says in _prompts(PARTS, f"A {number}-line teaser for both parts")[0]


def test_a_limit_goes_behind_what_it_limits() -> None:
    objective = "Argue for and against a car-free town, then a verdict of at most 100 words"
    assert _prompts(VERDICT, objective)[2] == (
        "Give a verdict of at most 100 words on a car-free town"
    )


def test_what_stands_in_brackets_goes_to_the_step_about_it() -> None:
    objective = "Which for tomatoes: an old tin bath (80 l, no holes) or a clay pot (from my aunt)?"
    assert _prompts(TUBS, objective)[:2] == [
        "Look at an old tin bath (80 l, no holes)",
        "Look at a clay pot (from my aunt)",
    ]


def test_a_limit_on_each_goes_to_every_lane() -> None:
    assert _prompts(PARTS, "Teasers for parts 1 and 2, at most 60 words each") == [
        "Write a teaser for part 1 in at most 60 words",
        "Write a teaser for part 2 in at most 60 words",
    ]


def test_what_is_put_back_is_reported() -> None:
    plan = read_lines(PARTS, "Teasers for parts 1 and 2, 60 words each")
    assert repair_plan(plan).notes == ("S1, S2 had lost “in 60 words”",)


@pytest.mark.parametrize(
    "objective",
    [
        pytest.param("Teasers for parts 1 and 2. I have 200 pages to read", id="of nothing there"),
        pytest.param("A teaser for part 1 (teaser: short) and part 2", id="is said"),
        pytest.param("1. teaser for part 1\n2. teaser for part 2 (from 1)", id="no fact"),
        pytest.param("Teaser for part 1 (needs nothing), teaser for part 2", id="order"),
        pytest.param("It came two minutes ago: teasers for parts 1 and 2", id="when it was"),
        pytest.param("Teasers: part A (so dark) and part B (so bright)", id="beside a small word"),
        pytest.param("A good-humoured teaser for each part", id="no number"),
        pytest.param("A teaser for each part, one line at a time", id="how it is done"),
    ],
)
def test_nothing_else_is_put_in(objective: str) -> None:
    assert _prompts(PARTS, objective) == ["Write a teaser for part 1", "Write a teaser for part 2"]


def test_a_limit_that_any_step_says_stays_where_it_is() -> None:
    lines = "1. Writer: Write a teaser of one line for part 1\n2. Writer: Write a teaser for part 2"
    prompts = [line.split(": ")[1] for line in lines.split("\n")]
    assert _prompts(lines, "A one-line teaser for each part") == prompts


def test_a_limit_on_each_is_nobodys_where_there_are_two_parallel_groups() -> None:
    lines = f"""\
{PARTS}
3. Painter: Paint a cover for part 1
4. Painter: Paint a cover for part 2"""
    asked = "Teasers for parts 1 and 2, 60 words each; paint their covers"
    assert _prompts(lines, asked) == [line.split(": ")[1] for line in lines.split("\n")]
