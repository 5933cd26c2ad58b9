"""An expression is told from what is none."""

import pytest
from prefect_swarm.plan.output import expression_problem


@pytest.mark.parametrize(
    ("text", "fits"),
    [("f(1)", True), (" a + b\n", True), ("x = 1", False), ("", False), ("f(", False)],
)
def test_an_expression_is_told_from_what_is_none(text: str, fits: bool) -> None:
    assert (expression_problem(text) == "") is fits
