"""The first attempt is made of several samples, of which the gates or a judge choose one."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from flow_runs import plan_of, run, task_runs
from prefect_swarm.errors import Category
from prefect_swarm.models.resolve import override_models
from prefect_swarm.plan.task_ir import TaskIR
from prefect_swarm.store.failure_policy import Policy
from prefect_swarm.store.result import SwarmResult
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from quoted_texts import read_prompt
from scripted import Script

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

AGENTS: list[dict[str, Any]] = [
    {"name": "Reader", "system_prompt": "You read closely."},
    {"name": "Editor", "system_prompt": "You compare.", "tier": "architect"},
]
JSON: dict[str, Any] = {"kind": "json", "schema": {"type": "object"}}


def sampled(best_of: dict[str, Any], **step: Any) -> TaskIR:
    return plan_of({"id": "S1", "best_of": best_of, **step}, agents=AGENTS)


def drawing(*samples: str) -> FunctionModel:
    """Each sample, by its number, is answered so."""

    async def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        settings: Any = info.model_settings
        assert isinstance(messages[-1], ModelRequest)
        return ModelResponse(parts=[TextPart(samples[settings["seed"] // 1000 - 1])])

    return FunctionModel(model)


def judged(samples: FunctionModel, judge: Script, plan: TaskIR, **options: Any) -> SwarmResult:
    with override_models(worker=samples, coder=samples, architect=judge.model()):
        return run(plan, worker="a", coder="b", architect="c", seed=0, **options)


def names(*best: str) -> Script:
    answers = iter(best)
    return Script(lambda _: json.dumps({"reasons": ["It is the fullest."], "best": next(answers)}))


def test_the_sample_that_passes_the_gates_counts_and_others_end() -> None:
    seen: list[int] = []

    async def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        settings: Any = info.model_settings
        seen.append(number := settings["seed"] // 1000)
        if number == 3:
            await asyncio.Event().wait()
        return ModelResponse(parts=[TextPart('{"n": 2}' if number == 2 else "not JSON")])

    with override_models(worker=FunctionModel(model)):
        result = run(sampled({"samples": 3}, output=JSON), seed=0)
    assert result.answer == '{"n": 2}'
    assert sorted(seen) == [1, 2, 3]
    (attempt,) = result.steps[0].attempts
    assert attempt.samples == 3
    runs = task_runs(result.flow_run_id, least=4)
    assert runs["S1, Reader, attempt 1, sample 2 of 3"].state_name == "Completed"
    assert runs["S1, Reader, attempt 1, sample 3 of 3"].state_name == "Cancelled"


def test_where_no_sample_passes_the_furthest_counts_and_one_answer_follows() -> None:
    plan = sampled({"samples": 2}, output={"kind": "text", "min_words": 3, "form": "one_line"})
    policy = Policy(rules=dict.fromkeys((Category.FORMAT, Category.LOGIC), ("RETRY",)))
    prompts: list[str] = []

    async def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        settings: Any = info.model_settings
        prompts.append(str(messages[-1]))
        texts = {1: "two\nlines", 2: "short"}
        return ModelResponse(
            parts=[TextPart(texts.get(settings["seed"] // 1000, "now it is long"))]
        )

    with override_models(worker=FunctionModel(model)):
        result = run(plan, policy=policy, seed=0)
    assert result.answer == "now it is long"
    first, second = result.steps[0].attempts
    assert {gate.gate: gate.status for gate in first.gates}["form"] == "passed"
    assert (first.samples, second.samples) == (2, 1)
    assert "was not accepted" in prompts[2]
    assert len(prompts) == 3


def test_a_judge_reads_all_that_passed_and_names_the_best() -> None:
    samples = drawing("First one.", "The second one.", "The third one, in full.")
    judge = names("C")
    result = judged(samples, judge, sampled({"samples": 3, "judge": "Editor"}))
    assert result.answer == "The third one, in full."
    (prompt,) = judge.prompts
    assert judge.instructions == ["You compare."]
    assert read_prompt(prompt).quoted == [
        ("What Reader was asked:", "do S1"),
        ("Result A:", "First one."),
        ("Result B:", "The second one."),
        ("Result C:", "The third one, in full."),
    ]
    (attempt,) = result.steps[0].attempts
    assert attempt.usage.requests == result.cost.calls == 4
    gate = attempt.gates[-1]
    assert (gate.gate, gate.status) == ("judge", "passed")
    assert str(gate.diagnostics[0]) == (
        "Editor names this one the best of 3 that passed. It is the fullest."
    )
    runs = task_runs(result.flow_run_id, least=4)
    states = [run.state_name for name, run in runs.items() if "sample" in name]
    assert set(states) == {"Completed"}
    assert "S1, judge, Editor, attempt 1" in runs


def test_only_what_passed_and_differs_is_judged() -> None:
    judge = names("B")
    samples = drawing('{"n": 1}', "not JSON", '{"n": 1}', '{"n": 2}')
    result = judged(samples, judge, sampled({"samples": 4, "judge": "Editor"}, output=JSON))
    assert result.answer == '{"n": 2}'
    quoted = read_prompt(judge.prompts[0]).quoted
    assert quoted[1:] == [("Result A:", '{"n": 1}'), ("Result B:", '{"n": 2}')]


def test_nobody_is_asked_about_a_single_one() -> None:
    judge = names()
    samples = drawing("not JSON", '{"n": 1}')
    result = judged(samples, judge, sampled({"samples": 2, "judge": "Editor"}, output=JSON))
    assert result.answer == '{"n": 1}'
    assert not judge.prompts


@pytest.mark.parametrize("answer", ["I like both.", '{"best": "Z"}', '{"reasons": []}', ""])
def test_a_judgement_that_names_none_leaves_the_first_and_says_so(answer: str) -> None:
    judge = Script(lambda _: answer)
    result = judged(drawing("One.", "Two."), judge, sampled({"samples": 2, "judge": "Editor"}))
    assert result.answer == "One."
    gate = result.steps[0].attempts[0].gates[-1]
    assert (gate.gate, gate.status) == ("judge", "skipped")
    assert "Editor named none, so the first that passed counts" in str(gate.diagnostics[0])


def test_samples_are_reviewed_before_they_are_judged() -> None:
    def reply(prompt: str) -> str:
        if "Compare these results" in prompt:
            return '{"reasons": [], "best": "B"}'
        return json.dumps({"verdict": "refuse" if "Two." in prompt else "accept", "reasons": ["x"]})

    review = {"agent": "Editor"}
    plan = sampled({"samples": 3, "judge": "Editor"}, review=review)
    editor = Script(reply)
    result = judged(drawing("One.", "Two.", "Three."), editor, plan)
    assert result.answer == "Three."
    assert [gate.gate for gate in result.steps[0].attempts[0].gates][-2:] == ["review", "judge"]
    assert len(editor.prompts) == 4
    assert result.cost.calls == 7
    runs = task_runs(result.flow_run_id, least=7)
    assert "S1, review 1 of 1, Editor, attempt 1, sample 2 of 3" in runs
