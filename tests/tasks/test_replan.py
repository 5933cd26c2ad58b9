"""The orchestrator's line replaces a step, or does without it, or is refused with its text."""

from __future__ import annotations

import pytest
from prefect_swarm.errors import NoPlanError
from prefect_swarm.tasks.replan import EVIDENCE_CHARS, Replacement, commission, read_replacement


@pytest.mark.parametrize(
    ("text", "replacement"),
    [
        ("Tester: Write one test", Replacement("Write one test", "Tester")),
        ("1. Tester: Write one test", Replacement("Write one test", "Tester")),
        ("S3: Tester: Write: one", Replacement("Write: one", "Tester")),
        ("Well.\n\n**Data Clerk: Count the rows**", Replacement("Count the rows", "Data Clerk")),
        ("SKIP: nobody reads it", Replacement("nobody reads it")),
        ("skip: nobody reads it", Replacement("nobody reads it")),
    ],
)
def test_the_first_line_that_is_one_counts(text: str, replacement: Replacement) -> None:
    assert read_replacement(text) == replacement


@pytest.mark.parametrize("text", ["", "I do not know", "Tester:", ": do it", "12: 30"])
def test_a_text_without_such_a_line_is_refused(text: str) -> None:
    with pytest.raises(NoPlanError) as error:
        read_replacement(text)
    assert error.value.text == text


def test_what_the_orchestrator_is_shown_is_bounded() -> None:
    asked = commission(
        "Find out",
        "S1",
        "Reader",
        "Read it",
        ["x" * 3000, "y" * 3000],
        key="k",
        run="r",
        model="m",
        limits={},
    )
    assert "Reader: Read it" in asked.prompt
    assert "Objective: Find out" in asked.prompt
    assert len(asked.prompt) < EVIDENCE_CHARS + 250
    assert asked.tier == "orchestrator"
