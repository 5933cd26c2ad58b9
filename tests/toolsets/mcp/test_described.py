"""Tools get names that any model takes, and what is known of them beside their schema."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.types import Tool, ToolAnnotations
from prefect_swarm.toolsets.catalogue import is_acting, is_idempotent
from prefect_swarm.toolsets.mcp.configuration import McpEndpoint, OwnMarks, StdioServer
from prefect_swarm.toolsets.mcp.listing import described, distinct_names

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def test_a_name_that_any_model_takes_stays_as_it_is() -> None:
    assert distinct_names(["now", "time-zones"]) == {"now": "now", "time-zones": "time-zones"}


@pytest.mark.parametrize(
    ("own", "given"),
    [
        (["files/read", "a"], ["files_read", "a"]),
        (["files/read", "files.read"], ["files_read_2b7331", "files_read_601e4e"]),
        (["files_read", "files.read"], ["files_read", "files_read_601e4e"]),
        (["x" * 90], ["x" * 57 + "_efdfd9"]),
    ],
)
def test_names_that_models_could_not_tell_apart_end_with_a_hash(
    own: list[str], given: list[str]
) -> None:
    assert [*distinct_names(own)] == given


@given(st.lists(st.text()))
def test_each_tool_has_a_name_of_its_own_that_any_model_takes(own: list[str]) -> None:
    names = distinct_names(own)
    assert [*names.values()] == [*dict.fromkeys(own)]
    assert all(NAME.fullmatch(name) for name in names)


def marks_of(own: OwnMarks, hints: ToolAnnotations | None) -> tuple[bool, bool]:
    """Whether a tool named `send` is idempotent, and whether it acts."""
    endpoint = McpEndpoint(name="mail", how=StdioServer(command="x"), marks=own)
    tool = Tool(name="send", input_schema={"type": "object"}, annotations=hints)
    definition = described(endpoint, [tool]).definitions["send"]
    return is_idempotent(definition), is_acting(definition)


READS = ToolAnnotations(read_only_hint=True)
REPEATS = ToolAnnotations(idempotent_hint=True)


@pytest.mark.parametrize(
    ("own", "hints", "expected"),
    [
        (OwnMarks(), None, (False, True)),
        (OwnMarks(), READS, (True, False)),
        (OwnMarks(), REPEATS, (True, True)),
        (OwnMarks(idempotent=("send",)), None, (True, True)),
        (OwnMarks(acting=("send",)), READS, (True, True)),
        (OwnMarks(acting=("other",)), None, (False, False)),
        (OwnMarks(acting=()), REPEATS, (True, True)),
    ],
)
def test_the_user_says_what_the_server_does_not(
    own: OwnMarks, hints: ToolAnnotations | None, expected: tuple[bool, bool]
) -> None:
    assert marks_of(own, hints) == expected


def test_the_tools_that_a_file_of_another_program_turns_off_are_not_there() -> None:
    endpoint = McpEndpoint(
        name="a", how=StdioServer(command="x"), only=("get", "send"), without=("send",)
    )
    tools = [Tool(name=name, input_schema={}) for name in ("get", "send", "drop")]
    assert [*described(endpoint, tools).definitions] == ["get"]


def test_the_first_of_two_tools_of_a_name_counts() -> None:
    endpoint = McpEndpoint(name="a", how=StdioServer(command="x"))
    tools = [Tool(name="t", description=text, input_schema={}) for text in ("first", "second")]
    found = described(endpoint, tools)
    assert [each.description for each in found.definitions.values()] == ["first"]
    assert "another tool of that name" in found.left_out["t"]


def test_a_tool_that_comes_again_is_no_other() -> None:
    endpoint = McpEndpoint(name="a", how=StdioServer(command="x"))
    found = described(endpoint, [Tool(name="t", input_schema={}) for _ in range(2)])
    assert ([*found.definitions], found.left_out) == (["t"], {})
