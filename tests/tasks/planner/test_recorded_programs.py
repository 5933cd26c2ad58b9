"""Plans of strong models that depend on what is found are taken, after one repair at most."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from prefect_swarm.plan.compile import compile_plan
from prefect_swarm.plan.step import Step
from prefect_swarm.plan.task_ir import PlanRules, TaskIR
from prefect_swarm.tasks.planner.conversation import PlanContext, PlanDraft
from prefect_swarm.tasks.planner.planners import StructuredPlanner
from prefect_swarm.tasks.planner.program import PROGRAM_WORDS, may_depend
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from recorded_plans import RecordedProgram, recorded_programs

PROGRAMS = recorded_programs()

each_program = pytest.mark.parametrize("recorded", PROGRAMS, ids=lambda recorded: recorded.name)


def drafted(recorded: RecordedProgram) -> tuple[PlanDraft, list[list[ModelMessage]]]:
    """Have a model plan that writes what was recorded."""
    answers = iter([recorded.plan, recorded.repair])
    seen: list[list[ModelMessage]] = []

    def answer(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        seen.append([*messages])
        return ModelResponse([ToolCallPart("write_plan", next(answers))])

    context = PlanContext(PlanRules(inputs=frozenset(recorded.inputs)))
    planner = StructuredPlanner(FunctionModel(answer))
    return asyncio.run(planner.plan(recorded.objective, context)), seen


def plan_of(recorded: RecordedProgram) -> TaskIR:
    return drafted(recorded)[0].plan


def all_steps(steps: tuple[Step, ...]) -> Iterator[Step]:
    for step in steps:
        yield step
        if step.plan is not None:
            yield from all_steps(step.plan.steps)


def written_tasks(tasks: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for task in tasks:
        yield task
        inner = task.get("plan") or {}
        yield from written_tasks(inner.get("assign_task") or inner.get("steps") or [])


def test_there_are_eight_programs() -> None:
    assert len(PROGRAMS) == 8


def test_together_they_use_each_word() -> None:
    used = {
        word
        for recorded in PROGRAMS
        for step in all_steps(plan_of(recorded).steps)
        for word in PROGRAM_WORDS
        if getattr(step, word)
    }
    assert used == {*PROGRAM_WORDS}


@each_program
def test_its_objective_is_one_that_the_words_are_shown_for(recorded: RecordedProgram) -> None:
    assert may_depend(recorded.objective)


@each_program
def test_it_is_taken_after_one_repair_at_most(recorded: RecordedProgram) -> None:
    draft, seen = drafted(recorded)
    assert draft.usage.requests == len(seen) == (2 if recorded.problem else 1)
    if recorded.problem:
        assert recorded.problem in str(seen[1][-1])


@each_program
def test_it_compiles(recorded: RecordedProgram) -> None:
    plan = plan_of(recorded)
    inputs = dict.fromkeys(recorded.inputs, "")
    compiled = compile_plan(plan.model_copy(update={"inputs": inputs}))
    assert [step.id for step in compiled.steps] == [step.id for step in plan.steps]
    assert any(step.is_group or step.when for step in compiled.steps)


@each_program
def test_it_ends_in_one_step(recorded: RecordedProgram) -> None:
    plan = plan_of(recorded)
    assert plan.final_step == plan.steps[-1].id


@each_program
def test_every_word_that_the_model_wrote_is_in_the_plan(recorded: RecordedProgram) -> None:
    written = [*written_tasks((recorded.repair or recorded.plan)["assign_task"])]
    steps = [*all_steps(plan_of(recorded).steps)]
    assert len(steps) == len(written)
    for task, step in zip(written, steps, strict=True):
        names = {"when" if name == "if" else name for name in task}
        assert {word for word in PROGRAM_WORDS if getattr(step, word)} == names & {*PROGRAM_WORDS}


@each_program
def test_every_prompt_is_kept_but_for_the_form_of_its_places(recorded: RecordedProgram) -> None:
    written = [*written_tasks((recorded.repair or recorded.plan)["assign_task"])]
    kept = [step.prompt for step in all_steps(plan_of(recorded).steps)]
    assert [_bare(prompt) for prompt in kept] == [_bare(task.get("prompt", "")) for task in written]


def _bare(prompt: str) -> str:
    return prompt.replace("{", "").replace("}", "").replace(" ", "").casefold()
