"""`gates check` takes any file through its line, with the real tools, and says what came of it."""

from __future__ import annotations

import json

import pytest

from .conftest import Invoke, Written
from .gates_said import TIDY, statuses

UNTIDY = "def greet(name):\n  return f'Hello {name}'\n"
SCRIPT = '#!/bin/bash\nset -eu\necho "$1"\n'
WRONG_SCRIPT = "#!/bin/bash\nset -eu\nlocal name=$1\n"
TEST = '\n\ndef test_it_greets():\n    assert greet("Ann") == "Hello Ann"\n'
ENDLESS = "We go on. " * 8


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("a.json", '{"a": 1}', ["schema"]),
        ("a.sh", SCRIPT, ["format", "shellcheck"]),
        ("a.bash", SCRIPT, ["format", "shellcheck"]),
        ("a.md", "All is said.", ["repetition"]),
        ("A.TXT", "All is said.", ["repetition"]),
    ],
)
def test_a_file_goes_through_the_line_that_its_name_says(
    name: str, text: str, line: list[str], written: Written, invoke: Invoke
) -> None:
    result = invoke("gates", "check", written(name, text), "--json")
    assert result.exit_code == 0
    assert statuses(result) == dict.fromkeys(line, "passed")


def test_what_passes_is_said_to_with_a_line_for_each_gate(written: Written, invoke: Invoke) -> None:
    result = invoke("gates", "check", written("a.sh", SCRIPT))
    head, _, *rows = result.stdout.splitlines()
    assert result.exit_code == 0
    assert head.split() == ["Gate", "Status", "Took", "Category", "By"]
    assert [row.split()[:2] for row in rows[:2]] == [["format", "passed"], ["shellcheck", "passed"]]
    assert rows[-1] == "Passed."


@pytest.mark.parametrize(
    ("name", "text", "message", "stopper"),
    [
        ("a.json", "{'a': 1}", "line 1, column 2", "schema"),
        ("a.sh", WRONG_SCRIPT, "line 3, column 1: SC2168", "shellcheck"),
        ("a.py", "def greet(:\n", "line 1, column 11", "format"),
        ("b.py", "print(name)\n", "line 1, column 7: F821", "lint"),
        ("a.txt", ENDLESS, "repetition: failed", "repetition"),
    ],
)
def test_what_stops_a_file_is_said_with_its_place(
    name: str, text: str, message: str, stopper: str, written: Written, invoke: Invoke
) -> None:
    result = invoke("gates", "check", written(name, text))
    assert result.exit_code == 1
    assert message in result.stdout
    assert result.stdout.splitlines()[-1] == f"Stopped by {stopper}."


def test_after_the_stage_that_stopped_it_nothing_runs(written: Written, invoke: Invoke) -> None:
    result = invoke("gates", "check", written("a.py", "print(name)\n"), "--json")
    assert statuses(result) == {"format": "passed", "lint": "failed"}


def test_as_json_everything_is_said(written: Written, invoke: Invoke) -> None:
    path = written("a.sh", WRONG_SCRIPT)
    result = invoke("gates", "check", path, "--json")
    content = json.loads(result.stdout)
    assert (result.exit_code, content["file"], content["passed"]) == (1, str(path), False)
    found = {gate["gate"]: gate for gate in content["gates"]}["shellcheck"]
    assert (found["status"], found["category"]) == ("failed", "CODE")
    assert found["version"].startswith("shellcheck ")
    assert [(diagnostic["line"], diagnostic["code"]) for diagnostic in found["diagnostics"]][
        :1
    ] == [(3, "SC2168")]


def test_what_is_known_is_not_looked_at_again(written: Written, invoke: Invoke) -> None:
    path = written("a.json", "[1]")
    assert "(known)" not in invoke("gates", "check", path).stdout
    assert "(known)" in invoke("gates", "check", path).stdout


def test_a_repair_is_shown_and_written_back_with_fix_alone(
    written: Written, invoke: Invoke
) -> None:
    path = written("greet.py", UNTIDY)
    shown = invoke("gates", "check", path, "--gates", "format")
    assert "-  return f'Hello {name}'\n+    return" in shown.stdout
    assert path.read_text("utf-8") == UNTIDY
    fixed = invoke("gates", "check", path, "--gates", "format", "--fix")
    assert (shown.exit_code, fixed.exit_code) == (0, 0)
    assert path.read_text("utf-8") == TIDY


def test_a_repair_is_written_back_of_a_file_that_is_stopped_later(
    written: Written, invoke: Invoke
) -> None:
    path = written("a.py", "print( name )\n")
    assert invoke("gates", "check", path, "--gates", "format,lint", "--fix").exit_code == 1
    assert path.read_text("utf-8") == "print(name)\n"


def test_a_python_file_with_tests_is_its_own_unit_test(written: Written, invoke: Invoke) -> None:
    right = invoke("gates", "check", written("right.py", TIDY + TEST), "--json")
    assert right.exit_code == 0
    assert statuses(right) == {
        "format": "passed",
        "lint": "passed",
        "unit": "passed",
        "integration": "skipped",
    }
    wrong = invoke("gates", "check", written("wrong.py", TIDY.replace("Hello", "Bye") + TEST))
    assert wrong.exit_code == 1
    assert "line 6: AssertionError test_it_greets" in wrong.stdout
    assert wrong.stdout.splitlines()[-1] == "Stopped by unit."


def test_what_the_file_says_steers_neither_the_terminal_nor_json(
    written: Written, invoke: Invoke
) -> None:
    file = written("a.py", 'def greet(name):\n  return "\u202e\x9b31m"\n')
    shown, document = invoke("gates", "check", file), invoke("gates", "check", file, "--json")
    assert "+    return" in shown.stdout
    assert {"\u202e", "\x9b"}.isdisjoint(shown.stdout + document.stdout)
    assert "\u202e\x9b31m" in json.loads(document.stdout)["gates"][0]["repaired"]
