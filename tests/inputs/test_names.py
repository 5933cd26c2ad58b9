"""Names of inputs: safe, and each another."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.inputs.contents import MAX_NAME, input_names, name_problem, named_problem

PARTS = st.text(min_size=1, max_size=100).filter(lambda part: "/" not in part and part != ".")
PATHS = st.lists(PARTS, min_size=1, max_size=4).map(lambda parts: PurePosixPath("/", *parts))


def names(*paths: str) -> list[str]:
    return input_names([PurePosixPath(path) for path in paths])


def test_a_file_is_called_by_its_name() -> None:
    assert names("/home/ada/notes.md", "/srv/sales.csv") == ["notes.md", "sales.csv"]


def test_files_of_the_same_name_have_their_folders() -> None:
    assert names("/a/x/report.md", "/a/y/report.md", "/b/notes.md") == [
        "x/report.md",
        "y/report.md",
        "notes.md",
    ]
    assert names("/a/x/report.md", "/b/x/report.md") == ["a/x/report.md", "b/x/report.md"]


def test_what_a_citation_cannot_have_is_replaced() -> None:
    assert names("/a/b[1], c.txt") == ["b_1__ c.txt"]


def test_a_file_that_is_called_like_a_step_is_told_from_it() -> None:
    assert names("/a/S1") == ["file S1"]


@given(st.lists(PATHS, unique=True, max_size=8))
def test_names_are_usable_and_none_is_given_twice(paths: list[PurePosixPath]) -> None:
    made = input_names(paths)
    assert len(set(made)) == len(made) == len(paths)
    assert [name_problem(name) for name in made] == [""] * len(made)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "is empty"),
        (" a", "begins or ends with a blank"),
        ("a" * (MAX_NAME + 1), "has 81 characters"),
        ("a\nb", "has '\\n' in it"),
        ("a,b", "has ',' in it"),
        ("/etc/passwd", "leads out"),
        ("a/../../b", "leads out"),
        ("S12", "step"),
    ],
)
def test_a_name_that_cannot_be_used_is_refused(name: str, why: str) -> None:
    assert why in name_problem(name)


def test_many_known_names_are_cut_short() -> None:
    assert len(named_problem(["x"], [f"file {n}" for n in range(200)])) < 400
