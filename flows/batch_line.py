"""A line of a batch: what it asks for, when it is run, and how it is known again. Pure."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from math import inf
from typing import Annotated, Any, cast

from pydantic import AwareDatetime, ConfigDict, Field, ValidationError

from ..data_types import Frozen
from ..errors import InputError
from ..gates import gates
from ..plan.procedure import ParameterValue
from ..plan.procedure_steps import resolve
from ..plan.task_ir import Agent, PlanRules, TaskIR, describe, parse_plan
from ..store.procedures import find_procedure
from ..text import one_line, without_surrogates
from ..untrusted.json_text import NoJsonError, read_json
from .options import SwarmOptions, within_bounds

__all__ = ["BatchJob", "Urgency", "line_keys", "read_line", "urgency_of"]


_FORMS = (
    'Write {"objective": …}, {"plan": {…}}, {"procedure": NAME}, a plan, a string, or '
    '{"prompt_template": …, "items": […]}; each object may have "options", "priority" and '
    '"deadline", and all but a plan "inputs" and "files".'
)


class _Strict(Frozen):
    model_config = ConfigDict(strict=True)


class _Given(_Strict):
    inputs: dict[str, str] = Field(default_factory=dict[str, str])
    files: list[str] = Field(default_factory=list[str])


class _Job(_Given):
    objective: str | None = Field(default=None, min_length=1)
    plan: dict[str, Any] | str | None = None


class _Mapped(_Given):
    prompt_template: str
    items: list[str]
    join: str | None = None
    objective: str | None = None
    agent: Agent | None = None


class _Procedure(_Given):
    procedure: str
    parameters: dict[str, ParameterValue] = Field(default_factory=dict[str, ParameterValue])


class Urgency(Frozen):
    """When a line is run.

    Attributes:
        priority: Lines with a higher one begin earlier.
        deadline: When it has to have ended; None for any time. Of lines with the same priority
            those begin earlier that have to end earlier.
    """

    priority: Annotated[int, Field(strict=True)] = 0
    deadline: AwareDatetime | None = None

    @property
    def rank(self) -> tuple[int, float]:
        """What lines are sorted by."""
        due = inf if self.deadline is None else self.deadline.timestamp()
        return -self.priority, due


class BatchJob(_Given):
    """A line that was understood."""

    objective: str
    plan: TaskIR | None
    options: SwarmOptions


def read_line(text: str, options: SwarmOptions) -> BatchJob:
    """Understand one line.

    Args:
        text: JSON: an objective as a string, an object with an `objective` or a `plan` (whose
            objective it has then), a plan, a `procedure` with `parameters`, or a `prompt_template`
            with `items`. An object's `options` go before the batch's, and both before the bounds
            of a procedure; its `inputs` are texts by name, its `files` paths in storage blocks.
            `urgency_of` says when it is run.
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
        _urgency(line)
        options = _override(options, line.pop("options", {}))
        if "procedure" in line and "steps" not in line:
            return _of_procedure(_Procedure.model_validate(line), options)
        objective, plan, given = _understand(line, options)
    except ValidationError as error:
        problems = "; ".join(describe(error, line))
        raise InputError(f"The line is wrong: {problems}.", _FORMS) from None
    return BatchJob(
        objective=objective,
        plan=plan,
        options=options,
        inputs=given.inputs,
        files=given.files,
    )


def urgency_of(text: str) -> Urgency:
    """Return when a line is run; what can't be read is not urgent, and is told of in its turn."""
    try:
        data = _parse(text)
        return _urgency(dict(cast("dict[str, Any]", data))) if isinstance(data, dict) else Urgency()
    except InputError:
        return Urgency()


def _urgency(line: dict[str, Any]) -> Urgency:
    """Take the words about it out of a line."""
    words = {name: line.pop(name) for name in Urgency.model_fields if name in line}
    deadline = words.get("deadline")
    if deadline is not None and not isinstance(deadline, str):
        raise InputError(f'"deadline" is {_kind(deadline)}.', _DEADLINE)
    try:
        return Urgency.model_validate(words)
    except ValidationError as error:
        where = str(error.errors(include_url=False)[0]["loc"][0])
        fix = _DEADLINE if where == "deadline" else _PRIORITY
        raise InputError(f'"{where}" got {one_line(repr(words[where]), 100)}.', fix) from None


_PRIORITY = "Give a whole number; higher ones begin earlier."
_DEADLINE = "Write a time with its zone, such as 2026-12-24T18:00:00+01:00."


def _parse(text: str) -> object:
    try:
        return without_surrogates(read_json(text, halves=True))
    except NoJsonError as error:
        raise InputError(f"The line is not JSON: {error}.", _FORMS) from None


def _override(options: SwarmOptions, own: object) -> SwarmOptions:
    if not isinstance(own, dict):
        raise InputError(f'"options" is {_kind(own)}.', "Make it an object.")
    if "options_block" in (fields := cast("dict[str, Any]", own)):
        raise InputError("A line names an options_block.", "Name it among the batch's options.")
    return SwarmOptions.model_validate({**options.model_dump(), **fields})


def _of_procedure(asked: _Procedure, options: SwarmOptions) -> BatchJob:
    stored = find_procedure(asked.procedure)
    plan = stored.filled(asked.parameters, _rules(options))
    return BatchJob(
        objective=plan.objective,
        plan=plan,
        options=within_bounds(options, stored.procedure.bounds),
        inputs=asked.inputs,
        files=asked.files,
    )


def _rules(options: SwarmOptions) -> PlanRules:
    return PlanRules(max_steps=options.max_steps, gates=frozenset(gates()))


def _understand(line: dict[str, Any], options: SwarmOptions) -> tuple[str, TaskIR | None, _Given]:
    """Return the objective, the plan, and the line's inputs; a plan has its own."""
    rules = _rules(options)
    if "prompt_template" in line:
        mapped = _Mapped.model_validate(line)
        plan = TaskIR.from_items(
            mapped.prompt_template,
            mapped.items,
            objective=mapped.objective,
            join=mapped.join,
            agent=mapped.agent,
        )
        return plan.objective, parse_plan(plan.model_dump(mode="json"), rules), mapped
    if "steps" in line:
        plan = resolve(parse_plan(line, rules), find_procedure, rules)
        return plan.objective, plan, _Given()
    job = _Job.model_validate(line)
    plan = None
    if job.plan is not None:
        plan = resolve(parse_plan(job.plan, rules), find_procedure, rules)
    objective = job.objective if job.objective is not None or plan is None else plan.objective
    if objective is None:
        raise InputError("The line has neither an objective nor a plan.", _FORMS)
    if not objective.strip():
        raise InputError("The objective is empty.", "State it.")
    return objective, plan, job


def _kind(value: object) -> str:
    if value is None:
        return "null"
    kinds = ((bool, "a truth value"), (str, "a string"), (list, "a list"), (dict, "an object"))
    return next((name for kind, name in kinds if isinstance(value, kind)), "a number")


_NO_MATTER = frozenset(
    {
        "key_env",
        "max_concurrency",
        "max_tokens",
        "max_usd",
        "timeout_s",
        "step_timeout_s",
        "max_attempts",
        "gate_concurrency",
        "stream_text",
        "stream_plan",
        "pages",
        "notices",
        "approve",
        "start_over",
        "options_block",
    }
)
"""Options that bound a run or show it: what is completed under others is completed. Of a block
there are its options."""
_NO_MATTER_UNSET = ("workspace", "checks", "python")
"""Options that are no part of a key unless they are set: keys of earlier versions stay."""


def line_keys(lines: Iterable[str], options: SwarmOptions, inputs: str = "") -> list[str]:
    """Return a key for each line: of what it says, what it is given, and how often it was there.

    Args:
        lines: JSON; what is none has a key too.
        options: The batch's.
        inputs: A digest of the inputs that every line gets.
    """
    unset = {name for name in _NO_MATTER_UNSET if not getattr(options, name)}
    common = options.model_dump(mode="json", exclude={*_NO_MATTER, *unset})
    base = json.dumps([common, inputs], sort_keys=True)
    seen = Counter[str]()
    keys: list[str] = []
    for line in lines:
        digest = hashlib.sha256(f"{base}\n{_normal(line)}".encode()).hexdigest()[:16]
        seen[digest] += 1
        keys.append(f"{digest}-{seen[digest]}" if seen[digest] > 1 else digest)
    return keys


def _normal(line: str) -> str:
    """Write a line as every other that says the same, whenever it is to be run."""
    try:
        data = json.loads(line)
        if isinstance(data, dict):
            words = cast("dict[str, Any]", data)
            data = {name: words[name] for name in words if name not in Urgency.model_fields}
        return json.dumps(data, sort_keys=True)
    except (ValueError, RecursionError):
        return line.strip().encode("utf-8", "replace").decode()
