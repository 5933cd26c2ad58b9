"""A process that is killed while its plan is being written: nothing answered is asked again."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections import Counter
from pathlib import Path

import pytest
from held_runs import heard, started
from prefect_swarm.flows.resume import resume
from prefect_swarm.store.folder import RunFolder
from provider_runs import serving
from provider_server import Asked, Reply
from streamed_plans import LAST_PIECES, OBJECTIVE, PLAN, TASKS, finding, kinds, steps_asked

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("prefect_server", "swarm_home")]

SCRIPT = Path(__file__).parent / "planned_run.py"
WATER = TASKS[2]["prompt"]


def test_nothing_that_was_answered_is_asked_twice_and_nothing_is_lost() -> None:
    killed, held = threading.Event(), threading.Event()

    def hold(number: int) -> None:
        if number == LAST_PIECES:
            assert killed.wait(60)

    def answer(asked: Asked) -> Reply:
        if asked.is_plan:
            return Reply(tool_args=PLAN, before_piece=hold)
        is_held = WATER in asked.prompt and not killed.is_set()
        if is_held:
            held.set()
        return Reply("too late", hold=killed) if is_held else finding(asked)

    with serving(answer) as server:
        with started(server.name(), OBJECTIVE, script=SCRIPT) as process:
            run = heard(process, "spent S1", "spent S2", "started S3")
            # The event tells of an attempt; its request may be still on its way.
            assert held.wait(60)
            process.send_signal(signal.SIGKILL)
            process.wait()
        before = [
            line["key"]
            for line in RunFolder.find(run).lines("accounts.jsonl")
            if line.get("is_settled")
        ]
        killed.set()
        result = asyncio.run(resume(run))

    assert result.status == "completed"
    asked = Counter(steps_asked(server.asked))
    assert asked == {task["prompt"]: 2 if task["prompt"] == WATER else 1 for task in TASKS}
    outputs = [RunFolder.find(run).read(f"outputs/{step.id}.txt") for step in result.steps]
    assert outputs == [f"A finding: {task['prompt']}." for task in TASKS]
    # What the killed process had paid for is in the accounts once.
    settled = Counter(
        line["key"]
        for line in RunFolder.find(run).lines("accounts.jsonl")
        if line.get("is_settled")
    )
    assert len(before) == 2
    assert all(settled[key] == 1 for key in before)
    assert result.cost.calls == 5
    assert [kind for kind, _ in kinds(result)].count("began") == 2
