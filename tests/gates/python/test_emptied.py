"""Code whose functions are emptied."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.gates.python.emptied import STUB, emptied, empty
from prefect_swarm.gates.python.inspection import Facts, read
from prefect_swarm.gates.python.layout import Layout, Piece, lay_out

CODE = "def f(x):\n    return x\n"
TESTS = "from m import f\n\n\ndef test_f():\n    assert f(1) == 1\n"


def piece(text: str, *, own: bool = True, path: str | None = None) -> Piece:
    facts = read(text)
    assert isinstance(facts, Facts)
    return Piece("S1", text, facts, own, path)


def changed(layout: Layout) -> set[str]:
    tests = [placed for placed in layout.placed if placed.piece.own and placed.piece.facts.tests]
    return set(emptied(layout, tests))


def body(text: str, used: Sequence[str] = ()) -> str:
    found = empty(text, frozenset(used))
    assert found is not None
    return found.strip()


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("def f(x):\n    return x", f"def f(x):\n    return {STUB}()"),
        ("async def f():\n    return 1", f"async def f():\n    return {STUB}()"),
        ("def f():\n    yield 1", f"def f():\n    yield {STUB}()"),
        ("def f():\n    'Do.'\n    return 1", f'def f():\n    """Do."""\n    return {STUB}()'),
        ("@cache\ndef f():\n    return 1", f"@cache\ndef f():\n    return {STUB}()"),
        ("f = lambda x: x", f"f = lambda x: {STUB}()"),
        ("try:\n    import a\nexcept E:\n\n    def f():\n        return 1", f"return {STUB}()"),
        ("class A:\n\n    def f(self):\n        return 1", f"return {STUB}()"),
        ("class A:\n\n    def __init__(self):\n        self.x = 1", f"        {STUB}()"),
        ("class A:\n\n    class B:\n\n        def f(self):\n            return 1", f"{STUB}()"),
        (
            "@dataclass\nclass A:\n    x: int",
            f"def __new__(cls, *args, **kwargs):\n        return {STUB}()",
        ),
    ],
)
def test_a_function_gives_what_the_stub_gives(text: str, left: str) -> None:
    assert left in body(text)
    assert body(text).count(STUB) == 1


@pytest.mark.parametrize(
    "text",
    [
        "X = 1",
        "def _f():\n    return 1",
        "def test_f():\n    assert 1",
        "@pytest.fixture\ndef f():\n    return 1",
        "class TestA:\n    def helper(self):\n        return 1",
        "class A(unittest.TestCase):\n    def helper(self):\n        return 1",
        "class A:\n    x = 1",
        "class A:\n    def _f(self):\n        return 1",
        "class A:\n    def test_f(self):\n        return 1\n    def setUp(self):\n        pass",
        "if __name__ == '__main__':\n    print(1)",
        "def f(:",
    ],
)
def test_what_no_test_is_about_is_left_alone(text: str) -> None:
    assert empty(text) is None


def test_a_private_function_counts_where_tests_and_code_use_it() -> None:
    text = "def _a():\n    return 1\n\ndef _b():\n    return 2\n\ndef f():\n    return _a()\n"
    assert body(text).count(STUB) == 1
    assert body(text, ["_a"]).count(STUB) == 2
    assert body(text, ["_a", "_b"]).count(STUB) == 2


@given(st.sampled_from(["f", "_f", "test_f", "A", "TestA"]), st.booleans(), st.booleans())
def test_what_is_left_is_python_and_empty_already(name: str, is_class: bool, more: bool) -> None:
    inner = f"class {name}:\n    def g(self):\n        yield 1\n" if is_class else ""
    text = (inner or f"def {name}():\n    return 1\n") + ("X = 1\n" if more else "")
    found = empty(text)
    if found is not None:
        ast.parse(found)
        assert empty(found) == found


def test_the_code_is_the_files_without_tests() -> None:
    both = f"def helper():\n    return 1\n\n\n{TESTS}"
    layout = lay_out([piece(CODE, path="m.py"), piece(both, path="test_m.py")])
    assert changed(layout) == {"m.py"}


def test_the_code_is_beside_its_tests_where_no_file_is_without() -> None:
    assert changed(lay_out([piece(f"{CODE}\n\ndef test_f():\n    assert f(1) == 1\n")])) == {
        "solution.py"
    }


def test_tests_alone_are_held_against_the_code_that_they_use() -> None:
    other = "def g():\n    return 1\n"
    layout = lay_out([piece(TESTS), piece(CODE, own=False), piece(other, own=False)])
    assert changed(layout) == {"m.py"}


def test_tests_of_no_code_have_nothing_to_lose() -> None:
    assert changed(lay_out([piece("def test_it():\n    assert 1 + 1 == 2\n")])) == set()
