"""Variables in a configuration are replaced, wherever they stand."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.toolsets.mcp.configuration import UnsetVariableError, expanded

VARIABLES = {"TOKEN": "s3cret", "EMPTY": "", "NESTED": "${TOKEN}"}


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        ("Bearer ${TOKEN}", "Bearer s3cret"),
        ("${TOKEN}${TOKEN}", "s3crets3cret"),
        ("${ABSENT:-8080}", "8080"),
        ("${ABSENT:-}", ""),
        ("${EMPTY}", ""),
        ("${EMPTY:-full}", "full"),
        ("${NESTED}", "${TOKEN}"),
        ("$TOKEN and ${not a name}", "$TOKEN and ${not a name}"),
    ],
)
def test_a_reference_becomes_what_its_variable_holds(text: str, becomes: str) -> None:
    assert expanded(text, VARIABLES) == becomes


def test_a_variable_that_is_not_set_is_told_with_its_place() -> None:
    with pytest.raises(UnsetVariableError) as caught:
        expanded({"env": {"KEY": ["${TOKEN}", "${GONE}"]}}, VARIABLES)
    assert (caught.value.variable, caught.value.where) == ("GONE", "env.KEY.1")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(JSON)
def test_what_has_no_reference_stays_as_it_is(value: Any) -> None:
    if "${" not in repr(value):
        assert expanded(value, VARIABLES) == value
