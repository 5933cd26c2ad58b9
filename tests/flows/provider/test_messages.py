"""A person writes to the orchestrator of a run: the next turn has it, and none is lost."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Generator
from typing import Any

import pytest
from flow_runs import steps_of
from prefect_swarm import tell
from prefect_swarm.errors import InputError
from prefect_swarm.flows import approval
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.python import swarm as run_swarm
from prefect_swarm.flows.resume import resume
from prefect_swarm.flows.stored_plan import stored_turns
from prefect_swarm.report.run_pages import plan_page
from prefect_swarm.report.stored_view import view_of
from prefect_swarm.store.events import MessageEvent, TurnEvent
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.messages import UserMessages
from prefect_swarm.store.question import RunWaitingError
from prefect_swarm.store.result import SwarmResult
from prefect_swarm.store.runs import find_run, list_runs
from provider_runs import planned, serving
from provider_server import Asked, Reply

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

OBJECTIVE = "Which of the harbours that the ledger names has the most cranes?"
PORTUGAL = "Also look at Portugal."
PLAN: dict[str, Any] = {
    "create_subagent": [{"name": "Reader", "system_prompt": "You read ledgers."}],
    "assign_task": [
        {"agent": "Reader", "prompt": "Name the harbours in the ledger.", "depends_on": []},
        {"agent": "Reader", "prompt": "Explain how cranes are counted.", "depends_on": []},
    ],
    "look_after": [1],
}
LISBON: dict[str, Any] = {
    "assign_task": [{"agent": "Reader", "prompt": "Count the cranes of Lisbon.", "depends_on": []}],
    "look_after": [3],
}


@pytest.fixture(autouse=True)
def quick_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(approval, "LOOK_S", 0.02)


@pytest.fixture
def release() -> Generator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


def the_run() -> RunFolder:
    (run,) = list_runs()
    return RunFolder.find(run.run_id)


class Directed:
    """A server's model: its turns are called one after the other, each with the run under way."""

    def __init__(self, *turns: Callable[[], Any], agent: Callable[[Asked], Reply]) -> None:
        self.turns, self.agent = turns, agent
        self.asked: list[str] = []
        self._lock = threading.Lock()

    def __call__(self, asked: Asked) -> Reply:
        if "write_plan" in json.dumps(asked.body.get("tools") or ""):
            return Reply(tool_args=PLAN)
        if "You direct the team in turns" in json.dumps(asked.body["messages"]):
            with self._lock:
                self.asked.append(asked.prompt)
                turn = self.turns[min(len(self.asked), len(self.turns)) - 1]
            reply = turn()
            return Reply(reply if isinstance(reply, str) else json.dumps(reply))
        return self.agent(asked)


def found(asked: Asked, hold: threading.Event | None = None) -> Reply:
    return Reply(f"Found: {asked.prompt.splitlines()[-1]}", hold=hold)


def directed(orchestra: Directed, **options: Any) -> SwarmResult:
    with serving(orchestra) as server:
        return planned(server, OBJECTIVE, **{"turns": 6, **options})


def noted() -> tuple[list[MessageEvent], list[tuple[int, ...]]]:
    events = [*the_run().events()]
    messages = [event for event in events if isinstance(event, MessageEvent)]
    return messages, [event.messages for event in events if isinstance(event, TurnEvent)]


def test_a_message_makes_a_turn_due_while_every_step_goes_on(release: threading.Event) -> None:
    once = threading.Lock()

    def agent(asked: Asked) -> Reply:
        if once.acquire(blocking=False):
            assert tell(the_run().run_id, PORTUGAL).number == 1
        return found(asked, None if "Lisbon" in asked.prompt else release)

    def first() -> dict[str, Any]:
        release.set()
        return LISBON

    orchestra = Directed(first, lambda: {"finish": {"answer": "Lisbon has the most."}}, agent=agent)
    result = directed(orchestra)
    assert result.status == "completed", result.problem
    assert result.answer == "Lisbon has the most."
    assert steps_of(result)["S3"].status == "succeeded"
    assert "The user has written to you." in orchestra.asked[0]
    assert PORTUGAL in orchestra.asked[0]
    assert "it is an instruction to you" in orchestra.asked[0]
    assert "Found:" not in orchestra.asked[0]
    assert PORTUGAL not in orchestra.asked[1]
    messages, shown = noted()
    assert [(event.message, event.text, event.by) for event in messages] == [
        (1, PORTUGAL, "python")
    ]
    assert shown == [(1,), ()]
    view = view_of(the_run())
    assert [(each.number, each.text, each.turn) for each in view.messages] == [(1, PORTUGAL, 2)]
    assert "Messages" in [section.title for section in plan_page(view).sections]


def test_what_comes_while_the_answer_is_written_is_read_before_the_run_ends() -> None:
    def finish() -> dict[str, Any]:
        tell(the_run().run_id, PORTUGAL)
        return {"finish": {"answer": "Rotterdam."}}

    orchestra = Directed(
        finish, lambda: LISBON, lambda: {"finish": {"answer": "Lisbon."}}, agent=found
    )
    result = directed(orchestra)
    assert result.answer == "Lisbon."
    assert PORTUGAL in orchestra.asked[1]
    assert steps_of(result)["S3"].status == "succeeded"


def test_what_is_under_way_at_the_last_turn_is_named_as_read_by_nobody(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def finish() -> dict[str, Any]:
        tell(the_run().run_id, PORTUGAL)
        return {"finish": {"answer": "Rotterdam."}}

    result = directed(Directed(finish, agent=found), turns=2)
    assert result.answer == "Rotterdam."
    assert "has not read message 1" in caplog.text
    (message,) = view_of(the_run()).messages
    assert message.turn is None


def test_a_message_to_a_run_that_is_left_is_shown_once_after_it_is_resumed() -> None:
    orchestra = Directed(lambda: LISBON, lambda: {"finish": {"answer": "Lisbon."}}, agent=found)
    with serving(orchestra) as server:
        options = SwarmOptions(model=server.name(), memory=False, approve=("plan",), turns=6)
        with pytest.raises(RunWaitingError) as left:
            asyncio.run(run_swarm(OBJECTIVE, options=options))
        run = find_run(left.value.run_id)
        tell(run.run_id, PORTUGAL)
        for _ in range(2):
            with pytest.raises(RunWaitingError):
                asyncio.run(resume(run.run_id))
        approve(run.run_id)
        result = asyncio.run(resume(run.run_id))
    assert result.answer == "Lisbon."
    assert [PORTUGAL in asked for asked in orchestra.asked] == [True, False]
    messages, shown = noted()
    assert [event.message for event in messages] == [1]
    assert shown == [(1,), ()]


def approve(run: str) -> None:
    from prefect_swarm.store.approvals import Approvals
    from prefect_swarm.store.question import Answer

    approvals = Approvals(find_run(run))
    (question,) = approvals.pending()
    approvals.answer(Answer(question=question.id, verdict="approved", at=1.0))


def test_a_run_whose_process_ended_in_a_turn_shows_its_message_in_the_turn_after_it() -> None:
    orchestra = Directed(
        lambda: {"assign_task": LISBON["assign_task"]},
        lambda: {"finish": {"answer": "Lisbon."}},
        agent=found,
    )
    with serving(orchestra) as server:
        options = SwarmOptions(model=server.name(), memory=False, approve=("turns",), turns=6)
        with pytest.raises(RunWaitingError) as left:
            asyncio.run(run_swarm(OBJECTIVE, options=options))
        # The turn that waits was asked before this message came.
        tell(left.value.run_id, PORTUGAL)
        approve(left.value.run_id)
        result = asyncio.run(resume(left.value.run_id))
    assert result.answer == "Lisbon."
    assert [PORTUGAL in asked for asked in orchestra.asked] == [False, True]
    assert [turn.messages for turn in stored_turns(the_run())] == [(), (1,)]


def test_a_run_that_has_one_turn_or_is_over_takes_no_message(release: threading.Event) -> None:
    problems: list[str] = []

    def agent(asked: Asked) -> Reply:
        with pytest.raises(InputError) as refused:
            tell(the_run().run_id, PORTUGAL)
        problems.append(str(refused.value))
        return found(asked)

    directed(Directed(lambda: "Rotterdam.", agent=agent), turns=1)
    assert "has one turn, the plan" in problems[0]
    assert "prefect-swarm edit" in problems[0]
    with pytest.raises(InputError, match=r"is completed.*prefect-swarm fork"):
        tell(the_run().run_id, PORTUGAL)
    assert not UserMessages(the_run()).all()
