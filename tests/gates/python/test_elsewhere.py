"""A test that says that it is for another platform is known by its text."""

from __future__ import annotations

import ast

import pytest
from prefect_swarm.gates.python.inspection import elsewhere

HEAD = "import os, platform, sys, unittest\nimport pytest\n"
TEST = "def test_a():\n    assert 1\n"


def found(text: str) -> list[str]:
    return list(elsewhere(ast.parse(HEAD + text)))


@pytest.mark.parametrize(
    "mark",
    [
        "@pytest.mark.skipif(sys.platform == 'win32', reason='x')",
        "@pytest.mark.skipif(os.name != 'nt', reason='x')",
        "@unittest.skipUnless(platform.system() == 'Darwin', 'x')",
        "@unittest.skipIf(sys.version_info < (3, 99), 'x')",
        "@pytest.mark.parametrize('x', [pytest.param(1, marks=mark.skipif(os.name == 'nt'))])",
    ],
)
def test_a_mark_that_asks_for_the_platform_says_so(mark: str) -> None:
    assert found(f"{mark}\n{TEST}") == ["test_a"]


def test_a_condition_may_have_a_name() -> None:
    names = (
        "from sys import platform as p\nWINDOWS = p == 'win32'\nwin = pytest.mark.skipif(WINDOWS)\n"
    )
    assert found(f"{names}@win\n{TEST}") == ["test_a"]
    assert found(f"{names}@pytest.mark.skipif(not WINDOWS)\n{TEST}") == ["test_a"]


def test_a_module_and_a_class_say_it_for_all_their_tests() -> None:
    mark = "pytest.mark.skipif(os.name == 'nt')"
    assert found(f"pytestmark = {mark}\n{TEST}") == ["test_a"]
    inside = "class TestB:\n    def test_b(self):\n        assert 1\n"
    assert found(f"@{mark}\n{inside}{TEST}") == ["TestB::test_b"]


def test_a_test_may_ask_within() -> None:
    assert found("def test_a():\n    if os.name == 'nt':\n        pytest.skip('x')\n") == ["test_a"]


@pytest.mark.parametrize(
    "mark",
    [
        "@pytest.mark.skip",
        "@pytest.mark.skipif(True, reason='sys.platform')",
        "@pytest.mark.skipif(slow, reason='x')",
        "@pytest.mark.skipif(file.name == 'nt', reason='x')",
        "@pytest.mark.xfail(sys.platform == 'linux')",
        "@pytest.mark.parametrize('x', [sys.platform])",
    ],
)
def test_other_reasons_are_none(mark: str) -> None:
    assert found(f"{mark}\n{TEST}") == []
