"""What steps did is undone where the run fails for good, the last first, each once."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest
from flow_runs import run
from ledger import Ledger, booking, plan_of_calls
from prefect_swarm import SwarmOptions, override_toolsets, resume, swarm
from prefect_swarm.errors import InputError
from prefect_swarm.store.approvals import Approvals
from prefect_swarm.store.events import UndoneEvent
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.question import Answer, RunWaitingError
from prefect_swarm.store.result import SwarmResult
from prefect_swarm.toolsets.journal import CallJournal

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

ASKING = SwarmOptions(memory=False, approve=("tools",))
FAILS = booking("S3", "S1", "S2", amount=-1)


def booked(ledger: Ledger, *steps: dict[str, Any], **options: Any) -> SwarmResult:
    with override_toolsets(ledger=ledger.toolset()):
        return run(plan_of_calls(*steps), memory=False, **options)


def chain(ledger: Ledger) -> SwarmResult:
    return booked(ledger, booking("S1", amount=5), booking("S2", "S1", amount=6), FAILS)


def test_what_was_done_is_undone_in_reverse_order() -> None:
    ledger = Ledger()
    result = chain(ledger)
    assert ledger.calls == ["post 5", "post 6", "reverse B2", "reverse B1"]
    assert result.status == "partial"
    assert [(each.step, each.problem) for each in result.undone] == [
        ("S3", "it failed after a call was begun: look whether that acted"),
        ("S2", ""),
        ("S1", ""),
    ]
    assert "Undone: S2, S1. S3 is not undone" in result.problem
    events = [each for each in RunFolder.find(result.run_id).events() if each.kind == "undone"]
    assert [each.step for each in events if isinstance(each, UndoneEvent)] == ["S2", "S1"]


def test_a_completed_run_undoes_nothing() -> None:
    ledger = Ledger()
    result = booked(ledger, booking("S1", amount=5), booking("S2", "S1", amount=6))
    assert (ledger.calls, result.undone) == (["post 5", "post 6"], ())


def test_one_that_cannot_be_undone_is_said_and_stops_no_other() -> None:
    ledger = Ledger(keeps=frozenset({"B2"}))
    result = chain(ledger)
    assert ledger.calls == ["post 5", "post 6", "reverse B1"]
    assert "S2 is not undone: reverse of ledger failed: B2 is closed" in result.problem
    assert "Undone: S1." in result.problem


def test_a_run_that_was_undone_does_not_go_on() -> None:
    result = chain(Ledger())
    with pytest.raises(InputError, match=r"S2, S1 of run \w+ did was undone"):
        asyncio.run(resume(result.run_id, retry_failed=True))


def test_each_undo_is_in_the_journal_of_the_run() -> None:
    result = chain(Ledger())
    folder = RunFolder.find(result.run_id)
    names = folder.call_journals("begun")
    assert sorted(name.partition(".")[0] for name in names) == [
        "S1",
        "S1-undo",
        "S2",
        "S2-undo",
        "S3",
    ]
    [undo] = [name for name in names if name.startswith("S1-undo")]
    attempt, _, asked = undo.rpartition("-")
    state = CallJournal(folder, attempt, asked).read()
    assert [entry.result for entry in state.committed.values()] == ["B1 is taken back"]


def test_a_person_is_asked_about_an_undo_as_about_any_call() -> None:
    ledger = Ledger()
    steps = [booking("S1", amount=5), booking("S2", "S1", amount=-1)]
    with override_toolsets(ledger=ledger.toolset()):
        asked: list[str] = []
        with pytest.raises(RunWaitingError) as left:
            asyncio.run(swarm("Book it", plan=plan_of_calls(*steps), options=ASKING))
        run_id = left.value.run_id
        while (questions := Approvals(RunFolder.find(run_id)).pending()) and len(asked) < 5:
            for question in questions:
                asked.append(question.title)
                Approvals(RunFolder.find(run_id)).answer(
                    Answer(question=question.id, verdict="approved", at=1.0)
                )
            with suppress(RunWaitingError):
                asyncio.run(resume(run_id))
    assert asked == [
        "S1 wants to call post",
        "S2 wants to call post",
        "S1-undo wants to call reverse",
    ]
    assert ledger.calls == ["post 5", "reverse B1"]
    result = RunFolder.find(run_id).result()
    assert result is not None
    assert [(each.step, bool(each.problem)) for each in result.undone] == [
        ("S2", True),
        ("S1", False),
    ]


def test_a_call_that_returned_something_else_than_expected_is_undone_too() -> None:
    ledger = Ledger()
    strict = booking("S2", "S1", amount=6)
    strict["call"]["expect"] = {"at": "/amount", "under": 6}
    result = booked(ledger, booking("S1", amount=5), strict)
    assert ledger.calls == ["post 5", "post 6", "reverse B2", "reverse B1"]
    assert [(each.step, each.problem) for each in result.undone] == [("S2", ""), ("S1", "")]
    assert "the plan expects: /amount" in result.problem


def test_instances_are_undone_each() -> None:
    ledger = Ledger()
    each = booking("S1", amount={"$item": ""}) | {"for_each": {"items": [1, 2, -3]}}
    result = booked(ledger, each)
    assert sorted(ledger.calls) == ["post 1", "post 2", "reverse B1", "reverse B2"]
    assert {each.step: bool(each.problem) for each in result.undone} == {
        "S1[1]": False,
        "S1[2]": False,
        "S1[3]": True,
    }
