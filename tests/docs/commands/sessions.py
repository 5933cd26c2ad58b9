"""What lies in the folder of a page's session, and what its models answer."""

from __future__ import annotations

import json
import runpy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from docs_pages import ROOT
from documented.stand_in import answer
from provider_server import Asked, Reply

__all__ = ["SESSIONS", "Session"]

_RECORDED = ROOT / "tests" / "tasks" / "planner" / "recorded"


@dataclass(frozen=True, slots=True)
class Session:
    """A page's.

    Attributes:
        reply: What its models answer.
        files: A folder whose files lie in the reader's.
        scene: What was run before, whose ids stand for those that no command has printed.
        codes: The exit codes of commands that don't end with 0, by their beginnings.
        sandboxed: Whether its gates need a sandbox.
    """

    reply: Callable[[Asked], Reply] = answer
    files: str = ""
    scene: str = "nothing"
    codes: Mapping[str, int] = field(default_factory=dict[str, int])
    sandboxed: bool = False


def _mills(asked: Asked) -> Reply:
    """Answer as the models of the README's first run did."""
    held = json.loads(
        (_RECORDED / "market_research_with_regions_and_a_join.json").read_text("utf-8")
    )
    if asked.is_plan:
        return Reply(tool_args=held["plan"])
    return Reply(f"A note on {asked.prompt.splitlines()[-1][:60]}: it sells well there, and ends.")


def _pretending(asked: Asked) -> Reply:
    """Answer as the program of the tutorials that pretends to be a model."""
    program = runpy.run_path(str(ROOT / "examples" / "tools" / "pretend_model.py"))
    tools = [tool["function"]["name"] for tool in asked.body.get("tools") or []]
    message: dict[str, Any] = program["message"](asked.body["messages"], tools)
    if calls := message.get("tool_calls"):
        call = calls[0]["function"]
        return Reply(tool_args=call["arguments"], tool_name=call["name"])
    return Reply(message["content"])


SESSIONS: Mapping[str, Session] = MappingProxyType(
    {
        "README.md": Session(reply=_mills),
        "docs/how-to/approval.md": Session(scene="plan waits", codes={"prefect-swarm run": 4}),
        "docs/how-to/watch.md": Session(scene="done"),
        "docs/reference/gates.md": Session(
            codes={"prefect-swarm gates": 1}, sandboxed=True
        ),
        "docs/tutorials/mcp_tools.md": Session(
            reply=_pretending, files="tools", codes={"prefect-swarm run --plan plan.json --mcp acting": 4}
        ),
    }
)
"""Sessions that need something; a page that isn't here needs nothing."""
