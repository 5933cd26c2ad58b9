"""A server has one owner; what it does wrong costs the call in which it does so, and no more."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable
from pathlib import Path

import pytest
from prefect_swarm.errors import ToolsetError
from prefect_swarm.toolsets.mcp.configuration import McpEndpoint, StdioServer
from prefect_swarm.toolsets.mcp.owner import ServerOwner, owned
from pydantic_ai.exceptions import ToolFailed
from raw_mcp_server import FLOOD_BYTES, PICTURE, TOOLS
from raw_servers import Opened, context, is_running, opened, raw_server

pytestmark = pytest.mark.anyio

HIDDEN = "not-to-be-shown"
# What never comes is waited for so long; what comes may take its time.
SHORT_S, LONG_S = 0.5, 60.0


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def refusal(call: Awaitable[object]) -> str:
    with pytest.raises(ToolFailed) as caught:
        await call
    return caught.value.message


def starts(notes: Path) -> int:
    return len(notes.read_text().splitlines()) if notes.exists() else 0


async def test_a_tool_is_called_by_its_name_behind_the_servers() -> None:
    async with opened(raw_server()) as raw:
        assert raw.tools["echo"].tool_def.description == "Give the text back."
        assert await raw.call("echo", text="hello") == "hello"


async def test_half_a_character_costs_no_result() -> None:
    async with opened(raw_server()) as raw:
        assert await raw.call("halves") == "9 \ufffd m"


async def test_all_users_of_an_event_loop_share_the_process(tmp_path: Path) -> None:
    server = raw_server(tmp_path / "notes")
    async with opened(server) as first, opened(server) as second:
        assert await first.call("pid") == await second.call("pid")
    assert starts(tmp_path / "notes") == 1


async def test_it_ends_with_its_last_user_and_starts_again_for_the_next() -> None:
    server = raw_server()
    async with opened(server) as first:
        async with opened(server):
            pid = await first.call("pid")
        assert await first.call("echo", text="still open") == "still open"
        assert is_running(pid)
    assert not is_running(pid)
    async with opened(server) as later:
        assert await later.call("pid") != pid


async def test_no_process_starts_before_it_is_asked_something(tmp_path: Path) -> None:
    async with owned(raw_server(tmp_path / "notes"), 4):
        pass
    assert starts(tmp_path / "notes") == 0


async def test_a_toolset_may_be_left_by_another_task_than_entered_it() -> None:
    server = raw_server()
    manager = opened(server)
    raw = await asyncio.create_task(manager.__aenter__())
    assert await asyncio.create_task(raw.call("echo", text="x")) == "x"
    pid = await raw.call("pid")
    await asyncio.create_task(manager.__aexit__(None, None, None))
    assert not is_running(pid)


async def test_an_error_of_a_tool_is_for_the_model_and_shows_no_secret() -> None:
    async with opened(raw_server(TOKEN=HIDDEN)) as raw:
        assert await refusal(raw.call("fail")) == "no such thing, …masked…"
        assert await raw.call("echo", text="fine") == "fine"


async def test_a_tool_that_hangs_is_given_up_and_the_server_goes_on() -> None:
    async with owned(raw_server(), 4) as raw:
        pid = await raw.call("pid", {}, LONG_S)
        assert await refusal(raw.call("hang", {}, SHORT_S)) == (
            "The MCP server raw gave no answer within 0.5 s. "
            "Whether the call was carried out isn't known."
        )
        assert await raw.call("cancellations", {}, LONG_S) == "1"
        assert await raw.call("pid", {}, LONG_S) == pid


async def test_a_server_that_answers_no_ping_is_restarted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("prefect_swarm.toolsets.mcp.owner.PING_S", 0.5)
    async with owned(raw_server(), 4) as raw:
        pid = await raw.call("pid", {}, LONG_S)
        assert "no answer within 0.5 s" in await refusal(raw.call("block", {}, SHORT_S))
        assert await raw.call("pid", {}, LONG_S) != pid
        assert not is_running(pid)


async def test_a_server_that_dies_in_a_call_is_reported_and_restarted(tmp_path: Path) -> None:
    server = raw_server(tmp_path / "notes", TOKEN=HIDDEN)
    async with opened(server) as raw:
        message = await refusal(raw.call("die"))
        assert message.startswith("The MCP server raw ended before it answered (its process ended")
        assert "out of luck, …masked…" in message
        assert "Whether the call was carried out isn't known." in message
        assert await raw.call("echo", text="again") == "again"
    assert starts(tmp_path / "notes") == 2


async def test_a_server_that_only_dies_is_not_started_for_ever(tmp_path: Path) -> None:
    server = raw_server(tmp_path / "notes")
    async with opened(server) as raw:
        messages = [await refusal(raw.call("die")) for _ in range(6)]
    assert starts(tmp_path / "notes") == 4
    assert messages[-1].startswith("The MCP server raw isn't started again: it ended before")


async def test_other_calls_hear_of_a_death_too_and_none_is_left_waiting() -> None:
    async with opened(raw_server()) as raw:
        held = [asyncio.create_task(raw.call("hold")) for _ in range(3)]
        await asyncio.sleep(0)
        messages = await asyncio.gather(*map(refusal, [*held, raw.call("die")]))
        assert all("ended before it answered" in message for message in messages)


async def test_a_flood_is_not_read_and_costs_one_error() -> None:
    async with opened(raw_server()) as raw:
        pid = await raw.call("pid")
        message = await refusal(raw.call("flood"))
        assert "more than the 8,388,608 that are read" in message
        assert f"{FLOOD_BYTES:,}"[:3] in message
        assert await raw.call("pid") == pid


async def test_nonsense_costs_one_error_that_says_what_was_written() -> None:
    async with opened(raw_server()) as raw:
        message = await refusal(raw.call("strange"))
        assert "gave no answer that can be read" in message
        assert "Starting up … 100 %" in message
        assert await raw.call("echo", text="fine") == "fine"


async def test_what_it_says_on_standard_error_neither_blocks_it_nor_is_shown(
    capfd: pytest.CaptureFixture[str],
) -> None:
    async with opened(raw_server()) as raw:
        assert await raw.call("chatter") == "done"
    assert capfd.readouterr() == ("", "")


async def test_no_more_calls_are_made_at_once_than_are_allowed() -> None:
    async with opened(raw_server(), at_once=2) as raw:
        assert await asyncio.gather(*(raw.call("hold", until=2) for _ in range(6)))
        assert await raw.call("release") == "2"


async def test_a_cancelled_caller_takes_back_its_own_call_alone() -> None:
    async with opened(raw_server()) as raw:
        kept = asyncio.create_task(raw.call("hold"))
        hung = asyncio.create_task(raw.call("hang"))
        await raw.call("echo")
        hung.cancel()
        with pytest.raises(asyncio.CancelledError):
            await hung
        assert await raw.call("cancellations") == "1"
        assert await raw.call("release") == "1"
        assert await kept == "released"


async def test_a_call_that_was_taken_back_before_its_turn_is_never_made(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    async with opened(raw_server(), at_once=1) as raw:
        hung = asyncio.create_task(raw.call("hold", announce=str(pipe)))
        assert await asyncio.to_thread(pipe.read_text) == "held"
        waiting = asyncio.create_task(raw.call("hold"))
        await asyncio.sleep(0)
        waiting.cancel()
        hung.cancel()
        await asyncio.wait([hung, waiting])
        assert await raw.call("release") == "1"


async def test_closing_refuses_what_is_still_asked() -> None:
    async with opened(raw_server()) as raw:
        hung = asyncio.create_task(raw.call("hang"))
        await raw.call("echo")
    assert await refusal(hung) == "The MCP server raw was closed."


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        (("no-such-server",), "no-such-server: No such file or directory"),
        (("false",), "its process ended"),
        (("echo", "hello"), "it wrote a line which is not a message: hello"),
    ],
)
async def test_what_can_not_be_started_is_told_with_the_reason(
    command: tuple[str, ...], problem: str
) -> None:
    server = McpEndpoint(name="wrong", how=StdioServer(command=command[0], args=command[1:]))
    with pytest.raises(ToolsetError) as caught:
        async with opened(server):
            pass
    assert caught.value.problem.startswith("The MCP server wrong can't be started: ")
    assert problem in caught.value.problem
    assert "doctor --mcp" in caught.value.fix


async def test_a_server_that_never_gets_ready_is_given_up() -> None:
    mute = StdioServer(command=sys.executable, args=("-ISc", "import sys; sys.stdin.read()"))
    owner = ServerOwner(McpEndpoint(name="mute", how=mute), 4, start_s=0.5)
    with pytest.raises(ToolsetError, match=r"can't be started: it gave no answer within 0\.5 s"):
        await owner.tools(10)
    await owner.close()


async def test_a_name_that_the_server_does_not_have_is_for_the_model() -> None:
    async with opened(raw_server()) as raw:
        tool = raw.tools["echo"]
        call = raw.toolset.call_tool("nothing", {}, context(), tool)
        assert await refusal(call) == "The MCP server raw has no tool 'nothing'."


async def test_the_next_list_has_what_the_server_has_told_of() -> None:
    async with opened(raw_server(CHANGING="1")) as raw:
        assert {"older", "change"} <= set(raw.tools)
        assert await raw.call("older") == "old"
        assert await raw.call("change") == "changed"
        tools = await raw.toolset.get_tools(context())
        assert "newer" in tools
        assert "older" not in tools
        assert await raw.toolset.call_tool("newer", {}, context(), tools["newer"]) == "new"
        gone = raw.toolset.call_tool("older", {}, context(), raw.tools["older"])
        assert await refusal(gone) == "The MCP server raw has no tool 'older'."


async def test_a_list_is_asked_for_once_as_long_as_nothing_changes() -> None:
    async with opened(raw_server(CHANGING="1")) as raw:
        await raw.call("change", quietly=True)
        assert "older" in await raw.toolset.get_tools(context())


async def test_a_tool_that_is_wrong_is_left_out_by_name_and_costs_no_other(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with opened(raw_server(ODD="1")) as raw:
        assert await raw.call("echo", text="fine") == "fine"
        assert raw.tools["loose"].tool_def.parameters_json_schema["properties"] == {
            "a": {"type": "string"}
        }
        assert len(raw.tools) == len(TOOLS) + 1
        await raw.toolset.get_tools(context())
    warnings = [line.partition("the tool ")[2] for line in caplog.messages]
    assert warnings == [
        "'no_schema' is left out: its JSON Schema is null, not an object",
        "'text_schema' is left out: its JSON Schema is a str, not an object",
        "'nested' is left out: its JSON Schema is wrong at properties/required: "
        "['a'] is not of type 'object', 'boolean'",
        "'dangling' is left out: its JSON Schema has a reference to what isn't in it: "
        "'#/$defs/gone'",
        f"'#{len(TOOLS) + 5}' is left out: it has no name",
        f"'#{len(TOOLS) + 6}' is left out: it is not an object",
        "'echo' is left out: the server has another tool of that name, which is used",
    ]


async def test_a_part_of_a_result_that_is_wrong_costs_no_other() -> None:
    async with opened(raw_server(PICTURES="1")) as raw:
        text, picture, video = await raw.call("odd_picture")
    assert text == "Here it is."
    assert picture.data == PICTURE
    assert video == {"type": "video", "data": "not shown", "mimeType": "video/mp4"}


async def test_an_empty_cursor_is_no_other_page(caplog: pytest.LogCaptureFixture) -> None:
    async with opened(raw_server()) as raw:
        assert "echo" in raw.tools
    assert caplog.messages == []


async def test_a_toolset_outside_its_block_is_refused() -> None:
    async with opened(raw_server()) as raw:
        left: Opened = raw
    with pytest.raises(ToolsetError, match="isn't open"):
        await left.call("echo")
