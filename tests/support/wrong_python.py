"""Python that a Python step's gates have to refuse, without examples; none of it wants to cheat."""

from __future__ import annotations

_WRONG = "def add(a, b):\n    return a - b\n\n\n"

WRONG: dict[str, str] = {
    "asserts nothing": _WRONG + "def test_add():\n    add(1, 2)\n",
    "asserts what is always so": _WRONG + "def test_add():\n    assert True\n",
    "asserts a tuple": _WRONG + "def test_add():\n    assert (add(1, 2) == 3, 'add')\n",
    "compares a value with itself": """
def add(a, b):
    return a - b


def test_add():
    given = add(1, 2)
    assert given == given
""",
    "swallows its errors": _WRONG
    + """
def test_add():
    try:
        assert add(1, 2) == 3
    except Exception:
        pass
""",
    "swallows its assertion": _WRONG
    + """
def test_add():
    try:
        assert add(1, 2) == 3
    except AssertionError:
        print("add is not right yet")
""",
    "suppresses everything": _WRONG
    + """
import contextlib


def test_add():
    with contextlib.suppress(BaseException):
        assert add(1, 2) == 3
""",
    "tests a stub of its own": _WRONG
    + """
def test_add():
    def add(a, b):
        return a + b

    assert add(1, 2) == 3
""",
    "mocks what it tests": _WRONG
    + """
from unittest.mock import patch


def test_add():
    with patch(f"{__name__}.add", return_value=3) as mocked:
        assert mocked(1, 2) == 3
""",
    "asserts on a mock": _WRONG
    + """
from unittest.mock import MagicMock


def test_add():
    calculator = MagicMock()
    calculator.add.return_value = 3
    assert calculator.add(1, 2) == 3
""",
    "loops over nothing": _WRONG
    + """
CASES = []


def test_add():
    for a, b, expected in CASES:
        assert add(a, b) == expected
""",
    "loops over what a filter left": _WRONG
    + """
def test_add():
    cases = [(1, 2, 3), (2, 2, 4)]
    for a, b, expected in filter(lambda case: case[0] > 5, cases):
        assert add(a, b) == expected
""",
    "asserts behind a return": _WRONG + "def test_add():\n    return\n    assert add(1, 2) == 3\n",
    "asserts under a condition that is never so": _WRONG
    + """
DEBUG = False


def test_add():
    if DEBUG:
        assert add(1, 2) == 3
""",
    "returns the comparison": _WRONG + "def test_add():\n    return add(1, 2) == 3\n",
    "returns the comparison in a unittest": _WRONG
    + """
import unittest


class AddTest(unittest.TestCase):
    def test_add(self):
        return add(1, 2) == 3
""",
    "returns the comparison of a coroutine": """
async def add(a, b):
    return a - b


async def test_add():
    return await add(1, 2) == 3
""",
    "doesn't wait for the coroutine": """
async def add(a, b):
    assert b == 3
    return a - b


async def check():
    assert await add(1, 2) == 3


def test_add():
    check()
""",
    "doesn't wait in a coroutine": """
async def check(a, b):
    assert a == b


async def test_check():
    check(1, 2)
""",
    "has a coroutine in a plain unittest": """
import unittest


async def add(a, b):
    return a - b


class AddTest(unittest.TestCase):
    async def test_add(self):
        self.assertEqual(await add(1, 2), 3)
""",
    "asserts in a thread": _WRONG
    + """
import threading


def test_add():
    def work():
        assert add(1, 2) == 3

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
""",
    "skips the case that fails": _WRONG
    + """
import pytest


@pytest.mark.parametrize(
    ("a", "b", "expected"), [(1, 0, 1), pytest.param(1, 2, 3, marks=pytest.mark.skip)]
)
def test_add(a, b, expected):
    assert add(a, b) == expected
""",
    "expects the case that fails to fail": _WRONG
    + """
import pytest


@pytest.mark.parametrize(
    ("a", "b", "expected"), [(1, 0, 1), pytest.param(1, 2, 3, marks=pytest.mark.xfail)]
)
def test_add(a, b, expected):
    assert add(a, b) == expected
""",
    "skips where it fails": _WRONG
    + """
import pytest


def test_add():
    assert add(1, 0) == 1


def test_more():
    if add(1, 2) != 3:
        pytest.skip("not yet")
""",
    "has only tests for another platform": _WRONG
    + """
import sys

import pytest


@pytest.mark.skipif(sys.platform == "linux", reason="not on Linux")
def test_add():
    assert add(1, 2) == 3
""",
    "never calls what it patches out": """
import json


def load(path):
    with open(path) as file:
        return json.loads(file)


def test_load(monkeypatch):
    monkeypatch.setattr(json, "loads", lambda file: {"a": 1})
    assert json.loads("x") == {"a": 1}
""",
    "has a wrong example in a docstring": '''
def add(a, b):
    """Add two numbers.

    >>> add(1, 2)
    3
    """
    return a - b
''',
    "has a wrong example in a docstring beside a right test": '''
def add(a, b):
    """Add two numbers.

    >>> add(1, 2)
    3
    """
    return a - b


def test_nothing_is_added():
    assert add(1, 0) == 1
''',
    "has examples of other things": '''
def add(a, b):
    """Add two numbers.

    >>> 1 + 2
    3
    """
    return a - b
''',
    "hides an undefined name from the linter": """
def add(a, b):
    if a < 0:
        return undefined(a)  # noqa: F821
    return a + b


def test_add():
    assert add(1, 2) == 3
""",
    "hides its whole file from the linter": """
# ruff: noqa
def add(a, b):
    if a < 0:
        return undefined(a)
    return a + b


def test_add():
    assert add(1, 2) == 3
""",
    "hides a region from the linter": """
# ruff: disable[F821]
def add(a, b):
    if a < 0:
        return undefined(a)
    return a + b


# ruff: enable[F821]


def test_add():
    assert add(1, 2) == 3
""",
    "tests a class by its type": """
class Stack:
    def __init__(self):
        self.items = []

    def push(self, item):
        self.items = [item]

    def pop(self):
        return self.items.pop(0)


def test_stack():
    assert Stack
    stack = Stack
    assert stack is Stack
""",
    "tests that a name is there": _WRONG
    + "def test_add():\n    assert callable(add)\n    assert add.__name__ == 'add'\n",
    "tests what a fixture gives": _WRONG
    + """
import pytest


@pytest.fixture
def total():
    return 3


def test_add(total):
    assert total == 3
""",
    "fails in a destructor": """
class File:
    def __init__(self, name):
        self.name = name

    def __del__(self):
        self.handle.close()


def test_file():
    assert File("a").name == "a"
""",
}
"""By what they do."""
