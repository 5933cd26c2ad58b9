"""Runs over a Dask cluster: what was begun where, and a tool whose calls are counted."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from prefect_swarm.plan.task_ir import TaskIR, parse_plan
from prefect_swarm.store.protocol import RunStore
from prefect_swarm.store.runs import stored_runs
from provider_server import Asked, Reply
from raw_servers import entry

__all__ = ["HeldAnswers", "about", "booking", "booking_plan", "books", "places", "the_run"]


def about(asked: Asked) -> Reply:
    """Answer with what is asked."""
    return Reply(f"about: {asked.prompt.splitlines()[-1]}")


@dataclass(frozen=True, slots=True)
class HeldAnswers:
    """Answers with what is asked, once that may be sent.

    Attributes:
        asked_for: Is set when something is asked.
        hold: Lets the answers be sent.
    """

    asked_for: threading.Event = field(default_factory=threading.Event)
    hold: threading.Event = field(default_factory=threading.Event)

    def __call__(self, asked: Asked) -> Reply:
        """Answer, once it may be."""
        self.asked_for.set()
        return Reply(about(asked).text, hold=self.hold)


def the_run() -> RunStore:
    """Return the only run that is stored."""
    (run,) = stored_runs()
    return run


def places(run: RunStore) -> list[str]:
    """Return the worker that each attempt and inspection was begun on last."""
    found: list[str] = []
    for text in run.texts():
        if text.startswith("{") and '"mark"' in text:
            start = json.loads(text)
            found.append(start["place"])
    return found


def booking_plan(steps: int = 1) -> TaskIR:
    """Return a plan of steps that book, each for itself."""
    agents = [{"name": "Clerk", "system_prompt": "You book.", "tools": ["raw"]}]
    all_steps = [
        {"id": f"S{number}", "agent": "Clerk", "prompt": f"do S{number}"}
        for number in range(1, steps + 1)
    ]
    plan = {"objective": "Book", "agents": agents, "steps": all_steps, "final_step": "S1"}
    return parse_plan(plan)


def books(folder: Path) -> dict[str, Any]:
    """Return the option of a server that books in the file `books` of a folder."""
    server = {**entry(), "env": {"BOOKS": str(folder / "books")}}
    (path := folder / "tools.json").write_text(json.dumps({"mcpServers": {"raw": server}}))
    return {"mcp": str(path)}


def booking(before: Callable[[int], None] = lambda _: None) -> Callable[[Asked], Reply]:
    """Return what books twice, and then answers; `before` gets how many results it has read."""

    def reply(asked: Asked) -> Reply:
        done = sum(message.get("role") == "tool" for message in asked.body["messages"])
        before(done)
        if done == 2:
            return Reply("Booked.")
        return Reply(tool_name="book", tool_args={"line": f"line {done}"})

    return reply
