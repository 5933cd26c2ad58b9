"""A strong orchestrator directs a run in turns: it sees results, assigns again, and answers."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import threading
from collections.abc import Callable
from typing import Any

import pytest
from flow_runs import steps_of
from ledger import Ledger
from prefect_swarm.cli.approvals import _answer as edit
from prefect_swarm.errors import InputError
from prefect_swarm.flows.control import override_toolsets
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.plan_changes import current_plan
from prefect_swarm.flows.python import swarm as run_swarm
from prefect_swarm.flows.resume import fork, prepare_fork, resume
from prefect_swarm.store.approvals import Approvals
from prefect_swarm.store.question import Answer, RunWaitingError, Verdict
from prefect_swarm.store.result import SwarmResult
from prefect_swarm.store.runs import find_run
from provider_runs import planned, serving
from provider_server import Asked, Reply

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

OBJECTIVE = "Which of the harbours that the ledger names has the most cranes?"
PLAN: dict[str, Any] = {
    "create_subagent": [
        {"name": "Reader", "system_prompt": "You read ledgers."},
        {"name": "Counter", "system_prompt": "You count cranes."},
    ],
    "assign_task": [
        {"agent": "Reader", "prompt": "Name the harbours in the ledger.", "depends_on": []},
        {"agent": "Counter", "prompt": "Explain how cranes are counted.", "depends_on": []},
    ],
    "look_after": [1],
}


def count(*names: str, needs: int = 1) -> list[dict[str, Any]]:
    return [
        {"agent": "Counter", "prompt": f"Count the cranes of {name}.", "depends_on": [needs]}
        for name in names
    ]


class Orchestra:
    """A server's model: the planner writes the plan, then a turn after the other; agents answer."""

    def __init__(
        self,
        *turns: Any,
        plan: dict[str, Any] = PLAN,
        agent: Callable[[Asked], Reply] | None = None,
    ) -> None:
        self.plan, self.turns = plan, list(turns)
        self.asked: list[Asked] = []
        self._agent = agent
        self._lock = threading.Lock()

    def __call__(self, asked: Asked) -> Reply:
        if "write_plan" in json.dumps(asked.body.get("tools") or ""):
            return Reply(tool_args=self.plan)
        if "You direct the team in turns" in json.dumps(asked.body["messages"]):
            with self._lock:
                self.asked.append(asked)
                turn = self.turns[min(len(self.asked), len(self.turns)) - 1]
            return Reply(turn if isinstance(turn, str) else json.dumps(turn))
        if self._agent is not None:
            return self._agent(asked)
        return Reply(f"Found: {asked.prompt.splitlines()[-1]}")


def run_in_turns(orchestra: Orchestra, **options: Any) -> SwarmResult:
    with serving(orchestra) as server:
        return planned(server, OBJECTIVE, **{"turns": 6, **options})


def test_it_finds_then_spreads_then_answers() -> None:
    orchestra = Orchestra(
        {"assign_task": count("Rotterdam", "Antwerp"), "look_after": [3, 4]},
        {"finish": {"answer": "Rotterdam has the most."}},
    )
    result = run_in_turns(orchestra)
    assert result.status == "completed", result.problem
    assert result.answer == "Rotterdam has the most."
    assert list(steps_of(result)) == ["S1", "S2", "S3", "S4"]
    assert {step.status for step in result.steps} <= {"succeeded", "skipped"}
    first, second = orchestra.asked
    assert "Found: Name the harbours in the ledger." in first.prompt
    assert "Found: Count the cranes of Rotterdam." in second.prompt
    assert "Found: Name the harbours" not in second.prompt
    # Its conversation goes on: what was sent before is sent again, word for word.
    assert second.body["messages"][: len(first.body["messages"])] == first.body["messages"]


def test_what_can_not_be_taken_is_said_once_and_repaired() -> None:
    orchestra = Orchestra(
        {"assign_task": count("Rotterdam", needs=9)},
        {"assign_task": count("Rotterdam")},
        "Rotterdam.",
    )
    result = run_in_turns(orchestra)
    assert result.status == "completed", result.problem
    assert result.answer == "Rotterdam."
    assert "S9" in orchestra.asked[1].prompt


def test_a_turn_that_breaks_a_rule_twice_ends_the_turns_and_the_run_is_partial() -> None:
    orchestra = Orchestra({"assign_task": count("Rotterdam", needs=9)})
    result = run_in_turns(orchestra)
    assert result.status == "partial"
    assert "Turn 2 can't be taken" in result.problem
    assert "S9" in result.problem


def test_what_was_done_already_is_not_assigned_again() -> None:
    again = {"assign_task": [PLAN["assign_task"][0]]}
    orchestra = Orchestra(again, {"finish": {"step": 1}})
    result = run_in_turns(orchestra)
    assert result.answer == "Found: Name the harbours in the ledger."
    assert "S1" in orchestra.asked[1].prompt


def test_a_failed_step_is_shown_before_the_run_gives_up_and_may_be_replaced() -> None:
    def agent(asked: Asked) -> Reply:
        if "Name the harbours" in asked.prompt:
            return Reply("")
        return Reply(f"Found: {asked.prompt.splitlines()[-1]}")

    orchestra = Orchestra(
        {
            "assign_task": [
                {"agent": "Reader", "prompt": "List the ports that it names.", "depends_on": []}
            ]
        },
        "Antwerp.",
        agent=agent,
    )
    result = run_in_turns(orchestra, max_attempts=1)
    # What it is asked for: the failure, or, where the other one ended at that moment, the end.
    assert "S1 Reader: failed: FORMAT" in orchestra.asked[0].prompt
    assert result.answer == "Antwerp."
    assert result.status == "completed", result.problem
    assert steps_of(result)["S1"].status == "failed"


def test_a_run_that_needs_no_second_turn_costs_no_request_more() -> None:
    counts: list[int] = []
    for turns in (1, 6):
        orchestra = Orchestra("Rotterdam.", plan={**PLAN, "look_after": []})
        with serving(orchestra) as server:
            result = planned(server, OBJECTIVE, turns=turns)
        assert result.status == "completed", result.problem
        counts.append(len(server.asked))
    assert counts[0] == counts[1] == 4


def decide(verdict: Verdict, why: str = "") -> tuple[SwarmResult, Orchestra]:
    """Run until a turn has to be approved, decide, and resume."""
    orchestra = Orchestra({"assign_task": count("Rotterdam")}, "Rotterdam.")
    with serving(orchestra) as server:
        options = SwarmOptions(model=server.name(), memory=False, approve=("turns",))
        with pytest.raises(RunWaitingError) as left:
            asyncio.run(run_swarm(OBJECTIVE, options=options))
        (question,) = left.value.questions
        assert question.id == "turn.2"
        assert "Count the cranes of Rotterdam." in question.text
        approvals = Approvals(find_run(left.value.run_id))
        approvals.answer(Answer(question=question.id, verdict=verdict, why=why, at=1.0))
        result = asyncio.run(resume(left.value.run_id))
    return result, orchestra


def test_a_turn_that_needs_approval_waits_and_is_taken_as_it_was_shown() -> None:
    result, orchestra = decide("approved")
    assert result.status == "completed", result.problem
    assert list(steps_of(result)) == ["S1", "S2", "S3"]
    assert result.answer == "Rotterdam."
    assert len(orchestra.asked) == 2


def test_a_turn_that_is_rejected_adds_nothing_and_the_orchestrator_is_told_why() -> None:
    result, orchestra = decide("rejected", "Too dear.")
    assert list(steps_of(result)) == ["S1", "S2"]
    assert result.answer == "Rotterdam."
    assert "Too dear." in orchestra.asked[1].prompt


def test_a_turn_that_adds_what_nothing_undoes_is_asked_about_and_no_other_is() -> None:
    turn = {
        "create_subagent": [{"name": "Clerk", "system_prompt": "You book.", "tools": ["ledger"]}],
        "assign_task": [{"agent": "Clerk", "prompt": "Book it.", "depends_on": [1]}],
    }
    orchestra = Orchestra({"assign_task": count("Rotterdam"), "look_after": [3]}, turn)
    with serving(orchestra) as server, override_toolsets(ledger=Ledger().toolset()):
        options = SwarmOptions(model=server.name(), memory=False, approve=("acting",))
        with pytest.raises(RunWaitingError) as left:
            asyncio.run(run_swarm(OBJECTIVE, options=options))
    (question,) = left.value.questions
    assert question.id == "turn.3"
    assert "Nothing undoes what these steps do: S4 (may call ledger.post, ledger.reverse)" in (
        question.text
    )


def test_a_plan_that_is_edited_while_a_turn_waits_is_what_the_orchestrator_goes_on_with() -> None:
    orchestra = Orchestra({"assign_task": count("Rotterdam")}, {"finish": {"step": 1}})
    with serving(orchestra) as server:
        options = SwarmOptions(model=server.name(), memory=False, approve=("turns",))
        with pytest.raises(RunWaitingError) as left:
            asyncio.run(run_swarm(OBJECTIVE, options=options))
        run = find_run(left.value.run_id)
        plan = current_plan(run)
        other = plan.steps[1].model_copy(update={"prompt": "Describe a crane."})
        edited = plan.model_copy(update={"steps": (plan.steps[0], other)})
        edit(Approvals(run), edited.model_dump(mode="json"))
        result = asyncio.run(resume(left.value.run_id))
    assert result.status == "completed", result.problem
    assert [step.prompt for step in result.plan.steps][1:] == ["Describe a crane."]
    assert "A person has changed the plan" in orchestra.asked[1].prompt
    assert "Describe a crane." in orchestra.asked[1].prompt


def test_what_is_cancelled_ends_and_what_needs_it_goes_on_without_it() -> None:
    release = threading.Event()

    def agent(asked: Asked) -> Reply:
        slow = "Explain how cranes" in asked.prompt
        return Reply(f"Found: {asked.prompt.splitlines()[-1]}", hold=release if slow else None)

    plan = {**PLAN, "assign_task": [*PLAN["assign_task"], *count("Ghent", needs=2)]}
    cancels = {"cancel_task": [{"step": 2, "why": "It is known."}], "look_after": [3]}
    orchestra = Orchestra(cancels, {"finish": {"step": 3}}, plan=plan, agent=agent)
    result = run_in_turns(orchestra)
    release.set()
    assert result.status == "completed", result.problem
    assert result.answer == "Found: Count the cranes of Ghent."
    cancelled = steps_of(result)["S2"]
    assert cancelled.status == "skipped"
    assert "It is known." in cancelled.reason


def test_a_turn_that_the_run_cannot_pay_is_refused_before_anything_starts() -> None:
    dear = {"assign_task": [{**count("Rotterdam")[0], "prompt": "Count cranes. " * 2000}]}
    orchestra = Orchestra(dear, {"finish": {"step": 1}})
    result = run_in_turns(orchestra, max_tokens=9000, max_output_tokens=200)
    assert list(steps_of(result)) == ["S1", "S2"]
    assert result.answer == "Found: Name the harbours in the ledger."
    assert "tokens at least" in orchestra.asked[1].prompt


def test_a_fork_goes_on_after_a_turn_of_another_run_as_that_was_then() -> None:
    first = {"assign_task": count("Rotterdam"), "look_after": [3]}
    orchestra = Orchestra(first, {"assign_task": count("Antwerp")}, "Antwerp.")
    with serving(orchestra) as server:
        whole = planned(server, OBJECTIVE)
        orchestra.turns[3:] = [{"assign_task": count("Ghent")}, "Ghent."]
        result = asyncio.run(fork(whole.run_id, turn=2))
        with pytest.raises(InputError, match="has had 4 turns"):
            prepare_fork(whole.run_id, turn=5)
    assert list(steps_of(whole)) == ["S1", "S2", "S3", "S4"]
    assert result.answer == "Ghent."
    assert [step.prompt for step in result.plan.steps][2:] == [
        "Count the cranes of Rotterdam.",
        "Count the cranes of Ghent.",
    ]
    taken = [step.id for step in result.steps if step.taken_from is not None]
    assert taken == ["S1", "S2", "S3"]
    # The conversation goes on as it was: a turn after that of the source.
    assert "Turn 3." in orchestra.asked[3].prompt


def test_an_answer_that_is_cut_off_is_written_on_as_it_ever_was() -> None:
    class Cutting(Orchestra):
        def __call__(self, asked: Asked) -> Reply:
            reply = super().__call__(asked)
            is_first = len(self.asked) == 1 and "Nothing is left" in asked.prompt
            return dataclasses.replace(reply, finish_reason="length") if is_first else reply

    orchestra = Cutting("Rotterdam has", "has the most.", plan={**PLAN, "look_after": []})
    result = run_in_turns(orchestra)
    assert result.status == "completed", result.problem
    assert " ".join(result.answer.split()) == "Rotterdam has the most."
    assert len(orchestra.asked) == 2


def test_finishing_with_a_step_that_goes_on_waits_for_it_and_ends_the_others() -> None:
    held = threading.Event()

    def agent(asked: Asked) -> Reply:
        if "Explain how cranes" in asked.prompt:
            return Reply("Never.", hold=held)
        return Reply(f"Found: {asked.prompt.splitlines()[-1]}")

    tasks = [*PLAN["assign_task"], *count("Ghent")]
    orchestra = Orchestra({"finish": {"step": 3}}, plan={**PLAN, "assign_task": tasks}, agent=agent)
    result = run_in_turns(orchestra)
    held.set()
    assert result.answer == "Found: Count the cranes of Ghent."
    assert {step.id: step.status for step in result.steps}["S2"] == "skipped"
