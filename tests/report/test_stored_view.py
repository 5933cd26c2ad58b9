"""A stored run's view has what its pages need, from its folder alone."""

from __future__ import annotations

import subprocess
import sys

import pytest
from flow_runs import plan_of, run
from prefect_swarm.report.stored_view import view_of
from prefect_swarm.store.failure_policy import Policy
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.result import SwarmResult
from scripted import Script, scripted

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}}


def retried() -> SwarmResult:
    answers = iter(['{"n": "one"}', '{"n": 1}', "fine"])
    plan = plan_of(
        {"id": "S1", "output": {"kind": "json", "schema": NUMBER}},
        {"id": "S2", "depends_on": ["S1"]},
        inputs={"notes": "Some notes."},
    )
    with scripted(Script(lambda _: next(answers))):
        return run(plan, policy=Policy.model_validate({"rules": {"SCHEMA": ["RETRY"]}}))


def test_it_has_what_attempts_were_sent_and_answered() -> None:
    first, second = view_of(RunFolder.find(retried().run_id)).steps
    before, after = first.attempts
    assert (before.answered, after.answered) == ('{"n": "one"}', '{"n": 1}')
    assert "Some notes." in before.sent
    assert "do S1" in before.sent
    assert "The last answer was not accepted" in after.sent
    assert "You read closely." in before.instructions
    assert '{"n": 1}' in second.attempts[0].sent


def test_it_has_what_steps_read_and_made() -> None:
    first, second = view_of(RunFolder.find(retried().run_id)).steps
    assert (first.kind, first.output, first.output_chars) == ("json", '{"n": 1}', 8)
    assert first.reads == (("notes", 11),)
    assert second.reads == (("S1", 8),)


def test_a_run_without_a_result_has_statuses_and_what_it_cost() -> None:
    stored = RunFolder.find(retried().run_id)
    (stored.folder / "result.json").unlink()
    (stored.folder / "steps" / "S2.json").unlink()
    (stored.folder / "outputs" / "S2.txt").unlink()
    view = view_of(stored)
    assert view.status == "unfinished"
    assert [step.status for step in view.steps] == ["succeeded", "ready"]
    assert view.steps[1].why == "waits for a free slot"
    assert view.cost.calls == 3
    assert view.planning is not None
    assert view.planning.source == "user"
    assert view_of(stored, is_running=True).status == "running"


def test_secrets_are_masked_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with scripted(Script(lambda _: "the value is s3cr3t-value-17")):
        result = run(plan_of({"id": "S1"}))
    monkeypatch.setenv("SHOP_TOKEN", "s3cr3t-value-17")
    view = view_of(RunFolder.find(result.run_id))
    assert view.answer == "the value is …masked…"
    assert "s3cr3t" not in repr(view)


def test_reading_it_loads_neither_prefect_nor_an_agent() -> None:
    code = (
        "import sys; import prefect_swarm.report.stored_view;"
        "print(sorted({'prefect', 'pydantic_ai'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"
