"""Static inspection of a Python text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.gates.base import Diagnostic
from prefect_swarm.gates.python.inspection import Facts, Import, read

NAMES = (
    st.from_regex(r"[a-z][a-z_]{0,6}", fullmatch=True).filter(str.isidentifier).map("n{}".format)
)


def facts(text: str) -> Facts:
    found = read(text)
    assert isinstance(found, Facts)
    return found


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    assert isinstance(read(text), Facts | Diagnostic)


@pytest.mark.parametrize(
    "text",
    [
        *("", "# only a comment\n", "Dear reader,", "return 1", "x = (", "'\ud800'", "a\0b"),
        *("(" * 5000, "-" * 50_000 + "1", "+".join("1" * 50_000), "[" * 150 + "]" * 150 + "(" * 99),
        *("# -*- coding: nonsense -*-\nx = 1", "def f(a, a): pass", "break"),
    ],
    ids=range(14),
)
def test_what_is_no_python_is_refused(text: str) -> None:
    assert isinstance(read(text), Diagnostic)


def test_a_refusal_has_the_place() -> None:
    found = read("x = 1\ny = = 2\n")
    assert str(found) == "line 2, column 5: SyntaxError invalid syntax"


@given(st.lists(NAMES, min_size=1, unique=True))
def test_every_function_that_begins_so_is_a_test_in_its_order(names: list[str]) -> None:
    text = "".join(f"def test_{name}():\n    assert True\n" for name in names)
    assert facts(text).tests == tuple(f"test_{name}" for name in names)


def test_tests_are_found_where_pytest_finds_them() -> None:
    text = """
import unittest, pytest

@pytest.fixture
def test_client(): ...
def testable(): ...
def helper():
    def test_inner(): ...
async def test_a(): ...
class TestB:
    def test_c(self): ...
    def other(self): ...
    class TestD:
        def test_e(self): ...
class Sums(unittest.TestCase):
    def test_f(self): ...
class Contest:
    def test_g(self): ...
"""
    expected = ("test_a", "TestB::test_c", "TestB::TestD::test_e", "Sums::test_f")
    assert facts(text).tests == expected


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("def f(): ...", True),
        ("class F: ...", True),
        ("def test_f(): ...", False),
        ("def _help(): ...", False),
        ("import pytest\n@pytest.fixture()\ndef f(): ...", False),
        ("class TestF: ...", False),
        ("x = 1", False),
    ],
)
def test_code_is_what_is_not_there_for_a_test(text: str, code: bool) -> None:
    assert facts(text).code is code


def test_names_are_defined_wherever_the_module_itself_binds_them() -> None:
    text = """
import os
a, (b, *c) = 1, (2, 3)
d: int = 4
e: int
if a:
    def f():
        g = 1
else:
    f = None
try:
    class H:
        i = 1
except ValueError:
    j = 1
"""
    assert set(facts(text).lines) == {"a", "b", "c", "d", "f", "H", "j"}
    assert facts(text).lines["f"] == 7


def test_imports_come_with_the_names_that_are_used_of_them() -> None:
    text = """
import os.path, shop as s
from app.sums import add, sub as minus
from . import near
def f():
    import late
    late.a(s.b.c, os.path.join())
"""
    assert set(facts(text).imports) == {
        Import("os.path", frozenset({"join"})),
        Import("shop", frozenset({"b"})),
        Import("app.sums", frozenset({"add", "sub"})),
        Import("late", frozenset({"a"})),
    }


def test_a_star_imports_what_is_used_and_nowhere_defined() -> None:
    assert facts("from m import *\nprint(f(g))").imports == (Import("m", frozenset({"f", "g"})),)


def test_free_names_are_those_that_nothing_binds() -> None:
    text = """
from m import known
def f(x):
    global late
    late = x
    return [free_a(y) for y in known(x)], len(x), __name__
class C:
    z = free_b
    def g(self): return z, late
"""
    assert facts(text).free == {"free_a", "free_b", "z"}


@pytest.mark.parametrize(
    ("text", "head"),
    [
        ("x = 1", 0),
        ("# comment\nx = 1", 0),
        ("'''Long\ntext.'''\nx = 1", 2),
        ("'Text.'\n\nfrom __future__ import annotations\nimport os", 3),
        ("1\n'no docstring'\nx = 1", 0),
    ],
)
def test_a_statement_can_be_put_in_behind_docstring_and_future(text: str, head: int) -> None:
    assert facts(text).head == head
    lines = text.split("\n")
    assert isinstance(read("\n".join([*lines[:head], "import sys", *lines[head:]])), Facts)
