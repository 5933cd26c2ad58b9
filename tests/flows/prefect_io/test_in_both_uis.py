"""A person decides in Prefect's two UIs, by clicks: what they see, and what comes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from flow_runs import plan_of
from own_server import own_server
from person_forms import folder_of, shown_state
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.client.schemas.objects import State
from prefect_swarm import SharedOptions, swarm_flow
from prefect_swarm.flows import approval as asking
from prefect_swarm.flows.control import RunControl, controlled
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.prefect_io import suspend as pausing
from prefect_swarm.flows.procedure_deployment import deploy_procedure, parameters_of
from prefect_swarm.flows.swarm import swarm
from prefect_swarm.plan.procedure import check_procedure
from prefect_swarm.store.approvals import Approvals
from prefect_swarm.store.events import RunEvent
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.procedures import save_procedure
from prefect_swarm.store.question import Answer
from prefect_uis import UIS, Ui, in_browser
from scripted import Script, scripted

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("server", "swarm_home")]

PLAN = plan_of({"id": "S1"}, {"id": "S2", "depends_on": ["S1"]})
Clicks = Callable[[Ui], None]


@pytest.fixture(scope="module")
def server(new_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A server that has its UIs: the tests' own one asks them to talk to another."""
    with own_server(tmp_path_factory.mktemp("uis") / "server", new_database):
        yield


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "LOOK_S", 0.02)
    monkeypatch.setattr(pausing, "FORM_LOOK_S", 0.02)


@pytest.fixture(autouse=True)
def script() -> Generator[Script]:
    with scripted(Script()) as made:
        yield made


@pytest.fixture(params=UIS)
def which(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def _attended(which: str, clicks: Clicks) -> tuple[State[Any], Answer | None]:
    began: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def handle(event: RunEvent) -> None:
        if not began.done():
            began.set_result(event.run)

    def person(flow_run_id: UUID) -> None:
        with in_browser(which) as ui:
            ui.open_form(flow_run_id)
            clicks(ui)
            ui.wait_until_taken()

    options = SwarmOptions(approve=("plan",), memory=False)
    with controlled(RunControl(waits=True, listener=handle)):
        flow: Any = swarm(PLAN.objective, plan=PLAN, options=options, return_state=True)
        run = asyncio.create_task(flow)
    try:
        flow_run_id = UUID(RunFolder.find(await began).about().flow_run_id)
        await shown_state(flow_run_id)
        await asyncio.to_thread(person, flow_run_id)
        return await asyncio.wait_for(run, 60), Approvals(folder_of(flow_run_id)).answer_to("plan")
    finally:
        run.cancel()


def attended(which: str, clicks: Clicks) -> tuple[State[Any], Answer]:
    """Have a run wait for its plan's approval, and return its end and what was decided."""
    state, answer = asyncio.run(_attended(which, clicks))
    assert answer is not None
    return state, answer


def test_the_question_and_the_plan_are_seen_and_approved(which: str) -> None:
    def clicks(ui: Ui) -> None:
        shown = ui.text("do S2")
        assert shown.index("Is this plan to run?") < shown.index("Does") < shown.index("do S2")
        assert shown.index("do S2") < shown.index("Decision")
        assert '"objective"' not in shown
        ui.choose("approve")
        ui.write("Who decides", "Ann")
        ui.press()

    state, answer = attended(which, clicks)
    assert state.name == "Completed"
    assert (answer.verdict, answer.by, answer.name) == ("approved", "form", "Ann")


def test_without_a_decision_the_form_says_so_at_once_and_the_run_waits(
    which: str, script: Script
) -> None:
    def clicks(ui: Ui) -> None:
        ui.press()
        ui.wait_for("'decision_plan' is a required property")
        assert script.prompts == []
        ui.choose("edit")
        ui.press()
        ui.wait_for("'plan' is a required property")
        ui.choose("approve")
        ui.press()

    state, answer = attended(which, clicks)
    assert (state.name, answer.verdict) == ("Completed", "approved")


def test_a_plan_is_rejected_with_a_reason(which: str, script: Script) -> None:
    def clicks(ui: Ui) -> None:
        ui.choose("reject")
        ui.write("Why it is rejected", "It is too dear.")
        ui.press()

    state, answer = attended(which, clicks)
    assert state.name == "Failed"
    assert (answer.verdict, answer.by, answer.why) == ("rejected", "form", "It is too dear.")
    assert script.prompts == []


def test_the_folded_plan_is_copied_and_edited(which: str, script: Script) -> None:
    def clicks(ui: Ui) -> None:
        ui.unfold()
        plan = ui.text("to copy and edit").partition("to copy and edit")[2]
        plan = plan[plan.index("{") : plan.rindex("}") + 1]
        ui.choose("edit")
        ui.write("The edited plan", plan.replace("do S2", "do it otherwise"))
        ui.press()

    state, answer = attended(which, clicks)
    assert (state.name, answer.verdict, answer.by) == ("Completed", "edited", "form")
    assert script.prompts[-1].endswith("do it otherwise")


async def _deployed(options: dict[str, Any]) -> UUID:
    deployment = await swarm_flow.ato_deployment("in-uis", parameters={"options": options})
    return await deployment.aapply()


def test_the_form_of_a_deployment_is_short_and_sends_what_it_shows(which: str) -> None:
    deployed = {"model": "test", "approve": ["plan"], "worker": "test:worker", "max_usd": 2.0}
    deployment_id = asyncio.run(_deployed(deployed))
    with in_browser(which) as ui:
        ui.open_run_form(deployment_id)
        assert ui.height() < 3200
        shown = ui.page.inner_text("body")
        assert shown.index("approve (Optional)") < shown.index("Models and sampling")
        assert "embedder" not in shown
        ui.page.locator("textarea").first.fill("Be polite")
        ui.open_group()
        ui.write("coder (Optional)", "test:coder")
        run = ui.submit_run()
    options = {name: value for name, value in run["parameters"]["options"].items() if value}
    assert options == {**deployed, "more_models": {"coder": "test:coder"}}
    asyncio.run(_delete(UUID(run["id"])))


def test_the_form_of_a_block_of_options_says_what_each_is_and_saves_what_is_set(
    which: str,
) -> None:
    SharedOptions.register_type_and_schema(_sync=True)  # pyright: ignore
    name = f"of-the-{which}-ui"
    with in_browser(which) as ui:
        ui.open_block_form("swarm-options")
        shown = ui.page.inner_text("body")
        assert "Model for every tier" in shown
        assert "US dollars the run may cost" in shown
        ui.write("orchestrator (Optional)", "test:planner")
        ui.open_group()
        ui.write("coder (Optional)", "test:coder")
        ui.save_block(name)
    block: Any = SharedOptions.load(name, _sync=True)  # pyright: ignore
    assert block.options == {"orchestrator": "test:planner", "coder": "test:coder"}
    assert block.get_options().max_attempts == SwarmOptions().max_attempts


PROCEDURE = {
    "name": "pour",
    "purpose": "Pour it",
    "parameters": {
        "volume": {"type": "integer", "description": "How much"},
        "vessel": {"default": "cup"},
    },
    "plan": {
        "objective": "Pour",
        "agents": [{"name": "Cook", "system_prompt": "You pour."}],
        "steps": [{"id": "S1", "agent": "Cook", "prompt": "{param.volume} in a {param.vessel}."}],
    },
}


async def _deployed_procedure() -> UUID:
    stored = save_procedure(check_procedure(PROCEDURE, "It"))
    async with get_client() as client:
        pool = WorkPoolCreate(name="kitchen", type="process")
        await client.create_work_pool(pool, overwrite=True)
        deployed = await deploy_procedure(stored, "kitchen", parameters_of(stored, {}))
        return (await client.read_deployment_by_name(deployed)).id


def test_the_form_of_a_procedure_has_its_parameters_and_says_which_is_missing(which: str) -> None:
    deployment_id = asyncio.run(_deployed_procedure())
    with in_browser(which) as ui:
        ui.open_run_form(deployment_id)
        shown = ui.page.inner_text("body")
        assert shown.index("Pour it") < shown.index("How much") < shown.index("vessel (Optional)")
        ui.submit_in_vain("'volume' is a required property")
        run = ui.submit_run(volume="12")
    values = {"volume": 12, "vessel": "cup"}
    assert run["parameters"]["plan"] == {"procedure": "pour@1", "parameters": values}
    assert run["parameters"]["objective"] == "Pour it"
    asyncio.run(_delete(UUID(run["id"])))


async def _delete(flow_run_id: UUID) -> None:
    async with get_client() as client:
        await client.delete_flow_run(flow_run_id)
