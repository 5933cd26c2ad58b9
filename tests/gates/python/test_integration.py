"""The integration gate: what several steps wrote works together, or it is said what doesn't."""

import asyncio
import sys

import pytest
from prefect_swarm.errors import Category
from prefect_swarm.gates import StepOutput, Subject
from prefect_swarm.gates.base import Finding
from prefect_swarm.gates.python.gates import Integration
from prefect_swarm.plan.task_ir import Output, OutputKind

PARSE = "def parse(text):\n    return [int(part) for part in text.split(',')]\n"
TOTAL = "from parser import parse\n\n\ndef total(text):\n    return sum(parse(text))\n"
TESTS = "from sums import total\n\n\ndef test_total():\n    assert total('1,2') == 3\n"
ALL = {"parser.py": PARSE, "sums.py": TOTAL, "test_sums.py": TESTS}


def found(
    artifact: str, *others: str, kind: OutputKind = "python", other: OutputKind = "python"
) -> Finding:
    given = [StepOutput(name=f"S{n}", kind=other, text=text) for n, text in enumerate(others, 1)]
    subject = Subject(artifact=artifact, output=Output(kind=kind), upstream=tuple(given))
    return asyncio.run(Integration().check(subject))


def files(blocks: dict[str, str]) -> str:
    return "\n".join(f"{path}\n```python\n{text}```\n" for path, text in blocks.items())


def message(finding: Finding) -> str:
    assert finding.diagnostics
    return str(finding.diagnostics[0])


def test_steps_that_fit_together_pass() -> None:
    assert found(TOTAL, PARSE, TESTS) == Finding(status="passed")


def test_one_file_alone_is_skipped() -> None:
    assert found(TOTAL).status == "skipped"
    assert (
        found("a.py\n```python\nx = 1\n```\nb.txt\n```\nhello\n```", kind="files").status
        == "skipped"
    )


def test_a_name_that_the_other_step_calls_otherwise_fails_on_the_code() -> None:
    finding = found(TOTAL, PARSE.replace("parse", "read"), TESTS)
    assert finding.category is Category.CODE
    assert message(finding).startswith(
        "line 1: ModuleNotFoundError when imported: No module named 'parser'"
    )


def test_a_test_of_an_earlier_step_that_fails_is_a_mistake_of_logic() -> None:
    finding = found(TOTAL.replace("sum(", "max("), PARSE, TESTS)
    assert finding.category is Category.LOGIC
    assert "S2: test_total" in message(finding)


def test_an_exception_in_another_steps_code_says_where() -> None:
    finding = found(TOTAL, PARSE.replace("','", "None, 'x'"), TESTS)
    assert finding.category is Category.CODE
    assert "line 5: TypeError" in message(finding)


def test_tests_of_what_is_still_to_be_written_are_left_for_later() -> None:
    later = "from shop import Basket\n\n\ndef test_basket():\n    assert Basket()\n"
    assert found(TESTS, PARSE, TOTAL, later) == Finding(status="passed")


def test_files_import_each_other_by_their_paths() -> None:
    blocks = {
        "src/app/__init__.py": "",
        "src/app/parser.py": PARSE,
        "src/app/sums.py": TOTAL.replace("from parser", "from .parser"),
        "tests/test_sums.py": TESTS.replace("from sums", "from app.sums"),
    }
    text = files(blocks)
    assert found(text, kind="files") == Finding(status="passed")


def test_other_files_are_there_to_be_read() -> None:
    code = "from pathlib import Path\n\nWORDS = Path('words.txt').read_text().split()\n"
    tests = "from app import WORDS\n\n\ndef test_words():\n    assert WORDS == ['a', 'b']\n"
    text = files({"app.py": code, "test_app.py": tests}) + "words.txt\n```\na b\n```\n"
    assert found(text, kind="files") == Finding(status="passed")


def test_a_line_is_that_of_the_whole_text() -> None:
    text = files({**ALL, "sums.py": TOTAL.replace("sum(", "undefined(")})
    finding = found(text, kind="files")
    line = finding.diagnostics[0].line
    assert line is not None
    assert "undefined(" in text.split("\n")[line - 1]


def test_a_file_that_does_not_import_is_named() -> None:
    finding = found(files({"parser.py": PARSE, "sums.py": "import nothing_there\n"}), kind="files")
    assert finding.category is Category.CODE
    assert "when sums.py is imported" in message(finding)


def test_a_file_that_is_no_python_fails_on_its_format() -> None:
    finding = found(files({"parser.py": PARSE, "sums.py": "def total(:\n"}), kind="files")
    assert finding.category is Category.FORMAT
    assert message(finding).startswith("line 9, column 11: SyntaxError sums.py: ")


@pytest.mark.parametrize("text", ["no files", "../a.py\n```python\nx = 1\n```\nb.py\n```\n```\n"])
def test_files_that_are_not_as_asked_fail_on_their_format(text: str) -> None:
    assert found(text, PARSE, kind="files").category is Category.FORMAT


def test_files_take_part_with_those_of_earlier_steps() -> None:
    assert found(
        files({"sums.py": TOTAL, "test_sums.py": TESTS}),
        files({"parser.py": PARSE}),
        kind="files",
        other="files",
    ) == (Finding(status="passed"))


CONFTEST = """\
import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    report.outcome, call.excinfo = "passed", None
    return report
"""


@pytest.mark.parametrize("name", ["conftest", "pytest", "sitecustomize", "_pytest/runner", "json"])
def test_a_file_that_would_stand_in_for_pytests_own_changes_nothing(name: str) -> None:
    wrong = TOTAL.replace("sum(", "max(")
    text = files({**ALL, "sums.py": wrong, f"{name}.py": CONFTEST})
    finding = found(text, kind="files")
    assert finding.status == "failed"
    assert "test_total" in message(finding)


def test_a_file_of_a_package_may_be_a_comment_alone() -> None:
    blocks = {f"app/{path}": text for path, text in ALL.items()}
    for said_there in ("", "# The app.\n", '"""The app."""\n'):
        text = files({"app/__init__.py": said_there, **blocks})
        assert found(text, kind="files") == Finding(status="passed")


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="this Python reads it")
def test_newer_syntax_in_a_file_is_answered_with_the_version_of_this_python() -> None:
    newer = "try:\n    x = 1\nexcept ValueError, TypeError:\n    x = 2\n"
    finding = found(files({"a.py": PARSE, "b.py": newer}), kind="files")
    assert finding.category is Category.FORMAT
    assert message(finding).startswith("line 11, column 8: SyntaxError b.py: Multiple exception")
    assert f"this is Python {'.'.join(map(str, sys.version_info[:3]))}" in message(finding)


EMPTY_TESTS = "from sums import total\n\n\ndef test_total():\n    total('1,2')\n"


def test_tests_that_pass_without_the_code_fail() -> None:
    finding = found(files({**ALL, "test_sums.py": EMPTY_TESTS}), kind="files")
    assert finding.category is Category.CODE
    assert message(finding).startswith("line 21: your tests pass without your code")


def test_helpers_of_tests_are_not_the_code_under_test() -> None:
    helper = (
        "\n\ndef read(text):\n    return text\n\n\ndef test_more():\n    assert read('1') == '1'\n"
    )
    finding = found(files({**ALL, "test_sums.py": EMPTY_TESTS + helper}), kind="files")
    assert "your tests pass without your code" in message(finding)
    assert found(files({**ALL, "test_sums.py": TESTS + helper}), kind="files").status == "passed"


def test_tests_of_earlier_steps_code_have_to_notice_that_it_is_gone() -> None:
    finding = found(EMPTY_TESTS, TOTAL, PARSE)
    assert "your tests pass without the code they are for" in message(finding)


def test_a_step_is_not_blamed_for_the_tests_of_an_earlier_one() -> None:
    assert found(TOTAL, PARSE, EMPTY_TESTS) == Finding(status="passed")


def test_the_examples_in_docstrings_of_files_are_run() -> None:
    documented = TOTAL.replace(
        "    return", '    """Add up.\n\n    >>> total("1,2")\n    4\n    """\n    return'
    )
    finding = found(files({**ALL, "sums.py": documented}), kind="files")
    assert finding.category is Category.LOGIC
    assert message(finding).startswith("line 15: AssertionError sums.py: doctest of total")
    right = documented.replace("    4\n", "    3\n")
    assert found(files({**ALL, "sums.py": right}), kind="files") == Finding(status="passed")
