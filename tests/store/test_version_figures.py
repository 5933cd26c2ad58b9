"""A version is said to do worse where enough runs of it and of the one before say so."""

from __future__ import annotations

from dataclasses import replace

import pytest
from prefect_swarm.store.version_figures import VersionFigures, figures_of, worse_words

BEFORE = VersionFigures(
    "weekly@1", 10, 9, attempts=1.1, refused=0.1, tokens=1000.0, usd=0.02, seconds=9.0
)
AFTER = replace(BEFORE, version="weekly@2")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"completed": 7}, "70% completed, 90% before"),
        ({"refused": 0.35}, "gates refused 35%, 10% before"),
        ({"attempts": 1.4}, "1.40 attempts a step, 1.10 before"),
        ({"usd": 0.03}, "$0.0300 a run, $0.0200 before"),
        ({"usd": None, "tokens": 1300.0}, "1,300 tokens a run, 1,000 before"),
        ({"completed": 7, "usd": 0.03}, "before; $0.0300"),
    ],
)
def test_it_is_worse_in_one_of_these(changed: dict[str, float], said: str) -> None:
    words = worse_words(replace(AFTER, **changed), BEFORE)
    assert words.startswith("weekly@2 does worse than weekly@1: ")
    assert said in words


@pytest.mark.parametrize(
    "after",
    [
        AFTER,
        replace(AFTER, completed=8, attempts=1.2, usd=0.023, seconds=90.0),
        replace(AFTER, runs=4, completed=0),
        replace(AFTER, usd=None, tokens=None),
        replace(AFTER, attempts=1.0, refused=0.0, usd=0.001, tokens=9000.0),
        VersionFigures("weekly@2"),
    ],
)
def test_else_nothing_is_said(after: VersionFigures) -> None:
    assert worse_words(after, BEFORE) == ""


def test_nothing_is_said_of_few_runs_before() -> None:
    assert worse_words(replace(AFTER, completed=0), replace(BEFORE, runs=4)) == ""


def test_a_version_without_runs_has_no_figures() -> None:
    assert figures_of("weekly@2", []) == VersionFigures("weekly@2")
