"""An attempt's tools have names of their own, whatever their toolsets call them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.toolsets.offered import ToolsOf, earlier_names, offered_tools
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import FunctionToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
OWNER: FunctionToolset[None] = FunctionToolset()
ANY = SchemaValidator(core_schema.any_schema())


def tools_of(toolset: str, *names: str) -> ToolsOf:
    tools = {
        name: ToolsetTool[None](
            toolset=OWNER, tool_def=ToolDefinition(name=name), max_retries=1, args_validator=ANY
        )
        for name in names
    }
    return toolset, toolset, OWNER, tools


def names(*toolsets: ToolsOf, **earlier: tuple[str, str]) -> dict[str, tuple[str, str]]:
    offered = offered_tools(toolsets, earlier)
    assert all(tool.tool.tool_def.name == shown for shown, tool in offered.items())
    return {shown: (tool.toolset, tool.own_name) for shown, tool in offered.items()}


def test_a_name_that_one_toolset_has_stays_and_others_have_their_toolsets_before_them() -> None:
    assert names(tools_of("a", "search", "get"), tools_of("b", "search")) == {
        "a_search": ("a", "search"),
        "get": ("a", "get"),
        "b_search": ("b", "search"),
    }


def test_names_that_are_equal_with_their_toolsets_are_told_apart() -> None:
    found = names(tools_of("a", "b_c", "x"), tools_of("a_b", "c", "x"), tools_of("c", "b_c", "c"))
    assert len(found) == 6
    assert {"a_b_c", "c_b_c", "c_c", "a_x", "a_b_x"} <= set(found)


def test_names_that_are_equal_after_cutting_are_told_apart() -> None:
    long = "x" * 62
    found = names(tools_of("first", long), tools_of("second", long), tools_of("first2", long))
    assert len(found) == 3
    assert all(NAME.fullmatch(name) for name in found)


def test_a_digit_is_not_the_first_character() -> None:
    assert [*names(tools_of("a", "2fa"))] == ["tool_2fa"]


TOOLS = st.dictionaries(
    st.text(alphabet="ab_", min_size=1, max_size=60),
    st.lists(st.text(alphabet="ab_/é", min_size=1, max_size=70), unique=True, max_size=6),
    max_size=5,
)


@given(TOOLS)
def test_no_tool_is_lost_and_each_name_is_one_that_any_model_takes(
    toolsets: dict[str, list[str]],
) -> None:
    found = names(*(tools_of(name, *own) for name, own in toolsets.items()))
    assert sorted(found.values()) == sorted(
        (name, own) for name, owns in toolsets.items() for own in owns
    )
    assert all(NAME.fullmatch(name) for name in found)


@given(TOOLS, TOOLS)
def test_a_name_stays_with_its_tool_whatever_comes_and_goes(
    before: dict[str, list[str]], after: dict[str, list[str]]
) -> None:
    first = names(*(tools_of(name, *own) for name, own in before.items()))
    then = names(*(tools_of(name, *own) for name, own in after.items()), **first)
    assert all(then[shown] == first[shown] for shown in first.keys() & then.keys())
    still = {tool: shown for shown, tool in first.items()}
    assert all(shown == still.get(tool, shown) for shown, tool in then.items())


@pytest.mark.parametrize("now", [("search",), ("search", "a_search")])
def test_after_a_kill_a_name_is_found_again_by_its_toolset(now: tuple[str, ...]) -> None:
    toolsets = [tools_of("a", *now), tools_of("b", "search")]
    assert earlier_names(toolsets, {"search": "a"}) == {"search": ("a", "search")}
    assert names(*toolsets, **earlier_names(toolsets, {"search": "a"}))["search"][0] == "a"
    assert earlier_names([tools_of("b", "search")], {"b_search": "b", "gone": "a"}) == {
        "b_search": ("b", "search")
    }
