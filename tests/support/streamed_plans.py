"""Plans that a provider's server writes piece by piece, for steps that start meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from prefect_swarm.store.result import SwarmResult
from provider_server import Asked, Reply
from run_events import kept_events

__all__ = [
    "AGENTS",
    "LAST_PIECES",
    "OBJECTIVE",
    "PLAN",
    "TASKS",
    "Streaming",
    "finding",
    "kinds",
    "steps_asked",
]

OBJECTIVE = "Compare tea, coffee and water"
AGENTS = [{"name": "Reader", "system_prompt": "You read closely."}]
TASKS: list[dict[str, Any]] = [
    {"agent": "Reader", "prompt": "Describe tea"},
    {"agent": "Reader", "prompt": "Describe coffee"},
    {"agent": "Reader", "prompt": "Describe water"},
    {"agent": "Reader", "prompt": "Compare them", "depends_on": [1, 2, 3]},
]
PLAN = {"create_subagent": AGENTS, "assign_task": TASKS}
LAST_PIECES = 14
"""The piece of `PLAN` that comes after the first three steps are complete, and before the last."""


def finding(asked: Asked) -> Reply:
    """Answer every step with a text of its own."""
    return Reply(f"A finding: {asked.prompt.splitlines()[-1]}.")


@dataclass
class Streaming:
    """Writes the plan up to a piece, and the rest once a step was asked.

    Attributes:
        waits_before: The piece of the plan that waits for the first step; None: none does.
    """

    plan: dict[str, Any] | str = field(default_factory=lambda: PLAN)
    waits_before: int | None = None
    asked_early: threading.Event = field(default_factory=threading.Event)
    step: Callable[[Asked], Reply] = finding

    def __call__(self, asked: Asked) -> Reply:
        if asked.is_plan:
            return Reply(tool_args=self.plan, before_piece=self.wait)
        self.asked_early.set()
        return self.step(asked)

    def wait(self, number: int) -> None:
        if number == self.waits_before:
            assert self.asked_early.wait(30)


def kinds(result: SwarmResult) -> list[tuple[str, str]]:
    """What happened in a run, and to which step."""
    return [(event.kind, event.step) for event in kept_events(result.run_id)]


def steps_asked(asked: list[Asked]) -> list[str]:
    """The last line of each request that is for a step, in alphabetical order."""
    return sorted(each.prompt.splitlines()[-1] for each in asked if not each.is_plan)
