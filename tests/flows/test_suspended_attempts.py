"""An attempt that waits for a person in its middle, such as for a call of a tool."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from typing import Any

import pytest
from flow_runs import plan_of
from prefect_swarm.errors import ApprovalNeededError
from prefect_swarm.flows import approval as asking
from prefect_swarm.flows import candidate
from prefect_swarm.flows.control import RunControl, controlled
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.python import swarm
from prefect_swarm.flows.resume import resume
from prefect_swarm.plan.task_ir import TaskIR
from prefect_swarm.store.approvals import Approvals
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.protocol import RunStore
from prefect_swarm.store.question import Answer, Question, RunWaitingError
from prefect_swarm.store.result import SwarmResult
from scripted import Script, scripted

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

PLAN = plan_of({"id": "S1"}, {"id": "S2"})
Make = Any


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Generator[Script]:
    monkeypatch.setattr(asking, "LOOK_S", 0.02)
    with scripted(Script()) as made:
        yield made


class NeedsPerson:
    """Stands in front of the making of candidates, in the place of a tool that acts.

    Before S1's model is asked, it wants the questions approved; `writes` says whether it writes
    them down itself.
    """

    def __init__(self, make: Make, *questions: str, writes: bool = True) -> None:
        self.make = make
        self.questions = questions
        self.writes = writes
        self.attempts: list[int] = []

    async def __call__(self, own: Any, step: Any, request: Any, *rest: Any) -> Any:
        if step.id == "S1":
            self.attempts.append(request.attempt)
            approvals = Approvals(RunFolder.of(request.run))
            if not all(approvals.answer_to(name) for name in self.questions):
                # What was reserved for the attempt is given back, as the tools do it.
                own.context.ledger.settle(request.key, None)
                self._ask(approvals)
                raise ApprovalNeededError("A tool acts.", "Approve it.", self.questions)
        return await self.make(own, step, request, *rest)

    def _ask(self, approvals: Approvals) -> None:
        for name in self.questions if self.writes else ():
            title, text = f"Send the letter ({name})", "send(to='me')"
            approvals.ask(Question(id=name, asked="call", step="S1", title=title, text=text))


def needing(monkeypatch: pytest.MonkeyPatch, *questions: str, writes: bool = True) -> NeedsPerson:
    stand_in = NeedsPerson(candidate.Candidates.make, *questions, writes=writes)

    async def make(own: Any, *arguments: Any) -> Any:
        return await stand_in(own, *arguments)

    monkeypatch.setattr(candidate.Candidates, "make", make)
    return stand_in


def left(plan: TaskIR) -> RunWaitingError:
    with pytest.raises(RunWaitingError) as caught:
        asyncio.run(swarm(plan.objective, plan=plan, options=SwarmOptions(memory=False)))
    return caught.value


def answered(run_id: str, question: str, verdict: Any = "approved", why: str = "") -> None:
    Approvals(RunFolder.find(run_id)).answer(Answer(question=question, verdict=verdict, why=why))


def go_on(run_id: str) -> SwarmResult:
    return asyncio.run(resume(run_id))


def test_it_waits_and_the_same_attempt_goes_on_when_it_is_approved(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = needing(monkeypatch, "S1.1.1")
    error = left(PLAN)
    (question,) = error.questions
    assert (question.id, question.text) == ("S1.1.1", "send(to='me')")
    assert len(script.prompts) == 1  # S2's
    answered(error.run_id, "S1.1.1")
    result = go_on(error.run_id)
    assert result.status == "completed"
    assert [len(step.attempts) for step in result.steps] == [1, 1]
    assert tool.attempts == [1, 1]


def test_each_of_several_questions_has_to_be_approved(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    needing(monkeypatch, "S1.1.1", "S1.1.2")
    error = left(PLAN)
    assert [question.id for question in error.questions] == ["S1.1.1", "S1.1.2"]
    answered(error.run_id, "S1.1.1")
    with pytest.raises(RunWaitingError) as again:
        go_on(error.run_id)
    assert [question.id for question in again.value.questions] == ["S1.1.2"]
    answered(error.run_id, "S1.1.2")
    assert go_on(error.run_id).status == "completed"


def test_where_something_is_rejected_the_attempt_goes_on_and_reads_it(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a process that lives, as in one that resumes the run."""
    tool = needing(monkeypatch, "S1.1.1", "S1.1.2")

    async def decide(run: RunStore, questions: tuple[Question, ...]) -> None:
        answered(run.run_id, "S1.1.1")
        answered(run.run_id, "S1.1.2", "rejected", why="not to me")

    options = SwarmOptions(memory=False)
    with controlled(RunControl(ask_person=decide)):
        result = asyncio.run(swarm(PLAN.objective, plan=PLAN, options=options))
    assert result.status == "completed"
    assert tool.attempts == [1, 1]


def test_what_only_has_an_id_is_asked_about_all_the_same(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    needing(monkeypatch, "S1.1.1", writes=False)
    error = left(PLAN)
    (question,) = error.questions
    assert question.title == "S1 Reader, in the middle of attempt 1"


def test_a_replaced_step_that_waits_is_not_replaced_again(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    from prefect_swarm.store.failure_policy import Policy

    asked: list[str] = []

    def reply(prompt: str) -> str:
        asked.append(prompt)
        return "Writer: write a list" if "replace" in prompt.casefold() else '{"a": 1}'

    script.reply = reply
    made = candidate.Candidates.make

    async def make(own: Any, step: Any, request: Any, *rest: Any) -> Any:
        approvals = Approvals(RunFolder.of(request.run))
        if request.attempt == 2 and approvals.answer_to("S1.2.1") is None:
            own.context.ledger.settle(request.key, None)
            approvals.ask(Question(id="S1.2.1", asked="call", step="S1", title="Send"))
            approvals.answer(Answer(question="S1.2.1", verdict="approved"))
            raise ApprovalNeededError("A tool acts.", "", ("S1.2.1",))
        found = await made(own, step, request, *rest)
        if request.attempt == 1:
            update = {"category": "FORMAT", "error": "bad"}
            object.__setattr__(found, "result", found.result.model_copy(update=update))
        return found

    monkeypatch.setattr(candidate.Candidates, "make", make)
    policy = Policy.model_validate({"rules": {"FORMAT": ["REPLAN"]}})
    plan = plan_of({"id": "S1"})
    options = SwarmOptions(memory=False, policy=policy)
    result = asyncio.run(swarm(plan.objective, plan=plan, options=options))
    assert result.status == "completed"
    (step,) = result.steps
    assert [attempt.revision for attempt in step.attempts] == [0, 1]
