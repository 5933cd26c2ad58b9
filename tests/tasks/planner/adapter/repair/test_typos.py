"""Slips of a small model's pen, and what only looks like one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.task_ir import Step
from prefect_swarm.tasks.planner.adapter.line_format import read_lines, write_lines
from prefect_swarm.tasks.planner.adapter.repair.pipeline import repair_plan
from prefect_swarm.tasks.planner.adapter.repair.typos import (
    part_words,
    remove_doubled_phrases,
    remove_own_clauses,
    remove_repeated_endings,
    write_names,
)

DRINKS = "I want three cocktail recipes (gin, rum, mezcal), and the cost of every recipe"
FILES = "Read our FAQ (faq.md) and README.md, then make parseDate pass test_dates.py"
NOTES = "Speaker notes for both slides of a talk for beginners, 60 words a slide"
SLUGS = "Write `slugify` and `deslugify` in TypeScript, each with its own jest tests"

Repair = Callable[[Sequence[Step], str], tuple[list[Step], list[str]]]


def correct_typos(steps: Sequence[Step], objective: str) -> tuple[list[Step], list[str]]:
    named, _ = write_names(part_words(steps, objective)[0], objective)
    return remove_own_clauses(named, objective)


def remove_repeated_phrases(steps: Sequence[Step], objective: str) -> tuple[list[Step], list[str]]:
    return remove_repeated_endings(remove_doubled_phrases(steps, objective)[0], objective)


def _prompt(repair: Repair, prompt: str, objective: str) -> str:
    steps, _ = repair(read_lines(f"1. Writer: {prompt}", objective).steps, objective)
    return steps[0].prompt


@pytest.mark.parametrize(
    ("prompt", "objective", "right"),
    [
        ("Work out the cost ofgin", DRINKS, "Work out the cost of gin"),
        ("Make the recipes (gin,rum,mezcal)", DRINKS, "Make the recipes (gin, rum, mezcal)"),
        ("Explain the cold ofwinter", 'Explain "winter"', "Explain the cold of winter"),
        ("Read FAQ.md. Then Readme.md", FILES, "Read faq.md. Then README.md"),
        ("Make Parsedate pass Test_dates.py", FILES, "Make parseDate pass test_dates.py"),
        ("Write slugify, which changes the slug of a page", SLUGS, "Write slugify"),
        ("Write slugify in TypeScript, which slugify uses", SLUGS, "Write slugify in TypeScript"),
    ],
)
def test_a_typo_is_corrected(prompt: str, objective: str, right: str) -> None:
    assert _prompt(correct_typos, prompt, objective) == right


@pytest.mark.parametrize(
    ("prompt", "objective"),
    [
        ("Work out the income", "what comes (come) of it"),
        ("Look inside", "Weigh up each side"),
        ("Explain often", "Name the ten rules (ten)"),
        ("Call ofgin(a,b)", "Call ofgin(a,b) of (gin)"),
        ("Add up 1,5 and 2,5", "Add up 1, 5 and 2,5"),
        ("Write slugify, which uses jest", SLUGS),
        ("Write slugify, which slugify", SLUGS),
        ("Read the FAQ, faq.mdx and MY_faq.md", FILES),
        ("Read old-FAQ.md", FILES),
        ("Compare A.txt", "Compare a.txt with A.txt"),
        ("Merge notes.txt", "Notes.txt and old.txt: one file, please"),
        ("Write in capitals", "WRITE IN CAPITALS"),
        ("Decide which is cheaper", "tea or coffee?"),
    ],
)
def test_what_the_objective_may_mean_stays(prompt: str, objective: str) -> None:
    assert _prompt(correct_typos, prompt, objective) == prompt


@pytest.mark.parametrize(
    ("prompt", "right"),
    [
        ("Write a note of 60 words for slide 1, 60 words", "Write a note of 60 words for slide 1"),
        ("Rank them for beginners for beginners", "Rank them for beginners"),
        ("Fix what it says it says it says it says it means", "Fix what it says it means"),
        ("Do a bit a bit a bit for 60 words, a bit, 60 words", "Do a bit for 60 words"),
    ],
)
def test_what_a_prompt_says_twice_is_said_once(prompt: str, right: str) -> None:
    assert _prompt(remove_repeated_phrases, prompt, NOTES) == right


@pytest.mark.parametrize(
    ("prompt", "objective"),
    [
        ("Write 60 words on day 1, 60 words", "Write 60 words on day 1, 60 words on day 2"),
        ("Weigh up cost, stress and sleep, stress and sleep", "stress and sleep"),
        ("Sing of the bells bells bells", "a poem"),
        ("Sing ding dong ding dong", "Say ding dong ding dong"),
    ],
)
def test_what_only_looks_said_twice_stays(prompt: str, objective: str) -> None:
    assert _prompt(remove_repeated_phrases, prompt, objective) == prompt


@given(st.lists(st.sampled_from(["red", "blue", "red,", "green"]), min_size=1, max_size=14))
def test_what_was_said_once_stays(phrase: list[str]) -> None:
    once = _prompt(remove_repeated_phrases, f"Paint {' '.join(phrase)} walls", NOTES)
    assert _prompt(remove_repeated_phrases, once, NOTES) == once


def test_a_repaired_plan_says_what_was_corrected() -> None:
    text = "1. Chef: Work out the cost ofgin\n2. Chef: Work out the cost of rum"
    plan, notes = repair_plan(read_lines(text, DRINKS))
    assert write_lines(plan) == text.replace("ofgin", "of gin")
    assert notes == ("S1 had a typo: “Work out the cost ofgin”",)


def test_a_limit_that_was_put_back_is_not_said_again() -> None:
    text = "1. Writer: Describe the red cup in 9 words, under 9 words\n2. Writer: Draw the blue cup"
    plan, notes = repair_plan(
        read_lines(text, "Describe the red cup, under 9 words; draw the blue cup")
    )
    assert plan.steps[0].prompt == "Describe the red cup in under 9 words"
    assert notes[1:] == (
        "S1 repeated a phrase: “Describe the red cup in under 9 words, under 9 words”",
    )
