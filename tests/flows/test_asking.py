"""A run that asks a person, in one process, on a real Prefect server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import pytest
from flow_runs import plan_of
from prefect_swarm.errors import AnsweredError
from prefect_swarm.flows import approval as asking
from prefect_swarm.flows.control import RunControl, controlled
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.python import swarm
from prefect_swarm.flows.resume import resume
from prefect_swarm.plan.task_ir import TaskIR
from prefect_swarm.store.approvals import Approvals
from prefect_swarm.store.events import AnsweredEvent, AskedEvent, FinishedEvent, RunEvent
from prefect_swarm.store.failure_policy import Policy
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.protocol import RunStore
from prefect_swarm.store.question import Answer, Question, RunWaitingError, Verdict
from prefect_swarm.store.result import RunFailedError, SwarmResult
from quoted_texts import without_marks
from run_events import kept_events
from scripted import Script, scripted

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

CHAIN = plan_of({"id": "S1"}, {"id": "S2", "depends_on": ["S1"]})
MARKED = plan_of(
    {"id": "S1", "approval": True}, {"id": "S2"}, {"id": "S3", "depends_on": ["S1", "S2"]}
)
Respond = Callable[[RunStore, tuple[Question, ...]], None]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "LOOK_S", 0.02)


@pytest.fixture
def script() -> Generator[Script]:
    with scripted(Script()) as made:
        yield made


def start(plan: TaskIR, *approve: str, **options: Any) -> SwarmResult:
    given = SwarmOptions(approve=approve, memory=False, **options)  # type: ignore[arg-type]
    return asyncio.run(swarm(plan.objective, plan=plan, options=given))


def left(plan: TaskIR, *approve: str, **options: Any) -> RunWaitingError:
    with pytest.raises(RunWaitingError) as caught:
        start(plan, *approve, **options)
    return caught.value


def answer(run_id: str, question: str, verdict: Verdict = "approved", **more: Any) -> None:
    Approvals(RunFolder.find(run_id)).answer(
        Answer(question=question, verdict=verdict, by="command", **more)
    )


def go_on(run_id: str) -> SwarmResult:
    return asyncio.run(resume(run_id))


@contextmanager
def somebody(respond: Respond) -> Generator[None]:
    """Have a person asked who answers by `respond`."""

    async def ask(run: RunStore, questions: tuple[Question, ...]) -> None:
        respond(run, questions)

    with controlled(RunControl(ask_person=ask)):
        yield


# --- the plan -----------------------------------------------------------------------------------


def test_nothing_of_a_plan_runs_before_it_is_approved(script: Script) -> None:
    error = left(CHAIN, "plan")
    assert [question.id for question in error.questions] == ["plan"]
    assert script.prompts == []
    answer(error.run_id, "plan")
    result = go_on(error.run_id)
    assert (result.status, len(script.prompts)) == ("completed", 2)


def test_a_run_that_is_resumed_before_anybody_answered_waits_as_it_did(script: Script) -> None:
    error = left(CHAIN, "plan")
    for _ in range(2):
        with pytest.raises(RunWaitingError) as again:
            go_on(error.run_id)
        assert again.value.questions == error.questions
    assert script.prompts == []


def test_a_plan_that_is_rejected_ends_the_run_with_the_reason(script: Script) -> None:
    error = left(CHAIN, "plan")
    answer(error.run_id, "plan", "rejected", why="too dear")
    with pytest.raises(RunFailedError, match=r"The plan was rejected: too dear\.") as caught:
        go_on(error.run_id)
    result = caught.value.result
    assert result is not None
    assert [step.status for step in result.steps] == ["skipped", "skipped"]
    assert script.prompts == []
    with pytest.raises(RunFailedError, match="too dear"):
        go_on(error.run_id)


def test_an_edited_plan_takes_its_place_and_is_not_asked_about_again(script: Script) -> None:
    edited = plan_of({"id": "S1", "prompt": "do it otherwise"})
    error = left(CHAIN, "plan")
    answer(error.run_id, "plan", "edited", plan=edited.model_dump(mode="json"))
    result = go_on(error.run_id)
    assert (result.status, result.plan) == ("completed", edited)
    assert len(script.prompts) == 1
    assert "do it otherwise" in script.prompts[0]
    assert "edited by a person" in result.planning.choice


def test_a_person_at_the_terminal_is_asked_and_the_run_continues(script: Script) -> None:
    seen: list[Question] = []

    def approve(run: RunStore, questions: tuple[Question, ...]) -> None:
        seen.extend(questions)
        answer(run.run_id, questions[0].id)

    with somebody(approve):
        result = start(CHAIN, "plan")
    assert result.status == "completed"
    assert [question.title for question in seen] == ["The plan of 2 steps: Find out"]
    assert "- **S2** Reader (worker), after S1: do S2" in seen[0].text


def test_a_person_at_the_terminal_may_edit_the_plan(script: Script) -> None:
    edited = plan_of({"id": "S1", "prompt": "do it otherwise"}).model_dump(mode="json")

    def edit(run: RunStore, questions: tuple[Question, ...]) -> None:
        answer(run.run_id, questions[0].id, "edited", plan=edited)

    with somebody(edit):
        result = start(CHAIN, "plan")
    assert [step.id for step in result.steps] == ["S1"]


def test_an_answer_of_another_process_stops_the_question_here(script: Script) -> None:
    stopped = asyncio.Event()

    async def wait_for_ever(run: RunStore, questions: tuple[Question, ...]) -> None:
        answer(run.run_id, questions[0].id)
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    with controlled(RunControl(ask_person=wait_for_ever)):
        assert start(CHAIN, "plan").status == "completed"
    assert stopped.is_set()


def test_events_tell_what_was_asked_and_answered(script: Script) -> None:
    error = left(CHAIN, "plan")
    first = kept_events(error.run_id)
    assert [e.question for e in first if isinstance(e, AskedEvent)] == ["plan"]
    last = first[-1]
    assert isinstance(last, FinishedEvent)
    assert last.status == "waiting"
    answer(error.run_id, "plan", why="good")
    go_on(error.run_id)
    later = kept_events(error.run_id)[len(first) :]
    assert [e for e in later if isinstance(e, AskedEvent)] == []
    (heard,) = [e for e in later if isinstance(e, AnsweredEvent)]
    assert (heard.question, heard.verdict, heard.why, heard.by) == (
        "plan",
        "approved",
        "good",
        "command",
    )


# --- steps --------------------------------------------------------------------------------------


def test_a_marked_step_waits_and_the_others_go_on(script: Script) -> None:
    error = left(MARKED, "steps")
    assert [question.id for question in error.questions] == ["S1"]
    assert len(script.prompts) == 1
    assert "do S2" in script.prompts[0]
    answer(error.run_id, "S1")
    result = go_on(error.run_id)
    assert (result.status, len(script.prompts)) == ("completed", 3)


def test_a_marked_step_is_not_asked_about_unless_the_run_says_so(script: Script) -> None:
    assert start(MARKED).status == "completed"


def test_a_step_that_is_rejected_has_failed_with_the_reason(script: Script) -> None:
    error = left(MARKED, "steps")
    answer(error.run_id, "S1", "rejected", why="not now")
    result = go_on(error.run_id)
    assert result.status == "partial"
    first, second, third = result.steps
    assert (first.status, first.reason) == ("failed", "A person rejected it: not now.")
    assert second.status == "succeeded"
    assert (third.status, third.category) == ("skipped", "UPSTREAM")
    assert "S1: A person rejected it: not now." in result.problem


def test_an_approved_step_is_not_asked_about_again(script: Script) -> None:
    error = left(MARKED, "steps")
    answer(error.run_id, "S1")
    answer(error.run_id, "S1")
    with pytest.raises(AnsweredError):
        answer(error.run_id, "S1", "rejected")
    assert go_on(error.run_id).status == "completed"


def test_a_run_that_lives_goes_on_by_itself(script: Script) -> None:
    """S2 is under way while S1 is answered by somebody else."""
    script.together = 2

    def handle(event: RunEvent) -> None:
        if isinstance(event, AskedEvent):
            answer(event.run, event.question)

    with controlled(RunControl(listener=handle)):
        assert start(MARKED, "steps").status == "completed"
    assert script.most_at_once == 2


# --- failed steps -------------------------------------------------------------------------------

ASKING = Policy.model_validate({"rules": {"FORMAT": ["ASK"]}})
JSON_STEP = plan_of({"id": "S1", "output": {"kind": "json"}})


def test_a_failed_step_is_asked_about_and_told_what_the_person_says(script: Script) -> None:
    script.reply = lambda prompt: '{"a": 1}' if "Use a map" in prompt else "no JSON"
    error = left(JSON_STEP, policy=ASKING)
    (question,) = error.questions
    assert (question.id, question.asked) == ("S1.failed.1", "failure")
    assert "no JSON" in question.text or "JSON" in question.title
    answer(error.run_id, question.id, why="Use a map")
    result = go_on(error.run_id)
    (step,) = result.steps
    assert (step.status, len(step.attempts)) == ("succeeded", 2)
    assert len(script.prompts) == 2
    assert "A person says what to do:\nUse a map" in without_marks(script.prompts[1])


def test_a_failed_step_that_is_rejected_has_failed(script: Script) -> None:
    script.reply = lambda _: "no JSON"
    error = left(JSON_STEP, policy=ASKING)
    answer(error.run_id, "S1.failed.1", "rejected", why="leave it")
    with pytest.raises(RunFailedError, match=r"A person rejected it: leave it\."):
        go_on(error.run_id)


def test_an_optional_step_that_fails_is_not_asked_about(script: Script) -> None:
    script.reply = lambda prompt: "no JSON" if "S1" in prompt else "well"
    plan = plan_of({"id": "S1", "output": {"kind": "json"}, "optional": True}, {"id": "S2"})
    assert start(plan, policy=ASKING).status == "completed"
