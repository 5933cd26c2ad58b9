"""The orchestrator's line replaces a step, or does without it, or is refused with its text."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.errors import Category, NoPlanError
from prefect_swarm.tasks.replan import (
    Replacement,
    read_replacement,
    replacement_request,
)
from prefect_swarm.tasks.subagent.request import CallLimits
from prefect_swarm.tasks.subagent.task import answer


@pytest.mark.parametrize(
    ("text", "replacement"),
    [
        ("Tester: Write one test", Replacement("Write one test", "Tester")),
        ("1. Tester: Write one test", Replacement("Write one test", "Tester")),
        ("S3: Tester: Write: one", Replacement("Write: one", "Tester")),
        ("Well.\n\n**Data Clerk: Count the rows**", Replacement("Count the rows", "Data Clerk")),
        ("1. **Data Clerk**: Count the rows", Replacement("Count the rows", "Data Clerk")),
        ("SKIP: nobody reads it", Replacement("nobody reads it")),
        ("skip: nobody reads it", Replacement("nobody reads it")),
    ],
)
def test_the_first_line_that_is_one_counts(text: str, replacement: Replacement) -> None:
    assert read_replacement(text, "Reader", "Read it") == replacement


@pytest.mark.parametrize("text", ["", "I do not know", "Tester:", ": do it", "12: 30"])
def test_a_text_without_such_a_line_is_refused(text: str) -> None:
    with pytest.raises(NoPlanError) as error:
        read_replacement(text, "Reader", "Read it")
    assert error.value.text == text


@pytest.mark.parametrize(
    "text",
    ["Reader: Read it", "1. **Reader: Read it**", 'READER: read  "it".', "S3: Reader: Read it"],
)
def test_the_step_itself_is_no_replacement(text: str) -> None:
    with pytest.raises(NoPlanError, match="the step itself") as error:
        read_replacement(text, "Reader", "Read it.")
    assert error.value.text == text


def test_the_same_work_can_be_given_to_somebody_else() -> None:
    found = read_replacement("Linguist: Read it", "Reader", "Read it")
    assert found == Replacement("Read it", "Linguist")


def test_what_the_orchestrator_is_shown_is_bounded() -> None:
    asked = replacement_request(
        "Find out",
        "S1",
        "Reader",
        "Read it",
        ["x" * 3000, "y" * 3000],
        key="k",
        run="r",
        model="m",
        evidence_chars=1000,
        limits=CallLimits(),
    )
    assert "Reader: Read it" in asked.prompt
    assert "Objective: Find out" in asked.prompt
    assert len(asked.prompt) < 1250
    assert asked.tier == "orchestrator"


_LETTERS = st.sampled_from("abzABZ09'&/.-Äñ語")
_WORDS = st.text(_LETTERS, min_size=1, max_size=15)
_NAMES = st.lists(_WORDS, max_size=2).map(lambda words: " ".join(["Aide", *words]))
_PROMPTS = st.lists(
    _WORDS | st.sampled_from(["*", "`x`", "(a", "1,", "it:", "needs"]), min_size=1, max_size=9
).map(lambda words: " ".join(["Do", *words]))


@given(_NAMES, _PROMPTS)
def test_whatever_the_grammar_admits_is_read(name: str, prompt: str) -> None:
    found = read_replacement(f"{name}: {prompt}", "Reader", "Read it")
    assert found.agent == name
    assert found.prompt == prompt.rstrip("`*").rstrip()


@pytest.mark.model
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.exhaustive) for seed in range(1, 10))]
)
def test_the_embedded_model_writes_a_line_that_can_be_read(seed: int, swarm_home: Path) -> None:
    limits = CallLimits(seed=seed, temperature=1.5, max_output_tokens=40)
    asked = replacement_request(
        "Find out",
        "S1",
        "Reader",
        "Read it",
        ["gate unit: 1 + 1 gave 3"],
        key="k",
        run="r",
        model="demo",
        evidence_chars=1000,
        limits=limits,
    )
    verdict = asyncio.run(answer(asked))
    assert verdict.category in (None, Category.TRUNCATED)
    assert len(verdict.text.splitlines()) == 1
    assert read_replacement(verdict.text, "Reader", "Read it").prompt
