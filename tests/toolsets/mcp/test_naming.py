"""Each server has a name that plans and tools can be called by, whatever its file calls it."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.toolsets.mcp.written import slugs

SLUG = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
NAMES = st.lists(
    st.text()
    | st.sampled_from(["a b", "a.b", "a_b", "a-b", "1", "日本", "日 本", "Ä", "A", "x" * 90])
)


@given(NAMES)
def test_each_name_has_a_slug_of_its_own(names: list[str]) -> None:
    found = slugs(names)
    assert [*found] == [*dict.fromkeys(names)]
    assert len(set(found.values())) == len(found)
    assert all(SLUG.fullmatch(slug) for slug in found.values())


@given(NAMES)
def test_the_order_of_names_changes_nothing(names: list[str]) -> None:
    assert slugs(reversed(names)) == slugs(names)


@given(st.from_regex(SLUG, fullmatch=True), NAMES)
def test_a_name_that_is_a_slug_keeps_it(name: str, others: list[str]) -> None:
    assert slugs([*others, name])[name] == name


def test_names_that_would_be_equal_are_told_apart() -> None:
    assert slugs(["a b", "a.b", "a_b"]) == {
        "a b": "a_b-c8687a",
        "a.b": "a_b-2e7336",
        "a_b": "a_b",
    }
