"""A plan that says the same again and again is broken off."""

from __future__ import annotations

import pytest
from prefect_swarm.tasks.planner.line_format import repetition_reason

FIRST = "1. Tea Expert: Describe tea\n"
AGAIN = "2. tea expert: Describe tea (needs 1)\n"


@pytest.mark.parametrize(
    "text",
    [
        "",
        FIRST,
        FIRST + AGAIN,
        f"{FIRST}{AGAIN}3. Tea Expert: Describe tea",
        f"{FIRST}2. Tea Expert: Describe tea leaves\n3. Judge: Describe tea (needs 1)\n",
        "no plan\nno plan\nno plan\n",
    ],
)
def test_a_plan_goes_on(text: str) -> None:
    assert repetition_reason(text) == ""


@pytest.mark.parametrize(
    "more",
    [
        "3. Tea Expert: Describe tea (needs 2)\n4. Ju",
        "3. Judge: Judge tea\n4. Judge: Judge tea (needs 3)\n",
    ],
)
def test_two_lines_that_ask_again_are_a_circle(more: str) -> None:
    assert "is asked again and again" in repetition_reason(FIRST + AGAIN + more)
