"""A batch that is started again passes over what is completed and goes on with the rest."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from busy_proxy import busy_proxy
from flow_runs import plan_of
from prefect.client.orchestration import PrefectClient
from prefect.client.schemas.filters import (
    ArtifactFilter,
    ArtifactFilterFlowRunId,
    DeploymentFilter,
    DeploymentFilterId,
)
from prefect.client.schemas.objects import Artifact, FlowRun
from prefect.client.schemas.sorting import FlowRunSort
from prefect.flow_engine import run_flow_async
from prefect.settings import (
    PREFECT_API_URL,
    PREFECT_CLIENT_MAX_RETRIES,
    get_current_settings,
    temporary_settings,
)
from prefect.states import AwaitingRetry, Pending
from prefect_swarm import SwarmOptions, swarm_batch
from prefect_swarm.errors import InputError, RunLostError
from prefect_swarm.flows import batch_run as patience
from prefect_swarm.flows.batch import BatchSummary
from prefect_swarm.flows.batch_files import batch_output
from pydantic_ai.exceptions import ModelHTTPError
from scripted import Script, scripted
from two_machines import ask_server

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

OPTIONS = SwarmOptions(model="test", memory=False, pages=False, max_attempts=1)


def line(name: str) -> str:
    steps = ({"id": "S1", "prompt": f"do {name}1"}, {"id": "S2", "prompt": f"do {name}2"})
    return plan_of(steps[0], {**steps[1], "depends_on": ["S1"]}).model_dump_json()


class Batch:
    def __init__(self, folder: Path) -> None:
        self.source, self.output = folder / "in.jsonl", folder / "out.jsonl"

    def start(
        self,
        *lines: str,
        options: SwarmOptions = OPTIONS,
        reply: Callable[[str], str | Exception] = lambda _: "It is done.",
        **given: Any,
    ) -> list[str]:
        """Start it, and return the steps that the model was asked for."""
        self.source.write_text("\n".join(lines), encoding="utf-8")
        with scripted(Script(reply)) as script:
            flow: Any = swarm_batch
            work = flow(str(self.source), str(self.output), options, **given)
            self.summary: BatchSummary = asyncio.run(work)
        return [prompt.rpartition("do ")[2].split()[0] for prompt in script.prompts]

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(text) for text in self.output.read_text("utf-8").splitlines()]


def put_back(batch: Batch) -> FlowRun:
    """Have a batch's flow run due again, as the automation does that puts a crashed run back."""

    async def due(client: PrefectClient) -> FlowRun:
        # The server gives 200 at most, and it has those of other tests, too.
        runs = await client.read_flow_runs(sort=FlowRunSort.START_TIME_DESC)
        begun = next(run for run in runs if run.parameters.get("input_path") == str(batch.source))
        await client.set_flow_run_state(begun.id, AwaitingRetry(), force=True)
        return await client.read_flow_run(begun.id)

    return ask_server(due)


def run_again(run: FlowRun) -> BatchSummary:
    """Run a batch's flow run again, as a worker does."""
    work = run_flow_async(swarm_batch, flow_run=run, parameters=run.parameters)
    return BatchSummary.model_validate(asyncio.run(work))


def pages_of(run: FlowRun) -> list[Artifact]:
    """Return the pages of a batch's flow run itself."""

    async def read(client: PrefectClient) -> list[Artifact]:
        own = ArtifactFilter(flow_run_id=ArtifactFilterFlowRunId(any_=[run.id]))
        found = await client.read_artifacts(artifact_filter=own)
        return [page for page in found if (page.key or "").startswith("swarm-batch-")]

    return ask_server(read)


@pytest.fixture
def batch(tmp_path: Path) -> Batch:
    return Batch(tmp_path)


def _fails(name: str) -> Callable[[str], str | Exception]:
    return lambda prompt: ModelHTTPError(401, "far") if f"do {name}" in prompt else "It is done."


def test_completed_lines_are_not_paid_for_again(batch: Batch) -> None:
    assert batch.start(line("a"), line("b")) == ["a1", "a2", "b1", "b2"]
    before = batch.output.read_text("utf-8")
    assert batch.start(line("a"), line("b")) == []
    assert (batch.summary.completed, batch.summary.passed_over) == (2, 2)
    assert batch.output.read_text("utf-8") == before


def test_of_the_others_finished_steps_are_not_asked_again(batch: Batch) -> None:
    batch.start(line("a"), line("b"), reply=_fails("a2"))
    assert batch.summary.partial == 1
    first = batch.lines()[0]["result"]["run_id"]
    assert batch.start(line("a"), line("b")) == ["a2"]
    assert [found["result"]["status"] for found in batch.lines()] == ["completed"] * 2
    assert batch.lines()[0]["result"]["run_id"] == first
    names = sorted(path.name for path in batch.output.parent.glob("out*"))
    assert names == ["out.jsonl", "out.jsonl.runs"]
    assert first not in batch.output.with_name(names[1]).read_text("utf-8")


def test_a_line_that_was_added_is_done_and_the_numbers_are_todays(batch: Batch) -> None:
    batch.start(line("a"), line("b"))
    assert batch.start(line("b"), line("c"), line("a")) == ["c1", "c2"]
    prompts = [found["result"]["plan"]["steps"][0]["prompt"] for found in batch.lines()]
    assert [found["number"] for found in batch.lines()] == [1, 2, 3]
    assert prompts == ["do b1", "do c1", "do a1"]


def test_equal_lines_are_each_done(batch: Batch) -> None:
    assert batch.start(line("a"), line("a")) == ["a1", "a2"] * 2
    assert batch.start(line("a"), line("a"), line("a")) == ["a1", "a2"]


def test_a_line_that_was_cut_off_is_done_again(batch: Batch) -> None:
    batch.start(line("a"), line("b"))
    text = batch.output.read_text("utf-8")
    batch.output.write_text(text[:-40], encoding="utf-8")
    assert batch.start(line("a"), line("b")) == ["b1", "b2"]
    assert [found["number"] for found in batch.lines()] == [1, 2]


def test_another_model_is_asked_and_another_bound_is_not(batch: Batch) -> None:
    batch.start(line("a"))
    assert batch.start(line("a"), options=OPTIONS.model_copy(update={"max_usd": 5.0})) == []
    other = OPTIONS.model_copy(update={"model": "demo"})
    assert batch.start(line("a"), options=other) == ["a1", "a2"]


def test_a_higher_bound_lets_a_line_go_on(batch: Batch) -> None:
    bounded = OPTIONS.model_copy(update={"max_tokens": 1})
    with pytest.raises(Exception, match="1 of 1 lines failed"):
        batch.start(line("a"), options=bounded)
    assert batch.start(line("a")) == ["a1", "a2"]


def test_asked_to_it_does_all_again(batch: Batch) -> None:
    batch.start(line("a"))
    assert batch.start(line("a"), again=True) == ["a1", "a2"]


def test_a_flow_run_that_could_not_say_that_it_ended_does_nothing_again(batch: Batch) -> None:
    assert batch.start(line("a"), again=True) == ["a1", "a2"]
    run = put_back(batch)
    with scripted(Script()) as script:
        summary = run_again(run)
    assert (summary.completed, summary.passed_over) == (1, 1)
    assert script.prompts == []


def test_a_flow_run_that_goes_on_changes_the_page_that_it_had(batch: Batch) -> None:
    with_pages = OPTIONS.model_copy(update={"pages": True})
    batch.start(line("a"), line("b"), reply=_fails("a2"), options=with_pages)
    run = put_back(batch)
    [before] = pages_of(run)
    assert before.description == "2 of 2 lines: 1 completed, 1 partial"
    with scripted(Script()):
        run_again(run)
    [after] = pages_of(run)
    assert (after.id, after.key) == (before.id, before.key)
    assert after.description == "2 of 2 lines: 1 completed, 1 passed over"


def test_a_scheduled_batch_passes_over_nothing_of_last_nights(batch: Batch) -> None:
    batch.start(line("a"))

    async def scheduled() -> Any:
        deployment = await swarm_batch.ato_deployment(
            "nightly",
            cron="0 2 * * *",
            parameters={
                "input_path": str(batch.source),
                "output_path": str(batch.output),
                "options": OPTIONS.model_dump(mode="json", exclude_none=True),
            },
        )
        return await deployment.aapply()

    identity = asyncio.run(scheduled())

    async def due(client: Any) -> Any:
        await client._client.post(f"/deployments/{identity}/schedule", json={"max_runs": 1})
        only = DeploymentFilter(id=DeploymentFilterId(any_=[identity]))
        found = (await client.read_flow_runs(deployment_filter=only))[0]
        # It is due tomorrow.
        await client.set_flow_run_state(found.id, Pending(), force=True)
        return await client.read_flow_run(found.id)

    run = ask_server(due)
    assert run.auto_scheduled

    with scripted(Script(lambda _: "It is done.")) as script:
        summary = run_again(run)
    assert (summary.completed, summary.passed_over) == (1, 0)
    assert len(script.prompts) == 2


def test_two_batches_do_not_write_one_output(batch: Batch) -> None:
    with (
        batch_output(batch.output, batch.output, {}),
        pytest.raises(InputError, match="Another batch is writing"),
    ):
        batch.start(line("a"))


def test_a_server_that_is_busy_when_a_line_begins_is_waited_for(
    batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "PAUSES_S", (0.0,) * 5)
    api = get_current_settings().api.url
    assert api is not None
    with busy_proxy(api, refusals=0) as proxy:
        settings: dict[Any, Any] = {PREFECT_API_URL: proxy.url, PREFECT_CLIENT_MAX_RETRIES: 0}
        with temporary_settings(updates=settings):

            def reply(_: str) -> str:
                # The batch's own flow run has been taken; the next line's is refused.
                proxy.refusals = 3
                return "It is done."

            asked = batch.start(line("a"), line("b"), reply=reply)
    assert proxy.refused == 3
    assert asked == ["a1", "a2", "b1", "b2"]
    assert batch.summary.completed == 2


def test_a_batch_that_began_on_another_machine_is_lost(
    batch: Batch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch.start(line("a"), reply=_fails("a2"))
    run = put_back(batch)
    monkeypatch.setattr("socket.gethostname", lambda: "elm")
    elsewhere = {**run.parameters, "output_path": str(tmp_path / "elsewhere" / "out.jsonl")}

    async def execute() -> Any:
        return await run_flow_async(swarm_batch, flow_run=run, parameters=elsewhere)

    with scripted(Script()) as script, pytest.raises(RunLostError, match="The batch writes"):
        asyncio.run(execute())
    assert script.prompts == []
