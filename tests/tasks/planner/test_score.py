"""Scoring a plan: what it covers, repeats, lumps together, invents, and what its needs are for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.tasks.planner.line_format import read_lines
from prefect_swarm.tasks.planner.plan_score import PlanScore, score

DRINKS = "Compare tea, coffee and water as drinks for the morning"
GOOD = """\
1. Tea Expert: Describe tea as a drink for the morning
2. Coffee Expert: Describe coffee as a drink for the morning
3. Water Expert: Describe water as a drink for the morning
4. Judge: Compare tea, coffee and water as drinks for the morning (needs 1, 2, 3)"""


def _score(lines: str, objective: str = DRINKS) -> PlanScore:
    return score(read_lines(lines, objective), objective)


def test_a_plan_with_a_step_for_each_thing_and_a_join_is_good() -> None:
    found = _score(GOOD)
    assert found.value == 1.0
    assert found.reasons == ()


@pytest.mark.parametrize(
    ("objective", "lines"),
    [
        pytest.param(
            "Give me a recipe for a salad of tomatoes, onions and feta",
            "1. Chef: Write a recipe for a salad of tomatoes, onions and feta",
            id="a list that belongs to one thing",
        ),
        pytest.param(
            "Thanks for last week! I moved house and all is in boxes. Write a poem about the sea.",
            "1. Poet: Write a poem about the sea",
            id="background that is left out",
        ),
        pytest.param(
            "Describe for a travel guide:\n- Lisbon\n- Porto\n- Faro",
            "1. Guide: Describe Lisbon for a travel guide\n"
            "2. Guide: Describe Porto for a travel guide\n"
            "3. Guide: Describe Faro for a travel guide",
            id="bullets",
        ),
        pytest.param(
            "Compare trains and buses by price and comfort for commuters",
            "1. Analyst: Describe trains by price and comfort for commuters\n"
            "2. Analyst: Describe buses by price and comfort for commuters\n"
            "3. Judge: Compare trains and buses by price and comfort for commuters (needs 1, 2)",
            id="aspects that stay inside each step",
        ),
        pytest.param(
            "Write a poem about the sea, translate it into French, then count its verbs",
            "1. Poet: Write a poem about the sea\n"
            "2. Translator: Translate the poem about the sea into French (needs 1)\n"
            "3. Counter: Count the verbs of the French poem (needs 2)",
            id="a chain",
        ),
        pytest.param(
            "Write the functions parse_date and slugify in Python, each with a test",
            "1. Python Developer: Write the function parse_date in Python\n"
            "2. Python Developer: Write the function slugify in Python\n"
            "3. Tester: Write a test for the function parse_date in Python (needs 1)\n"
            "4. Tester: Write a test for the function slugify in Python (needs 2)",
            id="branches of two steps",
        ),
        pytest.param(
            "Translate the menu into Welsh, and from there into Irish",
            "1. Translator: Translate the menu into Welsh\n"
            "2. Translator: Translate the Welsh menu into Irish (needs 1)",
            id="a step that works on another's outcome by the same verb",
        ),
        pytest.param(
            "Argue for and against a car-free city and judge",
            "1. Proponent: Argue for a car-free city\n"
            "2. Opponent: Argue against a car-free city\n"
            "3. Judge: Judge the arguments for and against a car-free city (needs 1, 2)",
            id="both sides and a judge",
        ),
        pytest.param(
            "Summarise chapters 1 to 3 of the novel, in two sentences each",
            "1. Reader: Summarise chapter 1 of the novel in two sentences\n"
            "2. Reader: Summarise chapter 2 of the novel in two sentences\n"
            "3. Reader: Summarise chapter 3 of the novel in two sentences",
            id="things that are counted",
        ),
        pytest.param(
            "Both sides, five minutes each, for the council: the library should open on Sundays",
            "1. Proponent: Argue in five minutes for the council that the library should open on"
            " Sundays\n"
            "2. Opponent: Argue in five minutes for the council against the claim that the library"
            " should open on Sundays",
            id="two sides told in nearly the same words",
        ),
        pytest.param(
            "Plan lunch for a rowing crew, high in iron, from Monday to Wednesday",
            "1. Menu Planner: Plan lunch for a rowing crew, high in iron, on Monday\n"
            "2. Menu Planner: Plan lunch for a rowing crew, high in iron, on Tuesday\n"
            "3. Menu Planner: Plan lunch for a rowing crew, high in iron, on Wednesday",
            id="things that have names the objective leaves out",
        ),
        pytest.param(
            "Draft all 4 pages of the photo book, fit for people aged 4 and 84",
            "1. Editor: Draft page 1 of the photo book, fit for people aged 4 and 84\n"
            "2. Editor: Draft page 2 of the photo book, fit for people aged 4 and 84\n"
            "3. Editor: Draft page 3 of the photo book, fit for people aged 4 and 84\n"
            "4. Editor: Draft page 4 of the photo book, fit for people aged 4 and 84",
            id="things counted by a number that stands there anyway",
        ),
        pytest.param(
            "Translate the menu into Greek and fix the login bug in auth.py",
            "1. Translator: Translate the menu into Greek\n"
            "2. Developer: Fix the login bug in auth.py",
            id="tasks side by side",
        ),
    ],
)
def test_a_good_plan_of_any_kind_is_taken(objective: str, lines: str) -> None:
    found = _score(lines, objective)
    assert found.value >= 0.75, found
    assert found.reasons == ()


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ("1. Expert: Compare tea, coffee and water as drinks", "one step does several things"),
        (GOOD.replace("water", "coffee"), "S3 repeats"),
        (GOOD.replace(" (needs 1, 2, 3)", ""), "no step needs another"),
        (GOOD.replace(" (needs 1, 2, 3)", " (needs 3)"), "no step joins the others"),
        (f"{GOOD}\n5. Poet: Sing of the sea", "S5 strays"),
        (f"{GOOD}\n5. Editor: Improve the text (needs 4)", "S5 strays"),
        (GOOD.replace("water as a drink", "tea tea tea tea tea tea tea"), "S3 repeats"),
        (
            GOOD.replace("Describe tea", "Describe tea and coffee"),
            "1 of 3 listed things have a step of their own",
        ),
        (
            f"{GOOD}\n5. Taster: Taste the tea of the morning",
            "2 of 3 listed things have a step of their own",
        ),
        (
            GOOD.replace("3. Water Expert: Describe water", "3. Cook: Describe milk"),
            "2 of 3 listed things have a step of their own",
        ),
        (
            GOOD.replace("(needs 1, 2, 3)", "(needs 1, 2)"),
            "2 of 3 listed things have a step of their own",
        ),
        (
            GOOD.replace(
                "coffee as a drink for the morning", "coffee for the morning (needs 1)", 1
            ),
            "S2 needs S1 for nothing",
        ),
    ],
)
def test_a_flaw_costs_and_is_reported(lines: str, reason: str) -> None:
    found = _score(lines)
    assert reason in found.reasons
    assert found.value < _score(GOOD).value


@pytest.mark.parametrize(
    "objective",
    [
        "Trains, buses or bicycles for a 12 km commute?",
        "Which is best for a 12 km commute: trains, buses, bicycles",
    ],
)
def test_a_choice_among_several_is_more_than_one_step(objective: str) -> None:
    assert _score(f"1. Planner: {objective}", objective).lumped
    assert not _score("1. Planner: Say when it starts", "Which month has 28 days?").lumped


def test_a_review_by_aspects_is_more_than_one_step() -> None:
    objective = "Review my landing page for spelling, tone and accessibility"
    assert _score(f"1. Editor: {objective}", objective).lumped
    alone = "Review my landing page in one list for spelling, tone and accessibility"
    assert not _score(f"1. Editor: {alone}", alone).lumped


def test_words_that_are_lost_cost() -> None:
    cut = GOOD.replace(" for the morning", "")
    assert _score(cut).covered < 1
    assert _score(cut).value < _score(GOOD).value


def test_words_that_only_put_things_in_order_are_not_lost() -> None:
    objective = "First describe tea; afterwards describe coffee, asap"
    assert _score("1. Guide: Describe tea\n2. Guide: Describe coffee", objective).covered == 1


def test_parallel_steps_that_differ_in_a_capital_alone_repeat() -> None:
    lines = "1. Guide: Describe the Drink of kings\n2. Guide: Describe the drink of Kings"
    assert _score(lines, "Describe the drink of kings").repeated == 0.5


@pytest.mark.parametrize("how", ["from all of them one poster", "then set them side by side"])
def test_a_join_that_is_made_once_for_each_branch_is_reported(how: str) -> None:
    lines = """\
1. Guide: Describe tea
2. Guide: Describe coffee
3. Editor: Make one poster of tea (needs 1)
4. Editor: Make one poster of coffee (needs 2)"""
    reasons = _score(lines, f"Describe tea and coffee, {how}").reasons
    assert "no step joins the others" in reasons


def test_words_that_are_invented_cost() -> None:
    strange = GOOD.replace("water as a drink", "water as a sustainable community drink")
    assert _score(strange).invented > 0
    assert _score(strange).value < _score(GOOD).value


def test_words_for_work_are_not_invented() -> None:
    assert _score("1. Writer: Write a short report on bees", "Bees. A short one.").invented == 0


def test_parallel_steps_that_differ_in_what_the_objective_lists_are_no_repeats() -> None:
    lines = (
        "1. A: Describe a long day of a nurse at work\n2. A: Describe a long day of a pilot at work"
    )
    assert _score(lines, "Describe a long day of a nurse and a pilot at work").repeated == 0


@given(st.text(min_size=1).filter(str.strip))
def test_any_objective_gets_a_score_in_0_to_1(objective: str) -> None:
    assert 0.0 <= _score(GOOD, objective).value <= 1.0


@given(st.lists(st.sampled_from("A, | B|and |; |\n- |: |C|tea|/| or |. |1. "), max_size=12))
def test_any_list_gets_a_score_in_0_to_1(pieces: list[str]) -> None:
    assert 0.0 <= _score(GOOD, f"Do {''.join(pieces)}").value <= 1.0
