"""Each figure and each kind of time has its words."""

from __future__ import annotations

from typing import get_args

from docs_pages import rows, sections
from prefect_swarm.metrics.clock import TimeKind
from prefect_swarm.metrics.critical_path import FIGURES, KIND_WORDS, TIME_KINDS


def test_each_kind_of_time_has_a_name_and_a_meaning() -> None:
    assert set(KIND_WORDS) == set(TIME_KINDS) == set(get_args(TimeKind))
    assert len(set(KIND_WORDS.values())) == len(KIND_WORDS)


def test_a_meaning_is_a_line() -> None:
    assert all("\n" not in words for words in (*TIME_KINDS.values(), *FIGURES.values()))


def test_the_docs_have_each_meaning_as_it_is_shown() -> None:
    listed = {(row[0], row[1]) for row in rows(sections("time.md")["What each kind means"])}
    assert listed == {(KIND_WORDS[kind], meaning) for kind, meaning in TIME_KINDS.items()}
    figures = {(row[0], row[1]) for row in rows(sections("time.md")["What each figure means"])}
    assert figures == set(FIGURES.items())
