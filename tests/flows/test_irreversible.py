"""A run says before it begins what nothing will undo; a person may be asked about it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest
from flow_runs import run
from ledger import Ledger, booking, plan_of_calls
from prefect_swarm import SwarmOptions, override_toolsets, resume, swarm
from prefect_swarm.errors import SwarmError
from prefect_swarm.store.approvals import Approvals
from prefect_swarm.store.events import PlannedEvent
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.question import Answer, RunWaitingError, Verdict

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

LASTING = booking("S2", "S1", undo=False, amount=2)
ASKING: dict[str, Any] = {"memory": False, "approve": ("acting",)}
SAID = "Nothing undoes what these steps do: S2 (ledger.post)."


def test_the_plan_says_what_nothing_will_undo() -> None:
    with override_toolsets(ledger=Ledger().toolset()):
        result = run(plan_of_calls(booking("S1", amount=1), LASTING), memory=False)
    events = RunFolder.find(result.run_id).events()
    planned = [event for event in events if isinstance(event, PlannedEvent)]
    assert [event.irreversible for event in planned] == [SAID]


def test_a_plan_that_can_be_undone_is_asked_about_by_nobody() -> None:
    ledger = Ledger()
    with override_toolsets(ledger=ledger.toolset()):
        result = run(plan_of_calls(booking("S1", amount=1)), **ASKING)
    assert (result.status, ledger.calls) == ("completed", ["post 1"])


@pytest.mark.parametrize(
    ("verdict", "called"), [("approved", ["post 1", "post 2"]), ("rejected", [])]
)
def test_a_plan_with_what_nothing_undoes_waits_for_a_person(
    verdict: Verdict, called: list[str]
) -> None:
    ledger = Ledger()
    plan = plan_of_calls(booking("S1", amount=1), LASTING)
    with override_toolsets(ledger=ledger.toolset()):
        with pytest.raises(RunWaitingError) as left:
            asyncio.run(swarm("Book it", plan=plan, options=SwarmOptions(**ASKING)))
        (question,) = left.value.questions
        assert (question.asked, ledger.calls) == ("plan", [])
        assert "nothing undoes 1 step of it" in question.title
        assert SAID in question.text
        approvals = Approvals(RunFolder.find(left.value.run_id))
        approvals.answer(Answer(question=question.id, verdict=verdict, at=1.0))
        with suppress(SwarmError):
            asyncio.run(resume(left.value.run_id))
    assert ledger.calls == called
