"""Examples in docstrings are found with their names and lines."""

from __future__ import annotations

import ast

import pytest
from prefect_swarm.gates.python.inspection import doctests


def found(text: str) -> list[tuple[str, int]]:
    return [(doctest.name, doctest.line) for doctest in doctests(ast.parse(text))]


def test_the_module_its_functions_and_its_methods_have_examples() -> None:
    text = '''"""M.

>>> 1
1
"""


def f():
    """F.

    >>> f()
    """


class A:
    """A."""

    async def g(self):
        """>>> 2
        2
        """
'''
    assert found(text) == [
        ("doctest of the module", 1),
        ("doctest of f", 9),
        ("doctest of A.g", 19),
    ]


@pytest.mark.parametrize(
    "docstring",
    ["No example.", ">>>quoted mail", ">>> f()  # doctest: +SKIP\n    3", "$ python >>> out"],
)
def test_a_docstring_without_examples_to_run_is_none(docstring: str) -> None:
    assert found(f'def f():\n    """{docstring}"""\n') == []
