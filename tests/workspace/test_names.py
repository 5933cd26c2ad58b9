"""Which paths a patch may have, what a pattern of paths names, and what a test is."""

from __future__ import annotations

import pytest
from growth import grows_faster
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.workspace.names import is_test, is_within, path_problem, pattern_problem

names = st.text("ab.-_[]é ", min_size=1, max_size=6).filter(lambda name: name not in (".", ".."))
plain_paths = st.lists(names, min_size=1, max_size=4).map("/".join)


@pytest.mark.parametrize(
    "path",
    ["a", "src/a.py", "é/ü.txt", "a b", "'q\".md", ".gitignore", ".env.example", "x.git/a", "-f"],
)
def test_a_plain_path_below_the_workspace_may_be_used(path: str) -> None:
    assert path_problem(path) == ""


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("", "empty"),
        ("a" * 1001, "too long"),
        ("/etc/x", "plain path"),
        ("../x", "plain path"),
        ("a/../x", "plain path"),
        ("a/./x", "plain path"),
        ("a//x", "plain path"),
        ("a/", "plain path"),
        ("a\\x", "character"),
        ("a\nx", "character"),
        ("a\0x", "character"),
        ("a\udcffx", "character"),
        (".git/config", "git's own"),
        ("a/.GIT/x", "git's own"),
        (".git", "git's own"),
        (".env", "secrets"),
        ("a/.env.production", "secrets"),
        ("a/id_rsa", "secrets"),
        (".netrc", "secrets"),
    ],
)
def test_a_path_that_may_not_be_used_is_told_with_the_reason(path: str, why: str) -> None:
    assert why in path_problem(path)


@pytest.mark.parametrize("pattern", ["src/**", "*.md", "docs/*.txt", "**", "a?.py", "[x]"])
def test_a_pattern_of_paths_is_one(pattern: str) -> None:
    assert pattern_problem(pattern) == ""


@pytest.mark.parametrize(
    "pattern", ["", "  ", "a" * 201, "/src/**", "!src", "a/../b", "..", "*" * 11]
)
def test_what_is_no_pattern_of_paths_is_refused(pattern: str) -> None:
    assert pattern_problem(pattern)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("src/**", "src/a.py"),
        ("src/**", "src/a/b.py"),
        ("src/**/test.py", "src/test.py"),
        ("src/**/test.py", "src/a/b/test.py"),
        ("**/x/**", "x/y"),
        ("**/x/**", "a/b/x/y/z"),
        ("**", "a/b"),
        ("*.md", "README.md"),
        ("*.md", "docs/a.md"),
        ("docs/*.txt", "docs/a.txt"),
        ("docs/*/x", "docs/a/x"),
        ("docs", "docs/a/b"),
        ("docs/", "docs/a/b"),
        ("docs", "a/docs/b"),
        ("docs/de", "docs/de/b"),
        ("a?.py", "ab.py"),
        ("./src/a.py", "src/a.py"),
        ("[ab].py", "[ab].py"),
        ("a/**/b/**/c", "a/b/b/x/c"),
    ],
)
def test_a_pattern_names_a_path(pattern: str, path: str) -> None:
    assert is_within(path, ["nothing", pattern])


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("src/**", "src"),
        ("src/**", "a/src/b"),
        ("src/**", "source/a"),
        ("*.md", "a.md.py"),
        ("docs/*.txt", "docs/a/b.txt"),
        ("docs/de", "a/docs/de"),
        ("docs", "docs.txt"),
        ("a?.py", "a/.py"),
        ("a?.py", "a.py"),
        ("[ab].py", "a.py"),
        ("a.py", "aXpy"),
        ("a.py", "a.py\n"),
        ("a/**/b/c", "a/b/x/c"),
    ],
)
def test_a_pattern_does_not_name_another_path(pattern: str, path: str) -> None:
    assert not is_within(path, [pattern])


def test_no_pattern_names_nothing() -> None:
    assert not is_within("a", [])


@given(plain_paths)
def test_a_path_is_within_itself_as_a_pattern(path: str) -> None:
    assert is_within(path, [path])


@given(plain_paths, plain_paths)
def test_what_is_in_a_folder_is_within_its_name_and_its_stars(folder: str, path: str) -> None:
    whole = f"{folder}/{path}"
    assert is_within(whole, [folder])
    assert is_within(whole, [f"{folder}/"])
    assert is_within(whole, [f"{folder}/**"])
    assert is_within(whole, ["**"])


@pytest.mark.attack("growth")
@pytest.mark.parametrize(
    ("pattern", "piece"),
    [("*a" * 10 + "b", "a"), ("**/a/" * 5 + "b", "a/"), ("**/*a*/" * 3 + "b", "aa/")],
)
def test_stars_take_no_more_time_than_in_proportion_to_the_path(pattern: str, piece: str) -> None:
    def prepare(size: int):
        path = piece * size + "c"
        return lambda: is_within(path, [pattern])

    assert grows_faster(prepare, 200) == ""


@pytest.mark.parametrize(
    "path",
    [
        "test_a.py",
        "src/a_test.go",
        "conftest.py",
        "tests/data/x.json",
        "web/__tests__/a.js",
        "web/a.spec.ts",
        "web/a.test.jsx",
        "spec/a.rb",
        "src/PriceTest.java",
    ],
)
def test_a_test_or_what_tests_work_with_is_one(path: str) -> None:
    assert is_test(path)


@pytest.mark.parametrize("path", ["src/a.py", "testing.py", "contest.py", "latest/a.js", "test"])
def test_other_files_are_no_tests(path: str) -> None:
    assert not is_test(path)
