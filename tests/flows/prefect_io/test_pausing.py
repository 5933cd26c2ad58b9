"""A run that waits in its process, and is answered in the Prefect UI or elsewhere."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Generator
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from flow_runs import plan_of
from person_forms import ask_api, folder_of, form_part, plan_to_copy, refusal, shown_state, submit
from prefect import flow
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import State
from prefect.states import Cancelling, Running
from prefect_swarm.cli.terminal.summary import question_records
from prefect_swarm.flows import approval as asking
from prefect_swarm.flows.control import AskPerson, RunControl, controlled
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.prefect_io import suspend as pausing
from prefect_swarm.flows.prefect_io.form import stored_forms
from prefect_swarm.flows.prefect_io.form_service import FormDesk
from prefect_swarm.flows.python import swarm as swarm_in_python
from prefect_swarm.flows.resume import resume
from prefect_swarm.flows.swarm import swarm
from prefect_swarm.plan.task_ir import TaskIR
from prefect_swarm.store.approvals import Approvals
from prefect_swarm.store.event_log import read_events
from prefect_swarm.store.events import AnsweredEvent, RunEvent
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.protocol import RunStore
from prefect_swarm.store.question import Answer, Question, RunWaitingError, Verdict
from prefect_swarm.store.result import SwarmResult
from scripted import Script, scripted

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

CHAIN = plan_of({"id": "S1"}, {"id": "S2", "depends_on": ["S1"]})
MARKED = plan_of({"id": "S1", "approval": True}, {"id": "S2", "approval": True})
Person = Callable[[UUID], Awaitable[None]]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "LOOK_S", 0.02)
    monkeypatch.setattr(pausing, "FORM_LOOK_S", 0.02)


@pytest.fixture(autouse=True)
def script() -> Generator[Script]:
    with scripted(Script()) as made:
        yield made


async def _attended(person: Person, plan: TaskIR, approve: str, control: RunControl) -> State[Any]:
    began: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def handle(event: RunEvent) -> None:
        if not began.done():
            began.set_result(event.run)

    options = SwarmOptions(approve=(approve,), memory=False)  # type: ignore[arg-type]
    with controlled(replace(control, listener=handle)):
        flow: Any = swarm(plan.objective, plan=plan, options=options, return_state=True)
        run = asyncio.create_task(flow)
    try:
        flow_run_id = UUID(RunFolder.find(await began).about().flow_run_id)
        await asyncio.wait_for(person(flow_run_id), 60)
        return await asyncio.wait_for(run, 60)
    finally:
        run.cancel()


def attended(
    person: Person, plan: TaskIR, approve: str = "plan", *, ask_person: AskPerson | None = None
) -> State[Any]:
    """Return the end of a run that stays in its process while a person does something."""
    control = RunControl(waits=True, ask_person=ask_person)
    return asyncio.run(_attended(person, plan, approve, control))


def decide(flow_run_id: UUID, question: str, verdict: Verdict = "approved") -> None:
    """Do what `prefect-swarm approve` and `reject` do."""
    given = Answer(question=question, verdict=verdict, by="command")
    Approvals(folder_of(flow_run_id)).answer(given)


def answers_of(state: State[Any]) -> dict[str, tuple[str, str]]:
    """The verdicts, and where they were given, by the questions' ids."""
    flow_run_id = state.state_details.flow_run_id
    assert flow_run_id is not None
    approvals = Approvals(folder_of(flow_run_id))
    found = {q.id: approvals.answer_to(q.id) for q in approvals.questions()}
    return {name: (a.verdict, a.by) for name, a in found.items() if a is not None}


def test_the_plan_is_approved_in_the_form_and_runs_in_the_process_that_waited() -> None:
    async def person(flow_run_id: UUID) -> None:
        state = await shown_state(flow_run_id)
        assert state.name == "Paused"
        assert state.state_details.pause_timeout is None
        schema = await form_part(state, flow_run_id, "schema")
        assert [*schema["properties"]] == ["decision_plan", "name", "why", "plan"]
        assert "do S2" in await form_part(state, flow_run_id, "description")
        await submit(flow_run_id, decision_plan="approve")

    state = attended(person, CHAIN)
    assert state.name == "Completed"
    assert answers_of(state) == {"plan": ("approved", "form")}


@pytest.mark.attack("server")
def test_what_a_program_answers_is_no_decision_of_the_form() -> None:
    async def person(flow_run_id: UUID) -> None:
        await shown_state(flow_run_id)
        await ask_api(flow_run_id, decision_plan="approve", name="Ann")

    state = attended(person, CHAIN)
    assert answers_of(state) == {"plan": ("approved", "api")}
    assert state.state_details.flow_run_id is not None
    run = folder_of(state.state_details.flow_run_id)
    found = read_events(run.folder / "events.jsonl")
    (answered,) = (event for event in found if isinstance(event, AnsweredEvent))
    assert (answered.by, answered.name) == ("api", "Ann")
    (record,) = question_records(run)
    assert (record["answer"]["by"], record["answer"]["name"]) == ("api", "Ann")


def test_the_plan_is_rejected_in_the_form(script: Script) -> None:
    async def person(flow_run_id: UUID) -> None:
        await shown_state(flow_run_id)
        await submit(flow_run_id, decision_plan="reject", why="too dear")

    state = attended(person, CHAIN)
    assert state.name == "Failed"
    assert "The plan was rejected: too dear." in str(state.message)
    assert script.prompts == []


def test_an_edited_plan_of_the_form_takes_the_place_of_the_first(script: Script) -> None:
    async def person(flow_run_id: UUID) -> None:
        shown = await shown_state(flow_run_id)
        text = await form_part(shown, flow_run_id, "description")
        plan = json.loads(plan_to_copy(text))
        plan["steps"] = [{**plan["steps"][0], "prompt": "do it otherwise"}]
        await submit(flow_run_id, decision_plan="edit", plan=json.dumps(plan))

    state = attended(person, CHAIN)
    assert answers_of(state) == {"plan": ("edited", "form")}
    assert [prompt.splitlines()[-1] for prompt in script.prompts] == ["do it otherwise"]


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        pytest.param(
            {"decision_plan": "edit", "plan": "steps: ["}, "no YAML", id="a plan that is none"
        ),
        pytest.param(
            {"decision_plan": "edit", "plan": " "}, "The plan is as it was.", id="an empty plan"
        ),
        pytest.param(
            {"decision_plan": "approve", "plan": "steps: []"},
            "the decision was 'approve'",
            id="a plan that was changed and not edited",
        ),
    ],
)
def test_what_decides_nothing_is_asked_again_in_another_form(
    script: Script, values: dict[str, Any], problem: str
) -> None:
    async def person(flow_run_id: UUID) -> None:
        first = await shown_state(flow_run_id)
        await submit(flow_run_id, **values)
        key = first.state_details.pause_key
        again = await shown_state(flow_run_id, but=str(key))
        assert script.prompts == []
        assert problem in await form_part(again, flow_run_id, "description")
        await submit(flow_run_id, decision_plan="approve")

    state = attended(person, CHAIN)
    assert (state.name, answers_of(state)) == ("Completed", {"plan": ("approved", "form")})


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        pytest.param({}, "'decision_plan' is a required property", id="an empty form"),
        pytest.param({"why": "well"}, "'decision_plan' is a required", id="a reason alone"),
        pytest.param({"decision_plan": "not decided yet"}, "is not one of", id="another word"),
        pytest.param({"decision_plan": "edit"}, "'plan' is a required property", id="no plan"),
    ],
)
def test_what_decides_nothing_is_refused_at_once_and_the_form_stays(
    script: Script, values: dict[str, Any], problem: str
) -> None:
    async def person(flow_run_id: UUID) -> None:
        shown = await shown_state(flow_run_id)
        assert problem in await refusal(flow_run_id, name="", **values)
        now = await shown_state(flow_run_id)
        assert now.state_details.pause_key == shown.state_details.pause_key
        assert script.prompts == []
        await submit(flow_run_id, decision_plan="approve")

    assert attended(person, CHAIN).name == "Completed"


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({}, "'decision' is a required property"),
        ({"decision": "each by itself", "decision_S1": "approve"}, "'decision_S2' is a required"),
        (
            {
                "decision": "each by itself",
                "decision_S1": "not decided yet",
                "decision_S2": "not decided yet",
            },
            "should not be valid",
        ),
    ],
)
def test_of_several_questions_each_is_decided_or_none(values: dict[str, Any], problem: str) -> None:
    async def person(flow_run_id: UUID) -> None:
        await shown_state(flow_run_id)
        assert problem in await refusal(flow_run_id, **values)
        await submit(flow_run_id, decision="approve all")

    assert attended(person, MARKED, "steps").name == "Completed"


def test_a_flow_run_that_is_set_running_without_the_form_is_asked_again(script: Script) -> None:
    async def person(flow_run_id: UUID) -> None:
        first = await shown_state(flow_run_id)
        async with get_client() as client:
            await client.set_flow_run_state(flow_run_id, Running())
        await shown_state(flow_run_id, but=str(first.state_details.pause_key))
        assert script.prompts == []
        await submit(flow_run_id, decision_plan="approve")

    assert attended(person, CHAIN).name == "Completed"


def test_values_that_the_form_does_not_have_are_refused_by_the_server() -> None:
    async def person(flow_run_id: UUID) -> None:
        await shown_state(flow_run_id)
        assert "'yes' is not one of" in await refusal(flow_run_id, decision_plan="yes")
        assert "decision_S7" in await refusal(
            flow_run_id, decision_plan="reject", decision_S7="approve"
        )
        await submit(flow_run_id, decision_plan="approve")

    assert attended(person, CHAIN).name == "Completed"


def test_several_questions_are_decided_together() -> None:
    async def person(flow_run_id: UUID) -> None:
        state = await shown_state(flow_run_id)
        schema = await form_part(state, flow_run_id, "schema")
        assert [*schema["properties"]] == ["decision", "decision_S1", "decision_S2", "name", "why"]
        await submit(flow_run_id, decision="approve all", decision_S2="reject", why="not this")

    state = attended(person, MARKED, "steps")
    assert answers_of(state) == {"S1": ("approved", "form"), "S2": ("rejected", "form")}


def test_what_is_not_decided_yet_is_asked_again_when_the_rest_has_run(script: Script) -> None:
    async def person(flow_run_id: UUID) -> None:
        first = await shown_state(flow_run_id)
        each = {"decision": "each by itself", "decision_S1": "approve"}
        await submit(flow_run_id, **each, decision_S2="not decided yet")
        second = await shown_state(flow_run_id, but=str(first.state_details.pause_key))
        assert len(script.prompts) == 1
        schema = await form_part(second, flow_run_id, "schema")
        assert [*schema["properties"]] == ["decision_S2", "name", "why"]
        await submit(flow_run_id, decision_S2="approve")

    assert attended(person, MARKED, "steps").name == "Completed"
    assert [prompt for prompt in script.prompts if prompt.startswith("do S")] == ["do S1", "do S2"]


def test_an_answer_of_a_command_closes_the_form() -> None:
    async def person(flow_run_id: UUID) -> None:
        await shown_state(flow_run_id)
        decide(flow_run_id, "plan")

    state = attended(person, CHAIN)
    assert (state.name, answers_of(state)) == ("Completed", {"plan": ("approved", "command")})
    assert state.state_details.flow_run_id is not None
    assert stored_forms(folder_of(state.state_details.flow_run_id)) == ()


def test_an_answer_of_a_command_closes_a_form_that_is_being_put(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    put = FormDesk.put

    async def never_done(*given: Any) -> None:
        await put(*given)
        await asyncio.Event().wait()

    monkeypatch.setattr(FormDesk, "put", never_done)
    test_an_answer_of_a_command_closes_the_form()


def test_of_two_answers_the_first_counts(script: Script) -> None:
    """The form's comes when the command's is written down and not seen yet."""

    async def person(flow_run_id: UUID) -> None:
        await shown_state(flow_run_id)
        await submit(flow_run_id, decision_plan="approve")
        decide(flow_run_id, "plan", "rejected")

    state = attended(person, CHAIN)
    assert answers_of(state) == {"plan": ("rejected", "command")}
    assert script.prompts == []


def test_the_terminal_and_the_form_ask_in_parallel() -> None:
    async def type_yes(run: RunStore, questions: tuple[Question, ...]) -> None:
        flow_run_id = UUID(run.about().flow_run_id)
        await shown_state(flow_run_id)
        decide(flow_run_id, questions[0].id)

    async def person(_: UUID) -> None: ...

    state = attended(person, CHAIN, ask_person=type_yes)
    assert (state.name, answers_of(state)) == ("Completed", {"plan": ("approved", "command")})


def test_the_form_decides_where_the_terminal_gets_no_answer() -> None:
    async def stay(_run: RunStore, _questions: tuple[Question, ...]) -> None:
        await asyncio.Event().wait()

    async def person(flow_run_id: UUID) -> None:
        await shown_state(flow_run_id)
        await submit(flow_run_id, decision_plan="approve")

    state = attended(person, CHAIN, ask_person=stay)
    assert answers_of(state) == {"plan": ("approved", "form")}


def test_a_run_that_waits_can_be_cancelled(monkeypatch: pytest.MonkeyPatch, script: Script) -> None:
    monkeypatch.setenv("PREFECT_INTEGRATIONS_SWARM_CANCEL_POLL_S", "0.1")

    async def person(flow_run_id: UUID) -> None:
        await shown_state(flow_run_id)
        async with get_client() as client:
            await client.set_flow_run_state(flow_run_id, Cancelling())

    assert attended(person, CHAIN).name == "Cancelled"
    assert script.prompts == []


def test_a_subflow_waits_in_its_process_too() -> None:
    """Prefect refuses to suspend it, whatever its parent is."""

    @flow
    async def around() -> SwarmResult:
        return await swarm(CHAIN.objective, plan=CHAIN, options=options)

    began: list[str] = []

    async def both() -> SwarmResult:
        asked = asyncio.Event()

        def handle(event: RunEvent) -> None:
            began.append(event.run)
            asked.set()

        with controlled(RunControl(listener=handle, waits=True)):
            parent = asyncio.create_task(around())
        await asked.wait()
        flow_run_id = UUID(RunFolder.find(began[0]).about().flow_run_id)
        await shown_state(flow_run_id)
        await submit(flow_run_id, decision_plan="approve")
        return await parent

    options = SwarmOptions(approve=("plan",), memory=False)
    assert asyncio.run(asyncio.wait_for(both(), 60)).status == "completed"


def test_a_run_that_was_left_takes_the_answer_of_its_form_when_it_is_resumed(
    script: Script,
) -> None:
    async def left() -> tuple[str, UUID]:
        options = SwarmOptions(approve=("plan",), memory=False)
        with pytest.raises(RunWaitingError) as caught:
            await swarm_in_python(CHAIN.objective, plan=CHAIN, options=options)
        run_id = caught.value.run_id
        return run_id, UUID(RunFolder.find(run_id).about().flow_run_id)

    run_id, flow_run_id = asyncio.run(left())
    state = asyncio.run(shown_state(flow_run_id))
    assert (state.name, state.state_details.pause_timeout) == ("Paused", None)
    asyncio.run(submit(flow_run_id, decision_plan="approve"))
    assert script.prompts == []
    assert asyncio.run(resume(run_id)).status == "completed"
    assert stored_forms(RunFolder.find(run_id)) == ()
