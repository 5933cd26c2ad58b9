"""A project's own formatter, linter and type checker: which it has, and what they find anew."""

from __future__ import annotations

import shlex

import pytest
from prefect_swarm.gates.patch.project_tools import (
    ToolUse,
    findings_of,
    new_findings,
    tool_for,
)


@pytest.mark.parametrize(
    ("use", "files", "name"),
    [
        ("format", {}, None),
        ("format", {"pyproject.toml": b"[tool.ruff]\n"}, "ruff"),
        ("format", {"pyproject.toml": b"[tool.ruff.lint]\nselect = ['A']\n"}, "ruff"),
        ("format", {".ruff.toml": b""}, "ruff"),
        ("format", {"pyproject.toml": b"[tool.black]\n"}, "black"),
        ("lint", {}, "ruff"),
        ("typecheck", {}, None),
        ("typecheck", {"pyrightconfig.json": b"{}"}, "pyright"),
        ("typecheck", {"pyproject.toml": b"[tool.basedpyright]\n"}, "pyright"),
        ("typecheck", {"pyproject.toml": b"[tool.mypy]\n"}, "mypy"),
        ("typecheck", {"setup.cfg": b"[mypy]\n"}, "mypy"),
        ("typecheck", {"setup.cfg": b"[metadata]\n"}, None),
        ("typecheck", {"mypy.ini": b""}, "mypy"),
    ],
)
def test_a_project_has_the_tools_that_its_files_name(
    use: ToolUse, files: dict[str, bytes], name: str | None
) -> None:
    tool = tool_for(use, files)
    assert (tool and tool.name) == name


def test_without_rules_of_its_own_a_project_is_held_against_mistakes_alone() -> None:
    own, none = (tool_for("lint", files) for files in ({"ruff.toml": b""}, {}))
    assert own
    assert none
    assert not any("--select" in word for word in own.words)
    assert any(word.startswith("--select=E9,F,") for word in none.words)


@pytest.mark.parametrize(
    "data", [b"\xff", b"[", b"tool = 1\n", b"a." * 20_000, b"x = " + b"[" * 5_000]
)
def test_configuration_that_is_none_names_no_tool(data: bytes) -> None:
    assert tool_for("typecheck", {"pyproject.toml": data}) is None


@pytest.mark.parametrize("use", ["format", "lint", "typecheck"])
def test_no_path_is_taken_for_an_option_or_for_words_of_a_shell(use: ToolUse) -> None:
    files = {"pyproject.toml": b"[tool.ruff]\n[tool.pyright]\n"}
    tool = tool_for(use, files)
    assert tool
    words = shlex.split(tool.command(["-c.py", "a b.py", "$(x).py"]))
    assert words == [*tool.words, "./-c.py", "./a b.py", "./$(x).py"]


@pytest.mark.parametrize(
    ("printed", "found"),
    [
        ("a.py:1:7: F401 `os` imported but unused", ("a.py", 1, "F401 `os` imported but unused")),
        ("./a.py:1: error: No", ("a.py", 1, "error: No")),
        ("/home/me/x/a b.py:3:1: E1 x", ("a b.py", 3, "E1 x")),
        ("  /home/me/x/a.py:1:6 - error: Not", ("a.py", 1, "error: Not")),
        ("/sandbox/tree/a.py:1:6 - error: Not", ("a.py", 1, "error: Not")),
        ("Would reformat: src/a.py", ("src/a.py", 0, "it is not formatted")),
        ("would reformat /home/me/x/a.py", ("a.py", 0, "it is not formatted")),
        ("b.py:1:2: unformatted: File would be", ("b.py", 1, "unformatted: File would be")),
        ("error: Failed to parse a.py:1:7: Expected", ("a.py", 1, "Expected")),
        ("error: cannot format a.py: Cannot parse: 1:7: x", ("a.py", 0, "it is not formatted")),
    ],
)
def test_what_a_tool_finds_is_read(printed: str, found: tuple[str, int, str]) -> None:
    assert findings_of(f"No configuration file found.\n{printed}\n1 error\n", "/home/me/x") == [
        found
    ]


@pytest.mark.parametrize(
    "printed",
    [
        "a.py:1: note: See",
        "a.py:1:2 - warning: Odd",
        "All done!",
        "1 file would be reformatted",
        "Found 3 errors.",
        "https://example.org: x",
        "",
    ],
)
def test_what_is_no_finding_is_left_out(printed: str) -> None:
    assert findings_of(printed, "/x") == []


def test_what_was_found_before_is_not_new_wherever_it_is_now() -> None:
    before = [("a", 1, "x"), ("a", 2, "x"), ("b", 1, "y")]
    after = [("a", 8, "x"), ("a", 9, "x"), ("a", 10, "x"), ("c", 1, "y"), ("b", 0, "z")]
    assert [each.message for each in new_findings(before, after)] == ["a:10: x", "c:1: y", "b: z"]
    assert new_findings(after, before[:2]) == []


def test_many_findings_are_bounded() -> None:
    assert len(new_findings([], [("a", n, str(n)) for n in range(500)])) == 10
