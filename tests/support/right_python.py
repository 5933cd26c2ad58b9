"""Python that a Python step's gates have to let pass, without examples."""

from __future__ import annotations

_RIGHT = "def add(a, b):\n    return a + b\n\n\n"

RIGHT: dict[str, str] = {
    "a function": _RIGHT + "def test_add():\n    assert add(1, 2) == 3\n",
    "constants alone": "LIMIT = 3\n\n\ndef test_limit():\n    assert LIMIT == 3\n",
    "the result of a call of the module's": """
def squares(n):
    return [x * x for x in range(n)]


TABLE = squares(4)


def test_table():
    assert TABLE == [0, 1, 4, 9]
""",
    "a table and a function that isn't tested": """
NAMES = {1: "uno", 2: "due"}


def _names():
    return sorted(NAMES.values())


def test_names():
    assert _names() == ["due", "uno"]
""",
    "private functions that are tested": """
import sys


def _slug(text):
    return text.lower().replace(" ", "-")


def main():
    for line in sys.stdin:
        print(_slug(line))


def test_slug():
    assert _slug("A b") == "a-b"
""",
    "examples in docstrings": '''
"""Slugs.

>>> slugify("A b")
'a-b'
"""


def slugify(text):
    """Make a slug.

    >>> slugify("Hello World")
    'hello-world'
    >>> slugify("")
    ''
    >>> slugify(3)
    Traceback (most recent call last):
    AttributeError: 'int' object has no attribute 'lower'
    """
    return text.lower().replace(" ", "-")
''',
    "an example that isn't to be run": '''
def fetch(url):
    """Fetch a page.

    >>> fetch("https://example.com")  # doctest: +SKIP
    '<html>'
    """
    return url


def test_fetch():
    assert fetch("a") == "a"
''',
    "a quoted mail in a docstring": '''
def quote(text):
    """Quote a text as mails do: `>>>text`."""
    return f">>>{text}"


def test_quote():
    assert quote("a") == ">>>a"
''',
    "a decorated function": """
import functools


def logged(function):
    @functools.wraps(function)
    def inner(*args):
        return function(*args)

    return inner


@logged
@functools.lru_cache
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def test_fib():
    assert fib(10) == 55
""",
    "a function by kinds of arguments": """
from functools import singledispatch


@singledispatch
def show(value):
    return "?"


@show.register
def _(value: int):
    return "int"


@show.register(str)
def _(value):
    return "str"


def test_show():
    assert show(1) == "int"
    assert show("a") == "str"
""",
    "properties, class methods and static methods": """
class Circle:
    def __init__(self, radius):
        self._radius = radius

    @property
    def diameter(self):
        return 2 * self._radius

    @diameter.setter
    def diameter(self, value):
        self._radius = value / 2

    @classmethod
    def unit(cls):
        return cls(1)

    @staticmethod
    def sides():
        return 0


def test_circle():
    circle = Circle.unit()
    circle.diameter = 6
    assert circle.diameter == 6
    assert Circle.sides() == 0
""",
    "a coroutine": """
import asyncio


async def double(x):
    await asyncio.sleep(0)
    return 2 * x


def test_double():
    assert asyncio.run(double(2)) == 4
""",
    "an asynchronous generator and a context manager": """
import asyncio
from contextlib import asynccontextmanager


async def numbers(n):
    for x in range(n):
        yield x


@asynccontextmanager
async def opened():
    yield "open"


async def test_numbers():
    assert [x async for x in numbers(3)] == [0, 1, 2]
    async with opened() as state:
        assert state == "open"


def test_again():
    assert asyncio.run(anext(numbers(1))) == 0
""",
    "coroutines in a unittest for them": """
import unittest


async def double(x):
    return 2 * x


class DoubleTest(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.x = 2

    async def test_double(self):
        self.assertEqual(await double(self.x), 4)
""",
    "a dataclass alone": """
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Point:
    x: int
    y: int = 0


def test_points():
    assert Point(1) == Point(1, 0)
    assert Point(1).x == 1
""",
    "a dataclass with a method that isn't tested": """
from dataclasses import dataclass


@dataclass
class Point:
    x: int
    y: int

    def norm(self):
        return abs(self.x) + abs(self.y)


def test_points():
    assert Point(1, 2).y == 2
""",
    "an enumeration and a named tuple": """
from enum import Enum
from typing import NamedTuple


class Color(Enum):
    RED = 1
    BLUE = 2

    def label(self):
        return self.name.title()


class Pixel(NamedTuple):
    x: int
    color: Color


def test_pixel():
    assert Pixel(1, Color.RED).color.label() == "Red"
""",
    "an abstract class and a protocol": """
from abc import ABC, abstractmethod
from typing import Protocol


class Sized(Protocol):
    def size(self) -> int: ...


class Shape(ABC):
    @abstractmethod
    def area(self):
        raise NotImplementedError

    def twice(self):
        return 2 * self.area()


class Square(Shape):
    def __init__(self, side):
        self.side = side

    def area(self):
        return self.side**2


def test_area():
    assert Square(3).twice() == 18
""",
    "a function that raises": """
import pytest


def fail(message):
    raise RuntimeError(message)


def test_it_raises():
    with pytest.raises(RuntimeError):
        fail("no")
""",
    "a function that raises whatever it is": """
import pytest


def parse(text):
    raise ValueError(text)


def test_it_raises():
    with pytest.raises(Exception):
        parse("x")
""",
    "a function that swallows": """
def safe(function):
    try:
        return function()
    except Exception:
        return None


def test_safe():
    assert safe(lambda: 1 / 0) is None
    assert safe(lambda: 3) == 3
""",
    "a predicate that is tested once": """
def is_even(n):
    return n % 2 == 0


def test_even():
    assert is_even(2)
""",
    "a predicate that is tested for what it isn't": """
def is_odd(n):
    return n % 2 == 1


def test_odd():
    assert not is_odd(2)
""",
    "a function that prints": """
def greet(name):
    print(f"Hello, {name}!")


def test_greet(capsys):
    greet("Ann")
    assert capsys.readouterr().out == "Hello, Ann!\\n"
""",
    "a function that writes a file": """
from pathlib import Path


def save(path, text):
    Path(path).write_text(text)


def test_save(tmp_path):
    save(tmp_path / "a.txt", "x")
    assert (tmp_path / "a.txt").read_text() == "x"
""",
    "a script": '''
"""Count words."""

import sys


def count(text):
    return len(text.split())


def main():
    print(count(sys.stdin.read()))


def test_count():
    assert count("a b c") == 3


if __name__ == "__main__":
    main()
''',
    "a script without functions that is run by its test": """
import subprocess
import sys


def test_it_runs(tmp_path):
    done = subprocess.run([sys.executable, "-c", "print(1)"], capture_output=True, text=True)
    assert done.stdout == "1\\n"
""",
    "a unittest with a base class": """
import unittest


def add(a, b):
    return a + b


class BaseCase(unittest.TestCase):
    def setUp(self):
        self.a = 1

    def assert_sum(self, b, expected):
        self.assertEqual(add(self.a, b), expected)


class AddTestCase(BaseCase):
    pass


class AddTest(BaseCase, unittest.TestCase):
    def test_add(self):
        self.assert_sum(2, 3)
""",
    "fixtures and a helper": """
import pytest


class Account:
    def __init__(self):
        self.balance = 0

    def deposit(self, amount):
        if amount <= 0:
            raise ValueError("not positive")
        self.balance += amount


@pytest.fixture
def account():
    return Account()


def _deposit_all(account, *amounts):
    for amount in amounts:
        account.deposit(amount)


def test_deposit(account):
    _deposit_all(account, 1, 2)
    assert account.balance == 3


def test_negative(account):
    with pytest.raises(ValueError, match="positive"):
        account.deposit(-1)
""",
    "a loop that waits for an empty stack": """
class Stack:
    def __init__(self, *items):
        self._items = [*items]

    def is_empty(self):
        return not self._items

    def pop(self):
        return self._items.pop()


def test_it_ends():
    stack = Stack(1, 2, 3)
    popped = []
    while not stack.is_empty():
        popped.append(stack.pop())
    assert popped == [3, 2, 1]
""",
    "a round trip": """
def encode(text):
    return text[::-1]


def decode(text):
    return text[::-1]


def test_round_trip():
    for text in ("", "abc"):
        assert decode(encode(text)) == text
""",
    "a lambda": "double = lambda x: 2 * x\n\n\ndef test_double():\n    assert double(2) == 4\n",
    "threads that end well": """
import threading


class Counter:
    def __init__(self):
        self.lock, self.count = threading.Lock(), 0

    def add(self):
        with self.lock:
            self.count += 1


def test_counter():
    counter = Counter()
    threads = [threading.Thread(target=counter.add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counter.count == 4
""",
    "a test for another platform": """
import os
import sys

import pytest


def separator():
    return os.sep


@pytest.mark.skipif(sys.platform != "win32", reason="Windows has another")
def test_windows():
    assert separator() == "\\\\"


def test_here():
    assert separator() == "/"
""",
    "tests for other platforms in other ways": """
import platform
import sys
import unittest

import pytest

WINDOWS = sys.platform == "win32"
windows_only = pytest.mark.skipif(not WINDOWS, reason="Windows")


def name():
    return "a" if not WINDOWS else "b"


@windows_only
class TestWindows:
    def test_name(self):
        assert name() == "b"


class NameTest(unittest.TestCase):
    @unittest.skipUnless(platform.system() == "Darwin", "macOS")
    def test_mac(self):
        self.assertEqual(name(), "a")

    def test_name(self):
        self.assertEqual(name(), "a")


@pytest.mark.parametrize("x", ["a", pytest.param("b", marks=windows_only)])
def test_each(x):
    assert name() == x


def test_newer():
    if sys.version_info < (4,):
        pytest.skip("needs Python 4")
    assert name() == "c"
""",
    "a warning that is expected": """
import warnings

import pytest


def old():
    warnings.warn("use new()", DeprecationWarning, stacklevel=2)
    return 1


def test_old():
    with pytest.deprecated_call():
        assert old() == 1


def test_quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert old() == 1
""",
    "properties of many values": """
from hypothesis import given
from hypothesis import strategies as st


def double(x):
    return 2 * x


@st.composite
def pairs(draw):
    return draw(st.integers()), draw(st.integers())


@given(pairs())
def test_sums(pair):
    a, b = pair
    assert double(a) + double(b) == double(a + b)
""",
}
"""By what they are."""
