"""The unit gate: what passes does what its examples and tests say, whatever else it does."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from prefect_swarm.errors import Category
from prefect_swarm.gates import StepOutput, Subject
from prefect_swarm.gates.base import Finding
from prefect_swarm.gates.python import gates as python_trial
from prefect_swarm.gates.python.gates import Unit
from prefect_swarm.plan.task_ir import Example, Output
from python_cheats import CHEATS, EQUALS, OF_EXAMPLES, OWN_TESTS, TESTS

GOOD = "def slugify(text):\n    return text.lower().replace(' ', '-')\n"
WRONG = "def slugify(text):\n    return text.replace(' ', '-')\n"
EXAMPLES = (Example(call="slugify('A b')", gives="a-b"), Example(call="slugify('')", gives=""))
CHEATS_OF_EXAMPLES = [
    "ends the process when called",
    "exits when called",
    "prints a summary and ends",
    "writes records to whatever is open",
    "kills its parent",
    "goes on in a child",
]


def found(artifact: str, *tests: str, examples: Sequence[Example] = ()) -> Finding:
    upstream = [
        StepOutput(name=f"S{n}", kind="python", text=text) for n, text in enumerate(tests, 1)
    ]
    output = Output(kind="python", examples=tuple(examples))
    subject = Subject(artifact=artifact, output=output, upstream=tuple(upstream))
    return asyncio.run(Unit().check(subject))


def message(finding: Finding) -> str:
    assert finding.diagnostics
    return str(finding.diagnostics[0])


def test_its_version_is_that_of_what_decides() -> None:
    assert Unit().version().startswith("pytest ")
    assert ", Python 3." in Unit().version()


def test_its_version_is_also_that_of_the_packages_that_code_can_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def versions(*installed: str) -> str:
        for old in tmp_path.iterdir():
            old.rmdir()
        for name in (*installed, "a"):
            (tmp_path / name).mkdir()
        python_trial._tools.cache_clear()
        return Unit().version()

    monkeypatch.setattr(python_trial, "package_folders", lambda: [str(tmp_path)])
    first = versions("a-1.dist-info", "b-1.dist-info")
    assert "2 packages" in first
    assert versions("b-1.dist-info", "a-1.dist-info") == first
    assert versions("a-2.dist-info", "b-1.dist-info") != first
    python_trial._tools.cache_clear()


def test_nothing_that_lies_among_the_packages_runs_by_itself() -> None:
    code = """
import sys
import pytest
BY_THEMSELVES = ("__editable__", "_distutils_hack", "sitecustomize", "usercustomize")
def loaded():
    return sorted(name for name in sys.modules if name.startswith(BY_THEMSELVES))
"""
    examples = [
        Example(call="loaded()", gives=[]),
        Example(call="pytest.__name__", gives="pytest"),
        Example(call="callable(exit)", gives=True),
    ]
    assert found(code, examples=examples) == Finding(status="passed")


@pytest.mark.parametrize("cheat", CHEATS)
def test_what_cheats_its_tests_does_not_pass(cheat: str) -> None:
    assert found(CHEATS[cheat], TESTS).status == "failed"


@pytest.mark.parametrize("cheat", [*CHEATS_OF_EXAMPLES, *EQUALS, *OF_EXAMPLES])
def test_what_cheats_its_examples_does_not_pass(cheat: str) -> None:
    cheats = {**CHEATS, **EQUALS, **OF_EXAMPLES}
    assert found(cheats[cheat], examples=EXAMPLES).status == "failed"


@pytest.mark.parametrize("cheat", EQUALS)
def test_tests_believe_an_equality_that_the_code_defines(cheat: str) -> None:
    # docs/reference/gates.md says so, and that examples don't.
    assert found(EQUALS[cheat], TESTS).status == "passed"


@pytest.mark.parametrize("cheat", OWN_TESTS)
def test_a_test_of_its_own_that_is_not_passed_fails(cheat: str) -> None:
    finding = found(OWN_TESTS[cheat])
    assert finding.status == "failed"
    assert "test_own" in message(finding)


def test_what_gives_what_its_examples_say_and_passes_its_tests_passes() -> None:
    assert found(GOOD, TESTS, examples=EXAMPLES) == Finding(status="passed")


@pytest.mark.parametrize(
    "tests",
    [
        "from app.text.slugs import slugify\n",
        "import slugs\nslugify = slugs.slugify\n",
        "from solution import *\n",
        "'''Tests.'''\nfrom __future__ import annotations\n",
    ],
    ids=["in a package", "a module", "a star", "not imported"],
)
def test_the_artifact_is_the_module_that_its_tests_import(tests: str) -> None:
    body = "def test_it():\n    assert slugify('A b') == 'a-b'\n"
    assert found(GOOD, tests + body).status == "passed"
    assert found(WRONG, tests + body).status == "failed"


ORDINARY = {
    "a class with fixtures, parameters and exceptions": """
import pytest

class Stack:
    def __init__(self):
        self.items = []
    def push(self, item):
        self.items.append(item)
    def pop(self):
        if not self.items:
            raise IndexError("the stack is empty")
        return self.items.pop()
    def __eq__(self, other):
        return isinstance(other, Stack) and self.items == other.items

@pytest.fixture
def stack():
    return Stack()

@pytest.mark.parametrize("item", [1, "a", None])
def test_what_is_pushed_is_popped(stack, item):
    stack.push(item)
    assert stack.pop() == item

class TestEmpty:
    def test_popping_raises(self, stack, capsys, tmp_path, monkeypatch):
        with pytest.raises(IndexError, match="empty"):
            stack.pop()
        print("done")
        assert capsys.readouterr().out == "done\\n"
        assert stack == Stack()
""",
    "unittest, and a main": """
import unittest

def double(x):
    return 2 * x

class DoubleTest(unittest.TestCase):
    def setUp(self):
        self.x = 4
    def test_double(self):
        for x in range(3):
            with self.subTest(x=x):
                self.assertEqual(double(x), x + x)
        self.assertEqual(double(self.x), 8)

if __name__ == "__main__":
    unittest.main()
""",
    "coroutines, dataclasses, files": '''
"""A counter."""
from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

@dataclass
class Counter:
    counts: dict[str, int] = field(default_factory=dict)
    async def count(self, path: Path) -> int:
        await asyncio.sleep(0)
        self.counts[path.name] = len(path.read_text().split())
        return self.counts[path.name]

async def test_words_are_counted(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("one two three")
    counter = Counter()
    assert await counter.count(file) == 3
    assert counter == Counter({"a.txt": 3})
''',
    "an equality that is honest with others": """
class Money:
    def __init__(self, cents):
        self.cents = cents
    def __eq__(self, other):
        return self.cents == getattr(other, "cents", other)

def test_money_equals_its_cents():
    assert Money(5) == 5
    assert Money(5) != 6
    assert Money(5) == Money(5)
""",
}


@pytest.mark.parametrize("kind", ORDINARY)
def test_ordinary_code_with_tests_of_its_own_passes(kind: str) -> None:
    assert found(ORDINARY[kind]) == Finding(status="passed")


def test_tests_are_run_on_the_code_that_they_were_written_for() -> None:
    assert found(TESTS, GOOD) == Finding(status="passed")
    finding = found(TESTS, WRONG)
    assert finding.category is Category.LOGIC
    assert finding.diagnostics[0].line == 5


def test_tests_of_missing_code_are_skipped() -> None:
    finding = found("from shop import Basket\n\ndef test_it():\n    assert Basket().total() == 0\n")
    assert finding.status == "skipped"
    assert "shop" in message(finding)


def test_code_that_nothing_tests_is_skipped_once_it_imports() -> None:
    finding = found("import json\n\n\ndef parse(text):\n    return json.loads(text)\n")
    assert finding.status == "skipped"
    assert finding.category is None
    assert message(finding).startswith("nothing to test it with")


@pytest.mark.parametrize(
    ("artifact", "place"),
    [("def f(:\n    pass\n", "line 1, column 7"), ("Here is the code:\n\nx = 1\n", "line 1")],
)
def test_what_is_no_python_fails_on_its_format_where_it_stops_being_it(
    artifact: str, place: str
) -> None:
    finding = found(artifact, TESTS, examples=EXAMPLES)
    assert finding.category is Category.FORMAT
    assert message(finding).startswith(place)


def test_an_exception_while_importing_fails_on_the_code_with_its_line() -> None:
    finding = found("import math\n\nROOT = math.sqrt(-1)\n")
    assert finding.category is Category.CODE
    assert message(finding) == "line 3: ValueError when imported: math domain error"


def test_a_wrong_value_is_a_mistake_of_logic_in_words_that_help() -> None:
    finding = found("# slugs\n" + WRONG, examples=EXAMPLES)
    assert finding.category is Category.LOGIC
    assert message(finding) == "line 2: slugify('A b') gave 'A-b', expected 'a-b'"


def test_an_exception_in_an_example_has_the_artifacts_line() -> None:
    finding = found(GOOD, examples=[Example(call="slugify(3)", gives="3")])
    assert finding.category is Category.CODE
    expected = "line 2: AttributeError slugify(3): 'int' object has no attribute 'lower'"
    assert message(finding) == expected


def test_a_failed_assertion_is_told_with_what_was_asserted() -> None:
    finding = found(WRONG, TESTS)
    assert finding.category is Category.LOGIC
    assert "slugify(\"A b\") == \"a-b\": assert 'A-b' == 'a-b'" in message(finding)


def test_lines_are_those_of_the_artifact_where_it_got_an_import() -> None:
    tests = "'''Tests.'''\n\ndef test_it():\n    assert slugify('A b') == 'a-b'\n"
    finding = found(tests, WRONG)
    assert finding.diagnostics[0].line == 4


def test_at_most_five_diagnostics_are_given() -> None:
    tests = "".join(f"def test_{n}():\n    assert slugify('A{n}') == 'a{n}'\n" for n in range(9))
    assert len(found(WRONG, tests).diagnostics) == 5


@pytest.mark.parametrize(
    ("call", "gives"),
    [
        ("pair()", [1, 2]),
        ("some()", [3, 1, 2]),
        ("table()", {"a": [1.0], "2": None}),
        ("third()", 0.333333333333),
        ("exact()", "0.10"),
        ("soon()", "done"),
        ("range(3)", [0, 1, 2]),
    ],
)
def test_values_are_compared_as_json(call: str, gives: Any) -> None:
    code = """
from decimal import Decimal
def pair(): return (1, 2)
def some(): return {1, 2, 3}
def table(): return {"a": (1,), 2: None}
def third(): return 1 / 3
def exact(): return Decimal("0.10")
async def soon(): return "done"
"""
    assert found(code, examples=[Example(call=call, gives=gives)]).status == "passed"


@pytest.mark.parametrize(
    "statement",
    [
        "urllib.request.urlopen('http://example.com')",
        "socket.create_connection(('127.0.0.1', 80), 1)",
        "socket.getaddrinfo('example.com', 80)",
        "socket.create_server(('localhost', 0))",
        "asyncio.run(asyncio.open_connection('example.com', 80))",
    ],
)
def test_a_test_that_wants_the_network_is_answered_that_there_is_none(statement: str) -> None:
    code = "import asyncio, socket, urllib.request\n\n\ndef test_it():\n    "
    finding = found(f"{code}{statement}\n")
    assert finding.category is Category.CODE
    assert message(finding).startswith("line 5: ")
    assert message(finding).endswith("; the sandbox has no network, use a stand-in for it")


def test_another_refusal_says_nothing_of_the_network() -> None:
    assert "network" not in message(found("def test_it():\n    open('/usr/x', 'w')\n"))


def test_tests_of_earlier_steps_code_have_to_notice_that_it_is_gone() -> None:
    tests = "from slug import slugify\n\n\ndef test_it():\n    slugify('A b')\n"
    finding = found(tests, GOOD)
    assert finding.category is Category.CODE
    assert message(finding).startswith("line 4: your tests pass without the code they are for")


def test_code_is_not_blamed_for_the_tests_of_an_earlier_step() -> None:
    tests = "from slug import slugify\n\n\ndef test_it():\n    slugify('A b')\n"
    assert found(GOOD, tests) == Finding(status="passed")


FAULTS = {
    "returned": ("return 1 == 2", "it returns a value instead of asserting it"),
    "skipped": ("import pytest; pytest.skip('later')", "was skipped: later"),
    "expected to fail": (
        "import pytest; pytest.xfail('later')",
        "it is marked as expected to fail: later",
    ),
    "in a thread": (
        "import threading; t = threading.Thread(target=int, args=('x',)); t.start(); t.join()",
        "an exception in a thread: ValueError: invalid literal for int() with base 10: 'x'",
    ),
    "never awaited": (
        "import asyncio; asyncio.sleep(0)",
        "it doesn't wait for a coroutine: coroutine 'sleep' was never awaited",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_kept_a_test_from_testing_is_named(fault: str) -> None:
    statement, words = FAULTS[fault]
    finding = found(f"{GOOD}\n\ndef test_own():\n    {statement}\n")
    assert finding.diagnostics[0].line in (5, 6)
    assert words in message(finding)
    assert "test_own" in message(finding)
