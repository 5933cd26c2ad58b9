"""Decisions are carried out, and recorded."""

from __future__ import annotations

import asyncio
import html
import re
from typing import Any

import pytest
from flow_runs import pages, plan_of, run, task_runs
from prefect_swarm.blocks import FailurePolicy
from prefect_swarm.errors import Category, InputError, ModelError
from prefect_swarm.models.resolve import override_models
from prefect_swarm.plan.task_ir import TaskIR
from prefect_swarm.store.failure_policy import Delegate, Policy
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.result import RunFailedError, SwarmResult
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel
from quoted_texts import without_marks
from scripted import Script, scripted

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

NUMBER: dict[str, Any] = {"type": "object", "properties": {"n": {"type": "integer"}}}
WRONG, RIGHT = '{"n": "one"}', '{"n": 1}'


def number(**step: Any) -> TaskIR:
    return plan_of({"id": "S1", "output": {"kind": "json", "schema": NUMBER}, **step})


def policy(*actions: str, **fields: Any) -> Policy:
    return Policy.model_validate({"rules": {"SCHEMA": list(actions)}, "backoff_s": 0, **fields})


def attempts(result: SwarmResult) -> list[tuple[str, str | None]]:
    return [
        (attempt.tier, attempt.decision.action if attempt.decision else None)
        for attempt in result.steps[0].attempts
    ]


def test_the_repaired_artifact_is_what_goes_on() -> None:
    plan = plan_of(
        {"id": "S1", "output": {"kind": "python"}, "gates": ["format", "lint"]},
        {"id": "S2", "depends_on": ["S1"]},
    )
    with scripted(Script(lambda prompt: "x=1\nprint( x )" if "S1" in prompt else "ok")) as script:
        result = run(plan)
    assert "x = 1\nprint(x)" in script.prompts[1]
    gates = {gate.gate: gate for gate in result.steps[0].attempts[0].gates}
    assert "+x = 1" in gates["format"].diff
    assert gates["lint"].status == "passed"
    assert result.steps[0].attempts[0].extraction == "whole text, which parses"


def test_code_that_passed_its_gates_is_answered_as_it_stands() -> None:
    plan = plan_of(
        {"id": "S1", "output": {"kind": "python"}, "gates": []},
        {"id": "S2", "output": {"kind": "text"}, "gates": []},
    )
    with scripted(Script(lambda prompt: "x = 1" if "S1" in prompt else "It is so.")) as script:
        result = run(plan)
    assert len(script.prompts) == 2
    assert result.answer == "## S1 · Reader\n\n```python\nx = 1\n```\n\n## S2 · Reader\n\nIt is so."


def test_an_optional_gate_stops_nothing_and_is_told() -> None:
    plan = plan_of({"id": "S1", "output": {"kind": "python"}, "gates": ["lint?"]})
    with scripted(Script(lambda _: "print(undefined)")):
        result = run(plan)
    (attempt,) = result.steps[0].attempts
    assert (attempt.category, attempt.gates[0].status) == (None, "failed")
    assert "F821" in str(attempt.gates[0].diagnostics[0])


def test_a_person_adds_and_takes_away_gates() -> None:
    with scripted(Script(lambda _: WRONG)):
        result = run(number(), gates={"json": ("-schema",)})
    assert result.answer == WRONG


def test_thinking_harder_changes_the_sampling_and_the_budget_of_one_attempt() -> None:
    seen: list[Any] = []
    prompts: list[str] = []

    async def model(messages: Any, info: Any) -> ModelResponse:
        seen.append(info.model_settings)
        prompts.append(messages[-1].parts[-1].content)
        return ModelResponse(parts=[TextPart(WRONG if len(seen) < 3 else RIGHT)])

    with override_models(worker=FunctionModel(model)):
        thinks = policy("THINK_HARDER", "RETRY", sample_temperature=1.1, harder_tokens=2.5)
        result = run(number(), policy=thinks, max_output_tokens=100, temperature=0.3, seed=0)
    assert [settings["temperature"] for settings in seen] == [0.3, 1.1, 0.3]
    assert [settings["max_tokens"] for settings in seen] == [100, 250, 100]
    assert len({settings["seed"] for settings in seen}) == 3
    read = map(without_marks, prompts)
    assert ["not accepted:\ngate schema" in prompt for prompt in read] == [False, True, True]
    assert [action for _, action in attempts(result)] == ["THINK_HARDER", "RETRY", None]


@pytest.mark.model
@pytest.mark.slow
def test_what_was_cut_off_is_written_on_by_thinking_harder() -> None:
    plan = plan_of(
        {"id": "S1", "prompt": "Tell a long story of a fox and a crow", "output": {"min_words": 12}}
    )
    rules = {"TRUNCATED": ["THINK_HARDER", "KEEP"]}
    harder = Policy.model_validate({"rules": rules, "harder_tokens": 8})
    result = run(plan, policy=harder, max_output_tokens=6)
    first, second = result.steps[0].attempts
    assert (first.category, first.usage.output_tokens) == (Category.TRUNCATED, 6)
    assert 6 < second.usage.output_tokens <= 48
    assert result.steps[0].truncated == (second.category is Category.TRUNCATED)


def test_of_samples_the_first_to_pass_wins_and_the_others_are_cancelled() -> None:
    seeds: list[int] = []
    given_up: list[int] = []

    async def model(messages: Any, info: Any) -> ModelResponse:
        seeds.append(seed := info.model_settings["seed"])
        # The first attempt and a sample answer at once, all other samples never do.
        if len(seeds) == 1:
            return ModelResponse(parts=[TextPart(WRONG)])
        if seed // 1000 == 2:
            return ModelResponse(parts=[TextPart(RIGHT)])
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            given_up.append(seed)
            raise
        raise AssertionError

    with override_models(worker=FunctionModel(model)):
        result = run(number(), policy=policy("SAMPLE", samples=3), max_concurrency=1, seed=0)
    assert result.answer == RIGHT
    assert attempts(result) == [("worker", "SAMPLE"), ("worker", None)]
    assert len(set(seeds)) == 4
    assert len(given_up) == 2
    assert result.steps[0].attempts[1].samples == 3
    states = {
        name: task.state_name for name, task in task_runs(result.flow_run_id, least=6).items()
    }
    assert states["S1, Reader, attempt 2, sample 2 of 3"] == "Completed"
    assert states["S1, Reader, attempt 2, sample 1 of 3"] == "Cancelled"


def test_where_no_sample_passes_the_one_that_got_furthest_counts() -> None:
    def reply(prompt: str) -> str:
        return WRONG

    with scripted(Script(reply)) as script, pytest.raises(RunFailedError) as failure:
        run(number(), policy=policy("SAMPLE", samples=3))
    # Samples are drawn of the question as it was first asked.
    assert len(script.prompts) == 4
    assert len(set(script.prompts)) == 1
    result = failure.value.result
    assert result is not None
    assert attempts(result) == [("worker", "SAMPLE"), ("worker", "FAIL")]
    # Every sample's tokens are on the account.
    assert result.steps[0].attempts[1].usage.requests == 3
    assert result.cost.calls == 4


def test_escalating_carries_the_best_attempt() -> None:
    worker, coder = Script(lambda _: WRONG), Script(lambda _: RIGHT)
    with override_models(worker=worker.model(), coder=coder.model(), architect=coder.model("same")):
        result = run(number(), policy=policy("ESCALATE"), worker="a", coder="b", architect="b")
    assert attempts(result) == [("worker", "ESCALATE"), ("coder", None)]
    assert WRONG in coder.prompts[0]
    assert "'one' is not of type 'integer'" in coder.prompts[0]


def test_nothing_escalates_to_the_same_model() -> None:
    agents = [{"name": "Reader", "system_prompt": "You read closely.", "tier": "coder"}]
    plan = number().model_copy(update={"task_type": "ingest"})
    plan = TaskIR.model_validate(plan.model_dump(mode="json", by_alias=True) | {"agents": agents})
    with scripted(Script(lambda _: WRONG)) as script, pytest.raises(RunFailedError):
        run(plan, policy=policy("ESCALATE"), worker="a", coder="b", architect="b")
    assert len(script.prompts) == 1


def test_a_delegated_step_has_another_agent() -> None:
    other = Delegate(name="Number Clerk", system_prompt="You know numbers.")
    answers = iter([WRONG, RIGHT])
    with scripted(Script(lambda _: next(answers))) as script:
        plan = number()
        plan = plan.model_copy(update={"constraints": ("be brief",)})
        result = run(plan, policy=policy("DELEGATE", delegates={"json": other}))
    assert script.instructions[1].startswith("You know numbers.")
    assert "Keep to this: be brief" in script.instructions[1]
    assert [attempt.agent for attempt in result.steps[0].attempts] == ["Reader", "Number Clerk"]
    assert "S1, Number Clerk, attempt 2" in task_runs(result.flow_run_id, least=4)


def test_a_replaced_step_keeps_its_id_and_what_depends_on_it() -> None:
    def reply(prompt: str) -> str:
        if "The failed step" in prompt:
            return "1. Counter: Count to one"
        return "fine" if "S2" in prompt else RIGHT if "Count to one" in prompt else WRONG

    plan = plan_of(
        {"id": "S1", "output": {"kind": "json", "schema": NUMBER}},
        {"id": "S2", "depends_on": ["S1"]},
    )
    with scripted(Script(reply)) as script:
        result = run(plan, policy=policy("REPLAN"))
    first, second = result.steps[0].attempts
    assert (first.agent, first.revision, second.agent, second.revision) == (
        "Reader",
        0,
        "Counter",
        1,
    )
    asked = next(prompt for prompt in script.prompts if "The failed step" in prompt)
    assert "The failed step, of Reader:\ndo S1" in without_marks(asked)
    assert "'one' is not of type 'integer'" in asked
    assert result.answer == "fine"
    assert "S1, Orchestrator, replan 1" in task_runs(result.flow_run_id, least=3)
    # The question's tokens are on the account: two attempts, the question, S2.
    assert result.cost.calls == 4


@pytest.mark.parametrize(
    "unusable", ["I am at a loss", "Reader: do S1.", "", "Go: " + "go on " * 9]
)
def test_what_replaces_nothing_is_asked_for_once_more_with_another_seed(unusable: str) -> None:
    answers, settings = iter([unusable, "Counter: Count to one"]), list[Any]()

    async def orchestrator(messages: Any, info: Any) -> ModelResponse:
        settings.append(info.model_settings)
        text = next(answers)
        aborted = {"aborted": "'go on' over and over"} if "go on" in text else None
        return ModelResponse([TextPart(text)] if text else [], provider_details=aborted)

    worker = Script(lambda prompt: RIGHT if "Count to one" in prompt else WRONG)
    model = FunctionModel(orchestrator, model_name="scripted")
    with override_models(worker=worker.model(), orchestrator=model):
        result = run(number(), policy=policy("REPLAN", replans=1), seed=0)
    assert len({asked["seed"] for asked in settings}) == len(settings) == 2
    decision = result.steps[0].attempts[0].decision
    assert decision is not None
    assert decision.outcome.startswith("Counter: Count to one (asked twice, since at first: ")
    assert "replacement" in decision.outcome
    # Both questions' tokens are on the account, and in what the decision took.
    assert decision.usage.requests == 2
    assert sum(attempt.usage.tokens for attempt in result.steps[0].attempts) == (
        result.cost.tokens - decision.usage.tokens
    )
    names = task_runs(result.flow_run_id, least=4)
    assert "S1, Orchestrator, replan 1, once more" in names


def test_an_orchestrator_that_can_not_answer_is_not_asked_twice() -> None:
    def reply(prompt: str) -> str | Exception:
        return ModelError("The file is gone.") if "The failed step" in prompt else WRONG

    with scripted(Script(reply)) as script, pytest.raises(RunFailedError, match="file is gone"):
        run(number(), policy=policy("REPLAN"))
    assert sum("The failed step" in prompt for prompt in script.prompts) == 1


def test_the_orchestrator_may_do_without_a_step() -> None:
    def reply(prompt: str) -> str:
        if "The failed step" in prompt:
            return "SKIP: nobody needs the number"
        return "fine" if "S2" in prompt else WRONG

    plan = plan_of(
        {"id": "S1", "output": {"kind": "json", "schema": NUMBER}},
        {"id": "S2", "depends_on": ["S1"]},
    )
    with scripted(Script(reply)):
        result = run(plan, policy=policy("REPLAN"))
    assert (result.status, result.answer) == ("completed", "fine")
    assert result.steps[0].status == "skipped"
    assert "nobody needs the number" in result.steps[0].reason


def test_no_more_steps_are_replaced_than_the_policy_allows() -> None:
    def reply(prompt: str) -> str:
        return "Counter: Count" if "The failed step" in prompt else WRONG

    with scripted(Script(reply)) as script, pytest.raises(RunFailedError):
        run(number(), policy=policy("REPLAN", replans=1))
    assert sum("The failed step" in prompt for prompt in script.prompts) == 1


@pytest.mark.parametrize(
    ("replacement", "reason", "optional"),
    [
        ("I am at a loss", "wrote no replacement: 'I am at a loss'", False),
        ("Reader: do S1.", "replacement is the step itself: 'Reader: do S1.'", True),
        ("", "wrote no replacement: scripted answered S1-replan with nothing", False),
    ],
)
def test_a_step_that_is_not_replaced_keeps_its_category_and_the_pages_say_why(
    replacement: str, reason: str, optional: bool
) -> None:
    def reply(prompt: str) -> str:
        return replacement if "The failed step" in prompt else "fine" if "S2" in prompt else WRONG

    step = {"id": "S1", "output": {"kind": "json", "schema": NUMBER}, "optional": optional}
    with scripted(Script(reply)):
        result = run(plan_of(step, {"id": "S2"}), policy=policy("REPLAN"))
    failed = result.steps[0]
    assert (failed.category, failed.status) == (
        Category.SCHEMA,
        "skipped" if optional else "failed",
    )
    assert len(failed.attempts) == 1
    assert reason in failed.reason
    assert "asked twice" in failed.reason
    page = pages(result.flow_run_id)
    assert reason in html.unescape(page["swarm-s1"])
    assert reason in html.unescape(page["swarm-timeline"])


def test_what_is_not_the_models_fault_is_tried_again_without_feedback() -> None:
    calls: list[str] = []

    def reply(prompt: str) -> str | Exception:
        calls.append(prompt)
        return ModelError("The file can't be loaded.") if len(calls) == 1 else RIGHT

    with scripted(Script(reply)) as script:
        result = run(number(), policy=Policy(backoff_s=0))
    assert [a.category for a in result.steps[0].attempts] == [Category.INFRASTRUCTURE, None]
    assert "not accepted" not in script.prompts[-1]


def test_the_page_answers_why_a_step_ran_three_times() -> None:
    answers = iter([WRONG, "nonsense", RIGHT])
    with scripted(Script(lambda _: next(answers))):
        result = run(number())
    page = html.unescape(pages(result.flow_run_id)["swarm-timeline"])
    assert (
        "- **S1** ran 3 times and succeeded: attempt 1 (Reader on worker) failed by SCHEMA, so "
        "RETRY on worker; attempt 2 (Reader on worker) failed by FORMAT, so RETRY on worker; "
        "attempt 3 (Reader on worker) passed."
    ) in page
    rows = [row for row in page.splitlines() if re.search(r"\[S1\]\S+ \| \d \|.* tokens", row)]
    assert len(rows) == 3
    assert rows[0].startswith("| SCHEMA |")
    assert "gate schema: $.n: 'one'" in rows[0]
    assert "SCHEMA: RETRY, since SCHEMA failure 1 on tier worker; led to attempt 2" in page
    assert rows[1].startswith("| FORMAT |")
    assert "gate schema" in rows[1]
    assert "RETRY: asked again, with what was wrong" in page


def test_every_token_of_a_run_is_in_what_a_decision_led_to() -> None:
    def reply(prompt: str) -> str:
        if "The failed step" in prompt:
            return "Counter: Count to one"
        return RIGHT if "Count to one" in prompt else WRONG

    with scripted(Script(reply)):
        result = run(number(), policy=policy("RETRY", "REPLAN"))
    first, second, third = result.steps[0].attempts
    assert second.decision is not None
    question = second.decision.usage
    assert question.tokens > 0
    spent = [first.usage.tokens, second.usage.tokens, question.tokens, third.usage.tokens]
    assert sum(spent) == result.cost.tokens
    page = html.unescape(pages(result.flow_run_id)["swarm-timeline"])
    assert f"attempt 2 ({second.usage.tokens} tokens, " in page
    assert f"a question ({question.tokens} tokens, " in page
    assert f"Counter: Count to one; attempt 3 ({third.usage.tokens} tokens, " in page


def test_a_policy_can_be_a_block() -> None:
    async def save() -> None:
        saved: Any = FailurePolicy(policy=policy("FAIL")).save("strict", overwrite=True)
        await saved

    asyncio.run(save())
    with scripted(Script(lambda _: WRONG)) as script, pytest.raises(RunFailedError) as failed:
        run(number(), policy_block="strict")
    assert len(script.prompts) == 1
    ended = failed.value.result
    assert ended is not None
    kept = RunFolder.find(ended.flow_run_id).about().options
    assert kept is not None
    # A run that goes on has the policy that it began with.
    assert (kept["policy_block"], kept["policy"]["rules"]["SCHEMA"]) == (None, ["FAIL"])


def test_a_policy_block_that_is_not_there_is_named() -> None:
    with (
        scripted(Script()),
        pytest.raises(InputError, match="There is no block:failure-policy/gone"),
    ):
        run(number(), policy_block="gone")


def test_a_gate_that_is_not_there_is_named_before_anything_starts() -> None:
    with scripted(Script()) as script, pytest.raises(InputError, match="no gate 'spelling'"):
        run(number(), gates={"text": ("+spelling",)})
    assert script.prompts == []
