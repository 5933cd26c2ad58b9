"""Plans as strong models write them are run as they were written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from flow_runs import plan_of, steps_of
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.result import SwarmResult
from provider_runs import planned, prose, run_at
from provider_server import Asked, Reply, provider_server
from recorded_plans import RecordedPlan, recorded_plans

_ANSWER = "This is the whole answer."
_PLANS = recorded_plans()
_RUN_EACH_TIME = {
    "api_design_for_a_library_lending_service",
    "manual_translation_with_a_glossary_first",
    "python_package_for_roman_numerals",
    "security_review_of_a_patient_portal",
}
"""One with JSON, one with five last steps, one with code, and the longest."""
_UNSET = {"max_tokens", "max_completion_tokens", "temperature", "top_p", "seed"}


@dataclass(frozen=True)
class PlannedRun:
    """A run whose plan was recorded, what the server was asked and what the steps' files have."""

    recorded: RecordedPlan
    result: SwarmResult
    asked: list[Asked]
    outputs: Mapping[str, str]

    @property
    def tasks(self) -> Mapping[str, dict[str, Any]]:
        """What the model wrote for each step."""
        return tasks_of(self.recorded)

    @property
    def of_steps(self) -> list[tuple[str, Asked]]:
        """The requests that aren't for the plan or the answer, with the step of each."""
        return [
            (step_asked(self.recorded, asked), asked)
            for asked in self.asked
            if not asked.is_plan and "Write the final answer" not in asked.prompt
        ]


def tasks_of(recorded: RecordedPlan) -> Mapping[str, dict[str, Any]]:
    return {f"S{number}": task for number, task in enumerate(recorded.plan["assign_task"], 1)}


def answer_of(recorded: RecordedPlan, step: str) -> str:
    return recorded.answers.get(step, prose(f"{step} of {recorded.name}")).strip()


def step_asked(recorded: RecordedPlan, asked: Asked) -> str:
    (step,) = [name for name, task in tasks_of(recorded).items() if task["prompt"] in asked.prompt]
    return step


def _each_or_exhaustive() -> Iterator[Any]:
    for recorded in _PLANS:
        marks = [] if recorded.name in _RUN_EACH_TIME else [pytest.mark.exhaustive]
        yield pytest.param(recorded, marks=marks, id=recorded.name)


@pytest.fixture(scope="module", params=_each_or_exhaustive())
def done(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    prefect_server: None,
) -> Iterator[PlannedRun]:
    recorded: RecordedPlan = request.param

    def reply(asked: Asked) -> Reply:
        if asked.is_plan:
            return Reply(tool_args=recorded.plan)
        if "Write the final answer" in asked.prompt:
            return Reply(_ANSWER)
        return Reply(answer_of(recorded, step_asked(recorded, asked)))

    with pytest.MonkeyPatch.context() as patch, provider_server(reply) as server:
        patch.setenv("PREFECT_INTEGRATIONS_SWARM_HOME", str(tmp_path_factory.mktemp("swarm")))
        result = planned(server, recorded.objective)
        stored = RunFolder.find(result.run_id)
        outputs = {step.id: stored.read(f"outputs/{step.id}.txt") or "" for step in result.steps}
        yield PlannedRun(recorded, result, server.asked, outputs)


def test_the_plan_is_asked_for_once(done: PlannedRun) -> None:
    assert sum(asked.is_plan for asked in done.asked) == 1


def test_every_step_of_the_plan_succeeds(done: PlannedRun) -> None:
    assert done.result.status == "completed"
    ends = {step.id: step.status for step in done.result.steps}
    assert ends == dict.fromkeys(done.tasks, "succeeded")


def test_the_plan_that_is_run_is_the_models_own(done: PlannedRun) -> None:
    agents = [agent.model_dump(exclude={"tools"}) for agent in done.result.plan.agents]
    assert agents == done.recorded.plan["create_subagent"]
    kept = {step.id: (step.agent, step.prompt, step.depends_on) for step in done.result.plan.steps}
    assert kept == {
        name: (task["agent"], task["prompt"], tuple(f"S{need}" for need in task["depends_on"]))
        for name, task in done.tasks.items()
    }


def test_every_step_is_asked_once(done: PlannedRun) -> None:
    assert sorted(step for step, _ in done.of_steps) == sorted(done.tasks)


def test_every_subagent_has_its_own_system_prompt(done: PlannedRun) -> None:
    prompts = {
        agent["name"]: agent["system_prompt"] for agent in done.recorded.plan["create_subagent"]
    }
    given = {step: asked.texts[0] for step, asked in done.of_steps}
    assert given == {step: prompts[task["agent"]] for step, task in done.tasks.items()}


def test_every_step_reads_the_whole_of_what_it_depends_on(done: PlannedRun) -> None:
    missing = [
        (step, f"S{need}")
        for step, asked in done.of_steps
        for need in done.tasks[step]["depends_on"]
        if answer_of(done.recorded, f"S{need}") not in asked.prompt
    ]
    assert missing == []


def test_every_answer_is_kept_as_it_was_written(done: PlannedRun) -> None:
    kept = {step: text.strip() for step, text in done.outputs.items()}
    assert kept == {step: answer_of(done.recorded, step) for step in done.tasks}


def test_the_answer_is_the_last_steps_or_written_from_several(done: PlannedRun) -> None:
    last = done.result.plan.final_step
    assert done.result.answer.strip() == (answer_of(done.recorded, last) if last else _ANSWER)


def test_a_provider_is_sent_nothing_that_nobody_set(done: PlannedRun) -> None:
    assert [asked.body for asked in done.asked if not _UNSET.isdisjoint(asked.body)] == []


@pytest.mark.usefixtures("prefect_server", "swarm_home")
def test_outputs_of_9000_characters_are_read_whole() -> None:
    texts = {step: f"{prose(step, 1500)[:8999]}." for step in ("S1", "S2", "S3")}
    plan = plan_of(*({"id": step} for step in texts), {"id": "S4", "depends_on": [*texts]})
    with provider_server(
        lambda asked: Reply(texts.get(asked.prompt[-2:], "They agree."))
    ) as server:
        result = run_at(server, plan)
    read = server.asked[-1].prompt
    assert [step for step, text in texts.items() if text not in read] == []
    assert steps_of(result)["S4"].attempts[0].left_out == ()
