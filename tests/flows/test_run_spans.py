"""A run's spans: what there is, who is whose child, and what they tell."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from flow_runs import plan_of, run, task_runs
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode
from prefect.exceptions import CancelledRun
from prefect_swarm.flows.control import RunControl, controlled
from prefect_swarm.flows.resume import resume
from prefect_swarm.flows.swarm import swarm
from prefect_swarm.models.resolve import override_models
from prefect_swarm.plan.task_ir import parse_plan
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.result import RunFailedError
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from recorded_spans import all_text, named, recording, tree_of, values
from scripted import Script, scripted

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

CHAT = "chat scripted"
SECRET = parse_plan(
    {
        "objective": "SECRETOBJECTIVE",
        "agents": [{"name": "Reader", "system_prompt": "SECRETINSTRUCTIONS"}],
        "inputs": {"notes": "SECRETINPUT"},
        "steps": [{"id": "S1", "agent": "Reader", "prompt": "SECRETPROMPT"}],
    }
)


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    with recording() as exporter:
        yield exporter


def test_steps_attempts_requests_and_gates_are_below_their_run(
    spans: InMemorySpanExporter,
) -> None:
    with scripted(Script(lambda prompt: f"about {prompt}")):
        run(plan_of({"id": "S1"}, {"id": "S2", "depends_on": ["S1"]}))
    made = ["    attempt 1", "      invoke_agent Reader", "        chat scripted"]
    gate = "      gate repetition"
    assert tree_of(spans.get_finished_spans()) == [
        "run",
        *("  step S1", *made, gate),
        *("  step S2", *made, gate),
    ]


def test_spans_have_the_ids_of_their_flow_run_and_task_runs(spans: InMemorySpanExporter) -> None:
    with scripted(Script()):
        result = run(plan_of({"id": "S1"}))
    found = spans.get_finished_spans()
    assert values(named(found, "run"))["prefect.flow_run.id"] == result.flow_run_id
    runs = task_runs(result.flow_run_id, least=2)
    asked = values(named(found, "invoke_agent Reader"))
    assert asked["prefect.task_run.id"] == str(runs["S1, Reader, attempt 1"].id)
    checked = values(named(found, "gate repetition"))
    assert checked["prefect.flow_run.id"] == result.flow_run_id


def test_spans_follow_the_conventions_for_generative_models(spans: InMemorySpanExporter) -> None:
    with scripted(Script()):
        run(plan_of({"id": "S1"}))
    found = spans.get_finished_spans()
    asked, request = values(named(found, "invoke_agent Reader")), values(named(found, CHAT))
    assert asked["gen_ai.operation.name"] == "invoke_agent"
    assert asked["gen_ai.agent.name"] == "Reader"
    assert request["gen_ai.operation.name"] == "chat"
    assert request["gen_ai.request.model"] == "scripted"
    assert request["gen_ai.usage.input_tokens"] > 0
    assert request["gen_ai.usage.output_tokens"] > 0


def test_the_planner_and_the_answer_have_spans(spans: InMemorySpanExporter) -> None:
    _run_planned()
    tree = tree_of(spans.get_finished_spans())
    assert tree[:3] == ["run", "  plan", "    chat planner"]
    assert tree[-2:] == ["  invoke_agent Orchestrator", "    chat planner"]


def test_no_text_of_a_plan_is_exported(spans: InMemorySpanExporter) -> None:
    _run_planned()
    assert "SECRET" not in all_text(spans.get_finished_spans())


def _run_planned() -> None:
    """Plan and run two steps whose outputs the orchestrator joins."""
    plan = {
        "create_subagent": [{"name": "Reader", "system_prompt": "SECRET reader"}],
        "assign_task": [{"agent": "Reader", "prompt": f"SECRET {n}"} for n in (1, 2)],
    }

    def orchestrate(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        tools = info.output_tools
        parts = [ToolCallPart(tools[0].name, plan)] if tools else [TextPart("SECRET answer")]
        return ModelResponse(parts=parts)

    orchestrator = FunctionModel(orchestrate, model_name="planner")
    with override_models(worker=Script().model(), orchestrator=orchestrator):
        asyncio.run(swarm("SECRET", inputs={"SECRET.txt": "SECRET text"}))


def test_an_agents_tools_have_spans_without_what_they_take_and_return(
    spans: InMemorySpanExporter,
) -> None:
    def call(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if len(messages) == 1:
            return ModelResponse(parts=[ToolCallPart("look_up", {"word": "SECRET"})])
        return ModelResponse(parts=[TextPart("SECRET answer")])

    agent = Agent(FunctionModel(call, model_name="scripted"), name="own")

    @agent.tool_plain
    def look_up(word: str) -> str:
        return f"SECRET {word}"

    with override_models(worker=agent):
        run(plan_of({"id": "S1"}))
    found = spans.get_finished_spans()
    assert tree_of(found)[4:8] == [
        "        invoke_agent own",
        f"          {CHAT}",
        "          execute_tool look_up",
        f"          {CHAT}",
    ]
    assert "SECRET" not in all_text(found)


def test_a_resumed_run_names_the_trace_before(spans: InMemorySpanExporter) -> None:
    with scripted(Script(lambda _: "")), pytest.raises(RunFailedError) as failed:
        run(plan_of({"id": "S1"}), max_attempts=1)
    assert failed.value.result
    before = named(spans.get_finished_spans(), "run")
    spans.clear()
    with scripted(Script()):
        asyncio.run(resume(failed.value.result.run_id, retry_failed=True))
    after = named(spans.get_finished_spans(), "run")
    assert before.context
    assert after.context
    assert before.context.trace_id != after.context.trace_id
    assert values(after)["prefect_swarm.resumed.trace_id"] == f"{before.context.trace_id:032x}"
    assert [link.context.span_id for link in after.links] == [before.context.span_id]
    assert values(after)["prefect.flow_run.id"] == values(before)["prefect.flow_run.id"]


def test_a_run_that_is_cancelled_ends_all_its_spans(spans: InMemorySpanExporter) -> None:
    control = RunControl()

    def reply(_: str) -> str:
        control.cancel.set()
        return ""

    plan = plan_of({"id": "S1"}, {"id": "S2", "depends_on": ["S1"]})
    with scripted(Script(reply)), controlled(control), pytest.raises(CancelledRun):
        run(plan)
    found = spans.get_finished_spans()
    assert {"run", "step S1", "attempt 1"} <= {span.name for span in found}
    assert values(named(found, "step S1"))["prefect_swarm.outcome"] in ("unfinished", "cancelled")
    assert values(named(found, "run"))["error.type"] == "RunCancelledError"


def test_no_text_is_exported(spans: InMemorySpanExporter) -> None:
    with scripted(Script(lambda _: "SECRETANSWER")):
        run(SECRET, max_attempts=1)
    exported = all_text(spans.get_finished_spans())
    assert "SECRET" not in exported


@pytest.mark.parametrize("failure", [ValueError("SECRETERROR"), "", "I can't help: SECRETANSWER"])
def test_no_text_of_a_failure_is_exported(
    spans: InMemorySpanExporter, failure: str | Exception
) -> None:
    with scripted(Script(lambda _: failure)), pytest.raises(RunFailedError):
        run(SECRET, max_attempts=1)
    exported = all_text(spans.get_finished_spans())
    assert "SECRET" not in exported


def test_text_is_exported_where_the_user_says_so(
    spans: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PREFECT_INTEGRATIONS_SWARM_TRACE_CONTENT", "on")
    with scripted(Script(lambda _: "SECRETANSWER")):
        run(SECRET)
    request = values(named(spans.get_finished_spans(), CHAT))
    assert "SECRETPROMPT" in request["gen_ai.input.messages"]
    assert "SECRETANSWER" in request["gen_ai.output.messages"]


def test_a_failure_has_its_kind_and_what_was_decided(spans: InMemorySpanExporter) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    plan = plan_of({"id": "S1", "output": {"kind": "json", "schema": schema}})

    def reply(prompt: str) -> str:
        return '{"n": 1}' if "not accepted" in prompt else '{"n": "SECRET"}'

    with scripted(Script(reply)):
        run(plan)
    found = spans.get_finished_spans()
    first, gate = named(found, "attempt 1"), named(found, "gate schema")
    assert first.status.status_code is gate.status.status_code is StatusCode.ERROR
    assert values(gate)["error.type"] == values(first)["error.type"] == "SCHEMA"
    assert values(gate)["prefect_swarm.gate.findings"] == 1
    assert values(first)["prefect_swarm.decision.action"] == "RETRY"
    assert values(named(found, "attempt 2"))["prefect_swarm.attempt.reason"] == "RETRY"
    step = named(found, "step S1")
    assert values(step)["prefect_swarm.attempts"] == 2
    assert values(step)["prefect_swarm.output.kind"] == "json"
    assert step.status.status_code is StatusCode.UNSET
    assert "SECRET" not in all_text(found)


def test_a_failed_run_has_a_failed_span(spans: InMemorySpanExporter) -> None:
    with scripted(Script(lambda _: "")), pytest.raises(RunFailedError):
        run(plan_of({"id": "S1"}), max_attempts=1)
    found = spans.get_finished_spans()
    for name in ("run", "step S1", "attempt 1", "invoke_agent Reader"):
        assert named(found, name).status.status_code is StatusCode.ERROR
    assert values(named(found, "run"))["prefect_swarm.outcome"] == "failed"


def test_servers_keys_and_folders_of_models_are_not_exported(
    spans: InMemorySpanExporter,
) -> None:
    with scripted(Script()):
        run(
            plan_of({"id": "S1"}),
            worker="openai:gpt@https://SECRET.example/v1#SECRET_KEY",
            coder="llamacpp:/SECRET/model.gguf",
        )
    shown = values(named(spans.get_finished_spans(), "run"))
    assert shown["prefect_swarm.model.worker"] == "openai:gpt"
    assert shown["prefect_swarm.model.coder"] == "llamacpp:model.gguf"


def test_without_a_provider_there_are_no_spans() -> None:
    with scripted(Script()) as script:
        result = run(plan_of({"id": "S1"}))
    assert len(script.prompts) == 1
    assert RunFolder.of(result.flow_run_id).read("trace.json") is None
