"""The record of a run in its folder: every event, in order, in all its processes."""

from __future__ import annotations

import asyncio
import errno
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from flow_runs import UNEVEN, plan_of, run
from held_runs import heard, held_run, started
from prefect_swarm.flows.control import RunControl, controlled
from prefect_swarm.store import event_log as log_module
from prefect_swarm.store.events import (
    BeganEvent,
    FinishedEvent,
    GateEvent,
    PlannedEvent,
    RunEvent,
    SpentEvent,
    TextEvent,
)
from run_events import kept_events
from scripted import Script, scripted

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")


def of_step(events: list[RunEvent], step: str) -> list[str]:
    return [event.kind for event in events if event.step == step]


def test_a_run_tells_each_step_in_order_and_ends_with_its_answer() -> None:
    heard_events: list[RunEvent] = []
    with scripted(Script()), controlled(RunControl(listener=heard_events.append)):
        result = run(plan_of(*UNEVEN))
    events = kept_events(result.run_id)
    assert events == heard_events
    assert [event.number for event in events] == [*range(1, len(events) + 1)]
    assert {event.run for event in events} == {result.run_id}
    assert isinstance(events[0], BeganEvent)
    assert isinstance(events[1], PlannedEvent)
    assert [step.upstream for step in events[1].steps] == [(), (), ("S1",), ("S3", "S2")]
    for step in ("S1", "S2", "S3", "S4"):
        kinds = of_step(events, step)
        assert [kind for kind in kinds if kind != "gate"] == [
            "ready",
            "started",
            "spent",
            "succeeded",
        ]
        assert "gate" in kinds
    last = events[-1]
    assert isinstance(last, FinishedEvent)
    assert (last.status, last.answer, last.tokens) == (
        "completed",
        result.answer,
        result.cost.tokens,
    )
    spent = [event.tokens for event in events if isinstance(event, SpentEvent)]
    assert spent == sorted(spent)
    assert spent[-1] == result.cost.tokens


def test_a_failed_attempt_tells_its_gate_and_what_it_leads_to() -> None:
    def reply(prompt: str) -> str:
        return "{}" if "not accepted" in prompt else "no JSON"

    with scripted(Script(reply)):
        result = run(plan_of({"id": "S1", "output": {"kind": "json"}}))
    events = kept_events(result.run_id)
    kinds = [kind for kind in of_step(events, "S1") if kind != "spent"]
    first = kinds[: kinds.index("retrying") + 1]
    assert first[:2] == ["ready", "started"]
    assert first[-2:] == ["decision", "retrying"]
    assert kinds[kinds.index("retrying") + 1 :][0] == "started"
    found = [event for event in events if isinstance(event, GateEvent) and event.attempt == 1]
    assert found[-1].status == "failed"
    assert found[-1].found


def test_no_event_holds_a_prompt() -> None:
    with scripted(Script(lambda _: "fine")):
        result = run(plan_of({"id": "S1", "prompt": "a secret prompt"}))
    assert "secret" not in "".join(event.model_dump_json() for event in kept_events(result.run_id))


def test_a_run_that_finds_no_model_tells_why_it_was_left() -> None:
    heard_events: list[RunEvent] = []
    with (
        controlled(RunControl(listener=heard_events.append)),
        pytest.raises(Exception, match="no-such-file"),
    ):
        run(plan_of({"id": "S1"}), model="llamacpp:/no-such-file.gguf")
    last = heard_events[-1]
    assert isinstance(last, FinishedEvent)
    assert (last.status, "no-such-file" in last.problem) == ("unfinished", True)
    assert kept_events(last.run)[-1] == last


def test_a_full_disk_ends_the_events_and_not_the_run(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    write = log_module.append_bytes

    def fill(descriptor: int, data: bytes) -> None:
        if b'"succeeded"' in data:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(descriptor, data)

    monkeypatch.setattr(log_module, "append_bytes", fill)
    heard_events: list[RunEvent] = []
    with scripted(Script()), controlled(RunControl(listener=heard_events.append)):
        result = run(plan_of(*UNEVEN))
    assert result.status == "completed"
    assert isinstance(heard_events[-1], FinishedEvent)
    assert len(kept_events(result.run_id)) < len(heard_events)
    warnings = [record for record in caplog.records if "events are not kept" in record.message]
    assert len(warnings) == 1


@pytest.mark.slow
def test_a_killed_run_can_be_read_and_its_numbers_go_on_when_it_is_resumed(tmp_path: Path) -> None:
    plan: dict[str, Any] = {
        "objective": held_run.OBJECTIVE,
        "agents": [{"name": "Reader", "system_prompt": "You read."}],
        "steps": [
            {"id": "S1", "agent": "Reader", "prompt": "do: one"},
            {"id": "S2", "agent": "Reader", "prompt": "do: two", "depends_on": ["S1"]},
        ],
    }
    path, calls = tmp_path / "plan.json", tmp_path / "calls"
    path.write_text(json.dumps(plan), encoding="utf-8")
    with started(path, calls, "two") as process:
        name = heard(process, "succeeded S1", "called two")
    before = kept_events(name)
    assert of_step(before, "S1")[-1] == "succeeded"
    assert of_step(before, "S2") == ["ready", "started"]

    result = asyncio.run(held_run.go_on(name, calls))

    after = kept_events(name)
    assert result.status == "completed"
    assert after[: len(before)] == before
    assert [event.number for event in after] == [*range(1, len(after) + 1)]
    begins = [event for event in after if isinstance(event, BeganEvent)]
    assert [event.resumed for event in begins] == [False, True]
    assert Counter(event.kind for event in after)["finished"] == 1
    assert not any(isinstance(event, TextEvent) for event in after)
