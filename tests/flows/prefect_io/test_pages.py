"""The pages of a run in the Prefect UI are there while it runs and after, and never cost it."""

from __future__ import annotations

import asyncio
import re
from itertools import chain, repeat
from typing import Any
from uuid import UUID

import pytest
from flow_runs import UNEVEN, pages, plan_of, run
from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterFlowRunId
from prefect.client.schemas.objects import Artifact
from prefect.exceptions import CancelledRun
from prefect_swarm.flows.control import RunControl, controlled
from prefect_swarm.flows.prefect_io.pages import MOST_STEP_PAGES
from prefect_swarm.flows.resume import resume
from prefect_swarm.flows.swarm import swarm
from prefect_swarm.models.resolve import override_models
from prefect_swarm.settings import home
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.result import RunFailedError
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel
from scripted import Script, scripted

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

STEPS = {"swarm-s1", "swarm-s2", "swarm-s3", "swarm-s4"}
MAIN = {"swarm-answer", "swarm-plan", "swarm-timeline"}


def artifacts(flow_run_id: str) -> list[Artifact]:
    async def read() -> list[Artifact]:
        only = ArtifactFilter(flow_run_id=ArtifactFilterFlowRunId(any_=[UUID(flow_run_id)]))
        async with get_client() as client:
            return await client.read_artifacts(artifact_filter=only)

    return [page for page in asyncio.run(read()) if (page.key or "").startswith("swarm-")]


def test_a_run_has_an_answer_a_plan_a_timeline_and_a_page_of_each_step() -> None:
    with scripted(Script()):
        result = run(plan_of(*UNEVEN))
    shown = pages(result.flow_run_id)
    assert {name for name in shown if name.startswith("swarm-")} == MAIN | STEPS
    assert "**completed** · 4 steps: 4 succeeded" in shown["swarm-answer"]
    assert result.answer in shown["swarm-answer"]


def test_pages_lead_to_those_of_the_steps() -> None:
    with scripted(Script()):
        result = run(plan_of(*UNEVEN))
    ids = {(page.key or "").split("-")[1]: page.id for page in artifacts(result.flow_run_id)}
    shown = pages(result.flow_run_id)
    for step in ("S1", "S2", "S3", "S4"):
        assert f"[{step}](../artifact/{ids[step.lower()]})" in shown["swarm-plan"]
    for other in ("plan", "timeline"):
        assert f"(../artifact/{ids[other]})" in shown["swarm-answer"]
    assert "](../key/swarm-s3-" in shown["swarm-s1"] or str(ids["s3"]) in shown["swarm-s1"]


def test_a_steps_page_is_shown_with_its_last_task_run() -> None:
    with scripted(Script()):
        result = run(plan_of({"id": "S1"}))
    shown = {(page.key or "").split("-")[1]: page for page in artifacts(result.flow_run_id)}
    assert str(shown["s1"].task_run_id) in result.steps[0].task_runs
    assert shown["plan"].task_run_id is None


def test_a_run_that_fails_has_its_pages() -> None:
    with scripted(Script(lambda _: "")), pytest.raises(RunFailedError) as failure:
        run(plan_of(*UNEVEN), max_attempts=1)
    assert failure.value.result is not None
    shown = pages(failure.value.result.flow_run_id)
    assert {name for name in shown if name.startswith("swarm-")} == MAIN | STEPS
    assert "There is none." in shown["swarm-answer"]


def test_a_run_that_is_cancelled_has_pages_and_a_resumed_one_changes_them() -> None:
    control = RunControl()

    async def model(messages: Any, _: Any) -> ModelResponse:
        if "do S2" in str(messages):
            control.cancel.set()
            await asyncio.Event().wait()
        return ModelResponse(parts=[TextPart("done")])

    plan = plan_of({"id": "S1"}, {"id": "S2", "depends_on": ["S1"]})
    with (
        override_models(worker=FunctionModel(model)),
        controlled(control),
        pytest.raises(CancelledRun),
    ):
        run(plan)
    (folder,) = (home() / "runs").iterdir()
    flow_run_id = RunFolder.find(folder.name).about().flow_run_id
    left = {page.key: page.id for page in artifacts(flow_run_id)}
    assert "**unfinished** · 2 steps" in pages(flow_run_id)["swarm-answer"]
    with scripted(Script(lambda _: "done again")):
        asyncio.run(resume(folder.name))
    after = {page.key: page.id for page in artifacts(flow_run_id)}
    assert left.items() <= after.items()
    assert "done again" in pages(flow_run_id)["swarm-answer"]


def test_pages_can_be_turned_off() -> None:
    with scripted(Script()):
        result = run(plan_of({"id": "S1"}), pages=False)
    assert artifacts(result.flow_run_id) == []


def test_pages_that_can_not_be_made_cost_the_run_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(*_: Any, **__: Any) -> Any:
        raise RuntimeError("no room")

    monkeypatch.setattr(PrefectClient, "create_artifact", refuse)
    with scripted(Script()):
        result = run(plan_of(*UNEVEN))
    assert result.status == "completed"


def test_no_page_has_a_secret_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_API_KEY", "s3cr3t-value-17")
    with scripted(Script(lambda _: "It answered s3cr3t-value-17.")):
        result = run(plan_of({"id": "S1", "prompt": "Ask the shop with s3cr3t-value-17"}))
    assert result.answer == "It answered s3cr3t-value-17."
    shown = [str(page.data) for page in artifacts(result.flow_run_id)]
    assert len(shown) == 4
    assert not any("s3cr3t-value-17" in text for text in shown)
    assert sum("…masked…" in text for text in shown) >= 3


def test_what_a_model_wrote_has_no_power_over_any_page() -> None:
    hostile = "![x](http://far.away/i.png) <script>alert(1)</script> [y](http://far.away)"
    with scripted(Script(lambda _: hostile)):
        result = run(plan_of({"id": "S1", "prompt": hostile}))
    for page in artifacts(result.flow_run_id):
        outside = str(page.data).split("```")[::2]  # a block of code is shown as it is
        assert not any(re.search(r"(?<!\\)\]\(http|<script", part) for part in outside)


def test_a_server_that_hangs_is_named_and_nothing_is_sent_after_the_run(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    create = PrefectClient.create_artifact
    answering: list[asyncio.Event] = []

    async def create_late(self: PrefectClient, artifact: Any) -> Artifact:
        await answering[0].wait()
        return await create(self, artifact)

    async def run_and_wait() -> None:
        answering.append(asyncio.Event())
        plan = plan_of(*UNEVEN)
        with scripted(Script()):
            await swarm(plan.objective, plan=plan)
        answering[0].set()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.wait(left, timeout=5) if left else None

    monkeypatch.setattr(PrefectClient, "create_artifact", create_late)
    monkeypatch.setattr("prefect_swarm.flows.prefect_io.pages._CLOSING_S", 0.2)
    asyncio.run(run_and_wait())
    assert [r.getMessage() for r in caplog.records if "Prefect UI" in r.getMessage()] == [
        "In the Prefect UI not all pages could be made: they took more than 0.2 seconds"
    ]


def test_an_error_without_words_is_named_by_its_kind(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def refuse(*_: Any, **__: Any) -> Any:
        raise ConnectionResetError

    monkeypatch.setattr(PrefectClient, "create_artifact", refuse)
    with scripted(Script()):
        run(plan_of({"id": "S1"}))
    heard = {r.getMessage() for r in caplog.records if "Prefect UI" in r.getMessage()}
    assert heard == {"In the Prefect UI a page could not be made: ConnectionResetError"}


def test_of_a_long_plan_the_steps_that_stand_out_have_a_page() -> None:
    count = MOST_STEP_PAGES + 2
    answers = chain([""], repeat("done"))
    with scripted(Script(lambda _: next(answers))):
        result = run(plan_of(*({"id": f"S{number}"} for number in range(1, count + 1))))
    assert result.status == "completed"
    (again,) = [step.id for step in result.steps if len(step.attempts) > 1]
    made = {(page.key or "").rsplit("-", 1)[0] for page in artifacts(result.flow_run_id)}
    assert made == MAIN | {f"swarm-{again.lower()}"}
    plan_page = pages(result.flow_run_id)["swarm-plan"]
    assert f"[{again}](../artifact/" in plan_page
    assert "](../key/" not in plan_page
