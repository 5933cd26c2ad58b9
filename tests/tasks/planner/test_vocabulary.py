"""The vocabulary of a text, in comparable words."""

from __future__ import annotations

import pytest
from prefect_swarm.tasks.planner.plan_coverage import TASK, content, is_request, words


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("Compare the drinks", "a comparison of drink"),
        ("the dog’s dinner", "dinner for dogs"),
        ("Thanks, could you describe it, please?", "describe"),
    ],
)
def test_the_same_matter_is_the_same_words(text: str, other: str) -> None:
    assert words(text) == words(other)


def test_words_keep_their_order_and_names_stay_whole() -> None:
    assert content("Fix parse_date.py and the 40-page report.txt") == [
        "fix",
        "parse_date.py",
        "40-page",
        "report.txt",
    ]


def test_small_words_are_left_out() -> None:
    assert words("and so it is that we would") == frozenset()


@pytest.mark.parametrize(
    ("sentence", "asking"),
    [
        ("Write a poem.", True),
        ("It should be short.", True),
        ("Why is the sky blue?", True),
        ("My sister moved to Cork.", False),
        ("Coffee is ready.", False),
    ],
)
def test_a_sentence_asks_for_something_or_is_background(sentence: str, asking: bool) -> None:
    assert is_request(sentence) == asking


def test_words_for_work_are_in_the_form_that_texts_are_read_in() -> None:
    assert words("Summarise and estimate the results") <= TASK
