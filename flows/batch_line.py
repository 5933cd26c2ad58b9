"""One line of a batch: what it asks for, and what became of it."""

from __future__ import annotations

from typing import Any, cast

from pydantic import ConfigDict, Field, ValidationError

from ..errors import InputError
from ..formats.json_text import NoJsonError, read_json
from ..frozen import Frozen
from ..gates import gates
from ..result import SwarmResult
from ..task_ir import Agent, PlanRules, TaskIR, describe, parse_plan
from ..text import escaped, without_surrogates
from .options import SwarmOptions

__all__ = ["BatchJob", "BatchLine", "read_line"]

_FORMS = (
    'Write {"objective": …}, {"objective": …, "plan": {…}}, a plan, a string, or '
    '{"prompt_template": …, "items": […]}; each object may have "options", and '
    'all but a plan "inputs".'
)


class _Strict(Frozen):
    model_config = ConfigDict(strict=True)


class _Job(_Strict):
    objective: str = Field(min_length=1)
    plan: dict[str, Any] | str | None = None
    inputs: dict[str, str] = Field(default_factory=dict[str, str])


class _Mapped(_Strict):
    prompt_template: str
    items: list[str]
    join: str | None = None
    objective: str | None = None
    agent: Agent | None = None
    inputs: dict[str, str] = Field(default_factory=dict[str, str])


class BatchJob(_Strict):
    """A line that was understood."""

    objective: str
    plan: TaskIR | None
    options: SwarmOptions
    inputs: dict[str, str] = Field(default_factory=dict[str, str])


class BatchLine(Frozen):
    """How a line ended. `number` counts the file's lines from 1; `error` is empty if it went well.

    A run in which no step succeeded has both a result and an error. `key` is the same for the same
    line with the same options, wherever it stands.
    """

    number: int
    key: str = ""
    result: SwarmResult | None = None
    error: str = ""

    def to_json(self) -> str:
        """Return it as one line of JSON."""
        return escaped(self.model_dump_json())


def read_line(text: str, options: SwarmOptions) -> BatchJob:
    """Understand one line.

    Args:
        text: JSON: an objective as a string, an object with an `objective` and perhaps a `plan`, a
            plan, or a `prompt_template` with `items`. An object's `options` go before the batch's;
            its `inputs` are texts by name.
        options: The batch's options.

    Raises:
        InputError: It is none of these, or its options are wrong.
        PlanError: Its plan breaks a rule.
    """
    data = _parse(text)
    if isinstance(data, str):
        data = {"objective": data}
    if not isinstance(data, dict):
        raise InputError(f"The line is {_kind(data)}.", _FORMS)
    line = cast("dict[str, Any]", data)
    try:
        options = _override(options, line.pop("options", {}))
        objective, plan, inputs = _understand(line, options)
    except ValidationError as error:
        problems = "; ".join(describe(error, line))
        raise InputError(f"The line is wrong: {problems}.", _FORMS) from None
    return BatchJob(objective=objective, plan=plan, options=options, inputs=inputs)


def _parse(text: str) -> object:
    try:
        return without_surrogates(read_json(text, halves=True))
    except NoJsonError as error:
        raise InputError(f"The line is not JSON: {error}.", _FORMS) from None


def _override(options: SwarmOptions, own: object) -> SwarmOptions:
    if not isinstance(own, dict):
        raise InputError(f'"options" is {_kind(own)}.', "Make it an object.")
    return SwarmOptions.model_validate({**options.model_dump(), **cast("dict[str, Any]", own)})


def _understand(
    line: dict[str, Any], options: SwarmOptions
) -> tuple[str, TaskIR | None, dict[str, str]]:
    rules = PlanRules(max_steps=options.max_steps, gates=frozenset(gates()))
    if "prompt_template" in line:
        mapped = _Mapped.model_validate(line)
        plan = TaskIR.from_items(
            mapped.prompt_template,
            mapped.items,
            objective=mapped.objective,
            join=mapped.join,
            agent=mapped.agent,
        )
        return plan.objective, parse_plan(plan.model_dump(mode="json"), rules), mapped.inputs
    if "steps" in line:
        plan = parse_plan(line, rules)
        return plan.objective, plan, {}
    job = _Job.model_validate(line)
    if not job.objective.strip():
        raise InputError("The objective is empty.", "Say what is wanted.")
    plan = None if job.plan is None else parse_plan(job.plan, rules)
    return job.objective, plan, job.inputs


def _kind(value: object) -> str:
    if value is None:
        return "null"
    kinds = ((bool, "a truth value"), (str, "a string"), (list, "a list"), (dict, "an object"))
    return next((name for kind, name in kinds if isinstance(value, kind)), "a number")
