"""An objective becomes a flow run and comes back as an answer."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import pytest
from flow_runs import UNEVEN, pages, plan_of, run, steps_of, task_runs
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterKey
from prefect.client.schemas.objects import TaskRunResult
from prefect_swarm.flows.control import RunControl, controlled
from prefect_swarm.flows.swarm import swarm
from prefect_swarm.models.resolve import override_models
from prefect_swarm.plan.task_ir import TaskIR
from prefect_swarm.store.events import RunEvent
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.result import SwarmResult
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel
from quoted_texts import without_marks
from scripted import Script, scripted

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")


def test_a_step_reads_its_dependencies_labelled_and_nothing_else() -> None:
    with scripted(Script(lambda prompt: f"<{prompt.split()[-1]}>")) as script:
        result = run(plan_of(*UNEVEN))
    assert result.status == "completed"
    assert sorted(map(without_marks, script.prompts)) == sorted(
        [
            "do S1",
            "do S2",
            "Result of S1 (Reader):\n<S1>\n\ndo S3",
            "Result of S3 (Reader):\n<S3>\n\nResult of S2 (Reader):\n<S2>\n\ndo S4",
        ]
    )
    assert set(script.instructions) == {"You read closely."}
    assert result.answer == "<S4>"


def test_steps_that_need_nothing_run_at_once_up_to_the_limit() -> None:
    plan = TaskIR.from_items("read {item}", [str(n) for n in range(9)])
    with scripted(Script(together=4)) as script:
        run(plan, max_concurrency=4)
    assert script.most_at_once == 4


def test_a_tier_has_a_limit_of_its_own() -> None:
    plan = TaskIR.from_items("read {item}", [str(n) for n in range(6)])
    with scripted(Script(together=2)) as script:
        run(plan, max_concurrency=6, tiers={"worker": {"concurrency": 2}})
    assert script.most_at_once == 2


def test_each_attempt_is_a_task_run_with_the_edges_of_its_dependencies() -> None:
    with scripted(Script()):
        result = run(plan_of(*UNEVEN))
    runs = task_runs(result.flow_run_id, least=5)
    attempts = {f"S{n}, Reader, attempt 1" for n in (1, 2, 3, 4)}
    assert set(runs) == attempts | {"Recall"}

    def upstream(name: str) -> set[str]:
        edges = runs[name].task_inputs["wait_for"]
        return {str(item.id) for item in edges if isinstance(item, TaskRunResult)}

    needed = {str(runs[f"S{n}, Reader, attempt 1"].id) for n in (2, 3)}
    assert upstream("S4, Reader, attempt 1") == needed
    tags = ["S1", "agent: Reader", "swarm", "tier: worker"]
    assert sorted(runs["S1, Reader, attempt 1"].tags) == tags


def test_the_answer_is_synthesised_from_the_last_steps_bounded() -> None:
    def reply(prompt: str) -> str:
        return "the whole answer" if "Write the final answer" in prompt else "x" * 900

    with scripted(Script(reply)) as script:
        result = run(plan_of({"id": "S1"}, {"id": "S2"}), max_input_tokens=133)
    assert result.answer == "the whole answer"
    asked = script.prompts[-1]
    assert "Objective: Find out" in asked
    assert asked.count("more characters]") == 2
    assert asked.count("x") < 400
    assert "Answer, orchestrator" in task_runs(result.flow_run_id, least=4)


def test_a_final_step_is_the_answer_as_it_stands() -> None:
    plan = plan_of({"id": "S1"}, {"id": "S2"}, final_step="S1")
    with scripted(Script(lambda prompt: prompt.upper())) as script:
        result = run(plan)
    assert result.answer == "DO S1"
    assert len(script.prompts) == 2


def test_a_failed_gate_feeds_its_diagnostics_to_the_next_attempt() -> None:
    def reply(prompt: str) -> str:
        return '{"n": 1}' if "not accepted" in prompt else '{"n": "one"}'

    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    plan = plan_of({"id": "S1", "output": {"kind": "json", "schema": schema}})
    with scripted(Script(reply)) as script:
        result = run(plan)
    assert result.answer == '{"n": 1}'
    first, second = result.steps[0].attempts
    assert first.category == "SCHEMA"
    assert first.decision is not None
    assert (first.decision.action, first.decision.tier) == ("RETRY", "worker")
    assert second.category is None
    assert "$.n: 'one' is not of type 'integer'" in script.prompts[1]
    names = task_runs(result.flow_run_id, least=4)
    assert names["S1, gates, attempt 1"].state_name == "Failed"
    # What passes is no task run of its own.
    assert "S1, gates, attempt 2" not in names


def test_the_plan_page_is_there_while_steps_wait_and_says_why() -> None:
    release = asyncio.Event()
    run_ids: list[str] = []

    def handle(event: RunEvent) -> None:
        if event.kind == "began":
            run_ids.append(event.run)

    async def held(messages: Any, info: Any) -> ModelResponse:
        await release.wait()
        return ModelResponse(parts=[TextPart("done")])

    async def read_page() -> str:
        async with get_client() as client:
            while True:
                mine = ArtifactFilterKey(any_=[f"swarm-plan-{name}" for name in run_ids])
                found = await client.read_artifacts(artifact_filter=ArtifactFilter(key=mine))
                if run_ids and found:
                    return str(found[0].data)
                await asyncio.sleep(0.05)

    async def look() -> str:
        plan = plan_of({"id": "S1"}, {"id": "S2", "depends_on": ["S1"]})
        model = FunctionModel(held)
        with (
            override_models(worker=model, coder=model, architect=model),
            controlled(RunControl(listener=handle)),
        ):
            flow = asyncio.create_task(swarm("Find out", plan=plan))
            page = await asyncio.wait_for(read_page(), 60)
            release.set()
            await flow
        return page

    page = asyncio.run(look())
    assert "](data:image/svg+xml;base64," in page
    assert "| waiting | S2 | Reader | S1 | waits for S1 |" in page


def test_the_timeline_marks_the_critical_path_and_gives_slack() -> None:
    with scripted(Script()):
        result = run(plan_of(*UNEVEN))
    steps = steps_of(result)
    assert steps["S4"].critical
    assert steps["S4"].slack_s == 0
    assert not (steps["S2"].critical and steps["S1"].critical)
    page = pages(result.flow_run_id)["swarm-timeline"]
    assert "](data:image/svg+xml;base64," in page
    assert re.search(r"Critical path: \[S\d\]\S+ → ", page)
    assert re.search(r"\| succeeded \| \[S4\]\S+ \| Reader \|.*\| \*\*critical\*\* \|", page)
    assert result.metrics.critical_steps == 3  # S1, S3, S4: nobody planned or synthesised
    assert result.metrics.critical_path_s <= result.metrics.work_s


def test_a_run_has_its_critical_steps_as_published_and_its_reward() -> None:
    with scripted(Script()):
        result = run(plan_of(*UNEVEN))
    parl = result.parl
    assert parl is not None
    # S1 and S2, then S3, then S4: a turn without a request, since the plan was given.
    assert [(turn.number, turn.orchestrator, turn.groups) for turn in parl.turns] == [
        (1, 0, (1, 1, 1))
    ]
    assert parl.critical_steps == 3
    assert (parl.r_parallel, parl.r_finish, parl.r_perf) == (0.25, 1, 1)
    assert parl.mixed_reward == pytest.approx(0.925)
    assert parl.findings == ()
    stored = RunFolder.find(result.run_id).result()
    assert stored is not None
    assert stored.parl == parl
    assert (
        "| 3 = 0 + 1 + 1 + 1 | the plan | assigned S1 to S4 |"
        in pages(result.flow_run_id)["swarm-timeline"]
    )


def test_the_request_for_the_answer_is_a_turn_and_an_idle_wait_is_named() -> None:
    texts = {
        "trains": "Alfa Pendular trains leave from Campanhã 11 times daily, cost 34.20 and have "
        "sockets, quiet carriages and a dining car.",
        "buses": "Coaches depart hourly from the terminal beside a hospital; passengers pay 19.90, "
        "luggage travels free, and drivers stop once for coffee.",
    }
    steps = [
        {"id": "S1", "prompt": "Describe trains"},
        {"id": "S2", "prompt": "Describe buses", "depends_on": ["S1"]},
        {"id": "S3", "prompt": "Describe buses in Faro"},
    ]
    with scripted(Script(lambda prompt: texts["trains" if prompt.endswith("trains") else "buses"])):
        result = run(plan_of(*steps))
    assert result.parl is not None
    assert [turn.orchestrator for turn in result.parl.turns] == [0, 1]
    assert [finding.words for finding in result.parl.findings] == [
        "S2 waited for S1 and seems to read nothing of it."
    ]


def test_whole_outputs_and_transcripts_are_stored_once_by_reference() -> None:
    long = "y" * 3000
    with scripted(Script(lambda _: long)):
        result = run(plan_of({"id": "S1"}))
    step = result.steps[0]
    assert len(step.excerpt) < 600
    assert step.output_ref == f"{result.run_id}/outputs/S1.txt"
    stored = RunFolder.find(result.run_id)
    assert stored.read("outputs/S1.txt") == long
    transcript = json.loads(stored.read("transcripts/S1.1.json") or "")
    assert transcript[0]["parts"][0]["content"] == "do S1"


def test_inputs_constraints_and_the_definition_of_done_reach_the_models() -> None:
    plan = plan_of(
        {"id": "S1"},
        {"id": "S2"},
        inputs={"report": "all went well"},
        constraints=["be brief"],
        assumptions=["it is Monday"],
        definition_of_done=["both are named"],
    )
    with scripted(Script()) as script:
        run(plan)
    read = sorted(map(without_marks, script.prompts[:2]))
    assert read == [f"Input report:\nall went well\n\ndo {step}" for step in ("S1", "S2")]
    instructions = "You read closely.\nKeep to this: be brief\nTake this for granted: it is Monday"
    assert script.instructions[0] == instructions
    assert "It is done when: both are named" in script.prompts[-1]


def test_the_result_survives_json() -> None:
    with scripted(Script()):
        result = run(plan_of(*UNEVEN))
    assert SwarmResult.model_validate_json(result.model_dump_json()) == result
