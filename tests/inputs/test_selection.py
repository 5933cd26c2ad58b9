"""Selections: which paths a pattern takes, excludes and leads to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.errors import InputError
from prefect_swarm.inputs.selection import FileSelection, path_excludes, split_pattern

PARTS = st.lists(st.sampled_from(["a", "b", "a.py", "b.md", "shop"]), min_size=1, max_size=5)
PATTERNS = st.lists(
    st.sampled_from(["**", "*", "a", "*.py", "b*", "?", "[ab]", "shop"]), min_size=1, max_size=5
)


@pytest.mark.parametrize(
    ("pattern", "path", "takes"),
    [
        ("**/*.py", "a.py", True),
        ("**/*.py", "shop/old/a.py", True),
        ("*.py", "shop/a.py", False),
        ("*.PY", "a.py", False),
        ("**", "shop/old/a.py", True),
        ("s*/**/a.py", "shop/a.py", True),
        ("s*/**/a.py", "a.py", False),
        ("[ab].py", "b.py", True),
        ("*", ".env", False),
        ("**/*", ".git/config", False),
        ("**/*", "node_modules/x/index.js", False),
    ],
)
def test_a_pattern_takes_paths(pattern: str, path: str, takes: bool) -> None:
    assert FileSelection("src", (pattern,)).takes(path.split("/")) is takes


@pytest.mark.parametrize(
    ("exclude", "path", "takes"),
    [
        ("tests", "shop/tests/a.py", False),
        ("tests/", "tests/a.py", False),
        ("test_*", "shop/test_a.py", False),
        ("shop/tests", "shop/tests/deep/a.py", False),
        ("shop/tests", "other/shop/tests/a.py", True),
        ("**/shop/tests", "other/shop/tests/a.py", False),
        ("src/shop", "shop/a.py", False),
        ("/shop", "shop/a.py", False),
        ("./shop/*.py", "shop/a.py", False),
        ("shop/*.md", "shop/a.py", True),
    ],
)
def test_a_pattern_excludes_paths(exclude: str, path: str, takes: bool) -> None:
    assert FileSelection("src", (), (exclude,)).takes(path.split("/")) is takes


@given(PATTERNS, PARTS)
def test_each_folder_above_what_is_taken_is_entered(pattern: list[str], path: list[str]) -> None:
    selection = FileSelection("src", ("/".join(pattern),))
    if selection.takes(path):
        assert all(selection.enters(path[:n]) for n in range(1, len(path)))


@given(PATTERNS, PARTS)
def test_nothing_is_taken_in_a_folder_that_is_excluded(pattern: list[str], path: list[str]) -> None:
    selection = FileSelection("src", (), ("/".join(pattern),))
    if selection.excluded_by(path):
        assert not selection.takes([*path, "x"])


@pytest.mark.parametrize(
    ("pattern", "parts"),
    [
        ("src/**/*.py", ("src", "**/*.py")),
        ("*.md", (".", "*.md")),
        ("/*.md", ("/", "*.md")),
        ("/a/b*/c", ("/a", "b*/c")),
    ],
)
def test_a_pattern_begins_with_a_folder(pattern: str, parts: tuple[str, str]) -> None:
    assert split_pattern(pattern) == parts


def test_a_path_that_begins_with_a_mark_excludes() -> None:
    assert path_excludes(["src", "!tests", "b.md"]) == (["src", "b.md"], ["tests"])
    with pytest.raises(InputError, match="excludes nothing"):
        path_excludes(["src", "!"])
