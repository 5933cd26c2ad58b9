"""The plan as structured output, for a model that takes no grammar."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel, Field
from pydantic_ai import Agent, ModelRetry, capture_run_messages
from pydantic_ai.exceptions import UnexpectedModelBehavior
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings

from ...errors import PlanError
from ...output import Form, OutputKind
from ...task_ir import PlanRules, TaskIR, Tier, final_step, parse_plan
from .adapter.prompts import STRUCTURED

__all__ = ["PlannedOutput", "StructuredPlan", "request_plan"]


class PlannedExample(BaseModel):
    """A call of the step's code, and what it has to give."""

    call: str = Field(description="A Python expression over the names that the code defines.")
    gives: str = Field(description="Its value, as JSON.")


class PlannedOutput(BaseModel):
    """What an assignment has to produce; what is stated here is checked."""

    kind: OutputKind = "text"
    examples: list[PlannedExample] = Field(
        default_factory=list[PlannedExample],
        description="For python: calls whose value follows from the objective.",
    )
    json_schema: str = Field(default="", description="For json: its JSON Schema 2020-12, as JSON.")
    sections: list[str] = Field(
        default_factory=list[str], description="For text: headings it has to have, in order."
    )
    min_words: int | None = Field(default=None, description="For text.")
    max_words: int | None = Field(default=None, description="For text.")
    form: Form | None = Field(default=None, description="For text: what the whole of it has to be.")

    def data(self, step: str) -> dict[str, Any]:
        """Return it as a plan has it.

        Raises:
            PlanError: A text is not valid JSON; says whose.
        """
        given: dict[str, Any] = self.model_dump(exclude={"examples", "json_schema"})
        given["examples"] = [
            {
                "call": example.call,
                "gives": _value(example.gives, f"{step}.output.examples.{number}.gives"),
            }
            for number, example in enumerate(self.examples)
        ]
        if self.json_schema.strip():
            given["schema"] = _value(self.json_schema, f"{step}.output.json_schema")
        return given


def _value(text: str, place: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        problem = f"step {place}: {text[:80]!r} is not valid JSON: {error}"
        raise PlanError(problem, "Write it as JSON.") from None


class Subagent(BaseModel):
    """A specialist to create."""

    name: str
    system_prompt: str
    tier: Tier = "worker"


class PlannedTask(BaseModel):
    """A piece of work for one subagent."""

    agent: str = Field(description="The name of a created subagent.")
    prompt: str
    depends_on: list[int] = Field(
        default_factory=list[int], description="1-based positions of earlier assignments."
    )
    output: PlannedOutput = PlannedOutput()
    gates: list[str] | None = Field(
        default=None, description="Checks its output must pass; null takes the output kind's own."
    )


class StructuredPlan(BaseModel):
    """Who works, and on what."""

    create_subagent: list[Subagent]
    assign_task: list[PlannedTask]

    def plan(self, objective: str, rules: PlanRules | None = None) -> TaskIR:
        """Return the plan it stands for.

        Raises:
            PlanError: It breaks a rule of the plan language.
        """
        try:
            plan = parse_plan(self._data(objective), rules)
        except PlanError as error:
            raise PlanError(error.problem, error.fix, self.model_dump_json()) from None
        return plan.model_copy(update={"final_step": final_step(plan.steps)})

    def _data(self, objective: str) -> dict[str, Any]:
        steps = [
            {
                "id": f"S{number}",
                "agent": task.agent,
                "prompt": task.prompt,
                "depends_on": [f"S{need}" for need in dict.fromkeys(task.depends_on)],
                "output": task.output.data(f"S{number}"),
                "gates": task.gates,
            }
            for number, task in enumerate(self.assign_task, 1)
        ]
        return {
            "objective": objective,
            "agents": [agent.model_dump() for agent in self.create_subagent],
            "steps": steps,
        }


async def request_plan(
    objective: str,
    model: Model,
    rules: PlanRules,
    settings: ModelSettings,
    conversation: list[ModelMessage],
) -> tuple[TaskIR, str]:
    """Ask for a plan; on a broken rule say which, once. Return the plan and the text it came as.

    `conversation` gets the messages, whether it succeeds or not.

    Raises:
        PlanError: The second plan breaks a rule as well; it has the text.
    """
    agent = Agent(
        model, output_type=StructuredPlan, instructions=_instructions(rules), retries={"output": 1}
    )
    last: list[PlanError] = []

    @agent.output_validator
    def _follows_the_rules(draft: StructuredPlan) -> StructuredPlan:  # pyright: ignore[reportUnusedFunction]
        try:
            draft.plan(objective, rules)
        except PlanError as error:
            last.append(error)
            raise ModelRetry(str(error)) from None
        return draft

    with capture_run_messages() as messages:
        try:
            result = await agent.run(objective, model_settings=settings)
        except UnexpectedModelBehavior as error:
            raise _unusable(last, messages, error) from error
        finally:
            conversation += messages
    return result.output.plan(objective, rules), result.output.model_dump_json()


def _instructions(rules: PlanRules) -> str:
    text = f"{STRUCTURED}\nNo more than {rules.max_steps} assignments."
    if rules.gates:
        text += f" Gates there are: {', '.join(sorted(rules.gates))}."
    return text


def _unusable(
    broken: list[PlanError], messages: list[ModelMessage], error: UnexpectedModelBehavior
) -> PlanError:
    answers = [message for message in messages if isinstance(message, ModelResponse)]
    text = _text(answers[-1]) if answers else ""
    problem = broken[-1].problem if broken else f"The model wrote no plan: {error}"
    return PlanError(problem, "Ask another model, or give a plan.", text)


def _text(answer: ModelResponse) -> str:
    calls = [call.args_as_json_str() for call in answer.tool_calls]
    return "\n".join([answer.text or "", *calls]).strip()
