"""Steps start while their plan is still being written, and the run is the same otherwise."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from prefect_swarm.result import SwarmResult
from provider_runs import planned, serving
from provider_server import Asked, Reply
from run_events import kept_events

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

OBJECTIVE = "Compare tea, coffee and water"
AGENTS = [{"name": "Reader", "system_prompt": "You read closely."}]
TASKS: list[dict[str, Any]] = [
    {"agent": "Reader", "prompt": "Describe tea"},
    {"agent": "Reader", "prompt": "Describe coffee"},
    {"agent": "Reader", "prompt": "Describe water"},
    {"agent": "Reader", "prompt": "Compare them", "depends_on": [1, 2, 3]},
]
PLAN = {"create_subagent": AGENTS, "assign_task": TASKS}


def finding(asked: Asked) -> Reply:
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
            return Reply(tool_args=self.plan, before_piece=self._wait)
        self.asked_early.set()
        return self.step(asked)

    def _wait(self, number: int) -> None:
        if number == self.waits_before:
            assert self.asked_early.wait(30)


LAST_PIECES = 14


def kinds(result: SwarmResult) -> list[tuple[str, str]]:
    return [(event.kind, event.step) for event in kept_events(result.run_id)]


def test_the_first_step_is_asked_before_the_plan_is_finished() -> None:
    reply = Streaming(waits_before=LAST_PIECES)
    with serving(reply) as server:
        result = planned(server, OBJECTIVE)
    happened = kinds(result)
    assert happened.index(("started", "S1")) < happened.index(("planned", ""))
    assert result.status == "completed"
    assert len(server.asked) == 5
