"""A cases file: objectives, what their runs have to be like, and reading it."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, cast

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)
from pydantic_core import ErrorDetails, to_jsonable_python

from ..data_types import Frozen
from ..errors import InputError
from ..flows.run_inputs import with_inputs
from ..gates import gates
from ..inputs.reading import merged_inputs, read_paths
from ..plan.output import schema_problem
from ..plan.task_ir import PlanRules, TaskIR, load_plan
from ..text import one_line
from ..untrusted.yaml_text import Located, read_yaml_file

__all__ = [
    "CaseSpec",
    "CasesSpec",
    "Checks",
    "EvalCase",
    "EvalCases",
    "JudgeSpec",
    "Words",
    "read_cases",
]


class _Written(Frozen):
    """What a person writes: nothing is converted, so a number in the place of a text is named."""

    model_config = ConfigDict(strict=True, populate_by_name=True)


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _rubric(value: object) -> object:
    return {"rubric": value} if isinstance(value, str) else value


def _can_be_searched(pattern: str) -> str:
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"it is not a regular expression: {error}") from None
    return pattern


def _can_be_applied(schema: dict[str, Any]) -> dict[str, Any]:
    if problem := schema_problem(schema):
        raise ValueError(problem)
    return schema


def _says_something(text: str) -> str:
    if not text.strip():
        raise ValueError("it is empty")
    return text


Text = Annotated[str, AfterValidator(_says_something)]
Texts = Annotated[list[Text], BeforeValidator(_listed)]
Pattern = Annotated[str, AfterValidator(_can_be_searched)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9 _.-]*$", max_length=60)]


class Words(_Written):
    """Words or phrases of an answer, in any case, each a whole word."""

    all_of: Texts = Field(default_factory=list[str], alias="all", description="All have to be in.")
    any_of: Texts = Field(default_factory=list[str], alias="any", description="At least one.")
    none_of: Texts = Field(default_factory=list[str], alias="none", description="None may be in.")


class JudgeSpec(_Written):
    """A model's verdict on an answer."""

    rubric: Text = Field(description="A statement that is true of a good answer.")
    model: Text | None = Field(
        default=None, description="The judge's model; the file's judge or the planner's if empty."
    )


class Checks(_Written):
    """What a run has to be like. Without any it has to be completed."""

    words: Words | None = None
    matches: Annotated[list[Pattern], BeforeValidator(_listed)] = Field(
        default_factory=list[str], description="Regular expressions that are found in the answer."
    )
    answer_schema: Annotated[dict[str, Any], AfterValidator(_can_be_applied)] | None = Field(
        default=None, alias="schema", description="JSON Schema that the answer is asked to fit."
    )
    judge: Annotated[JudgeSpec | None, BeforeValidator(_rubric)] = None
    max_steps: int | None = Field(default=None, ge=1, description="Steps of the plan.")
    max_tokens: int | None = Field(
        default=None, ge=0, description="Tokens read and written, by planner and answer too."
    )
    max_makespan_s: float | None = Field(
        default=None, gt=0, description="Seconds from the first step's start to the last's end."
    )
    max_usd: float | None = Field(default=None, ge=0, description="US dollars, by the price table.")


class CaseSpec(_Written):
    """An objective or a plan, and its checks."""

    name: Name
    objective: Text | None = None
    plan: Text | None = Field(default=None, description="A plan file, relative to the cases file.")
    files: Texts = Field(
        default_factory=list[str], description="Documents, folders of them, or patterns."
    )
    inputs: dict[str, str] = Field(default_factory=dict[str, str], description="Texts by name.")
    times: int | None = Field(default=None, ge=1, description="Runs of this case.")
    checks: Checks = Checks()

    @model_validator(mode="after")
    def _has_something_to_run(self) -> CaseSpec:
        if (self.objective is None) == (self.plan is None):
            raise ValueError("it has to have an objective or a plan, and not both")
        return self


class CasesSpec(_Written):
    """A whole file."""

    name: Name | None = Field(
        default=None, description="What its reports are kept under; the file's name if empty."
    )
    times: int = Field(default=3, ge=1, description="Runs of each case.")
    judge: Text | None = Field(default=None, description="The model of judges without their own.")
    memory: bool = Field(default=False, description="Whether runs go by the memory, and add to it.")
    cases: list[CaseSpec] = Field(min_length=1)


_FORM = "`prefect-swarm docs evaluate` has the form."
_HINTS = {
    "string_type": ", which has to be quoted to be a text",
    "bool_type": ", and true and false are the truth values",
}
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.-]+")


@dataclass(frozen=True, slots=True)
class EvalCase:
    """A case with all that its runs are given.

    Attributes:
        inputs: Texts by name.
        times: How often it is run.
        judge: The name of the model that judges; "" for the planner's, or where none judges.
        fingerprint: A hash of what it asks and checks.
    """

    name: str
    objective: str
    plan: TaskIR | None
    inputs: Mapping[str, str]
    times: int
    checks: Checks
    judge: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class EvalCases:
    """A whole file.

    Attributes:
        name: What its reports are kept under.
        memory: Whether its runs go by the memory, and add to it.
    """

    name: str
    memory: bool
    cases: tuple[EvalCase, ...]


def read_cases(path: Path, times: int | None, max_steps: int) -> EvalCases:
    """Read a cases file; paths in it are relative to its folder.

    Args:
        path: The file; `-` is standard input.
        times: Runs of each case, whatever the file has; None for what it has.
        max_steps: Steps that a plan may have.

    Raises:
        InputError: It, or a file that it names, can't be read or breaks a rule; says the case and
            the line.
        PlanError: A case's plan can't be read or breaks a rule.
    """
    spec = _spec(path)
    cases = tuple(_case(case, spec, path.parent, times, max_steps) for case in spec.cases)
    return EvalCases(spec.name or _name(path), spec.memory, cases)


def _spec(path: Path) -> CasesSpec:
    found = read_yaml_file(path, "cases file", _FORM)
    data: object = found.value
    if not isinstance(data, dict) or not cast("dict[str, Any]", data).get("cases"):
        raise InputError(
            f"The cases file {path} has no cases.", f'List them under "cases". {_FORM}'
        )
    try:
        spec = CasesSpec.model_validate(found.value)
    except ValidationError as error:
        problems = "; ".join(_clause(each, found) for each in error.errors(include_url=False)[:5])
        raise InputError(f"The cases file {path} breaks a rule: {problems}.", _FORM) from None
    for number, name in _named_before(spec):
        line = found.line_of(("cases", number))
        raise InputError(
            f"The cases file {path} has two cases of the name {name!r}, the second in line {line}.",
            "Give each a name of its own.",
        )
    return spec


def _named_before(spec: CasesSpec) -> Iterator[tuple[int, str]]:
    counts = Counter[str]()
    for number, case in enumerate(spec.cases):
        if counts[case.name]:
            yield number, case.name
        counts[case.name] += 1


def _clause(problem: ErrorDetails, found: Located) -> str:
    path, raw = problem["loc"], problem["input"]
    where = ".".join(map(str, path))
    if len(path) >= 2 and path[0] == "cases":
        case: Any = found.value["cases"][path[1]]
        name = cast("dict[str, Any]", case).get("name") if isinstance(case, dict) else None
        label = f"case {name}" if isinstance(name, str) else f"case number {int(path[1]) + 1}"
        where = ": ".join(filter(None, (label, ".".join(map(str, path[2:])))))
    message = problem["msg"].removeprefix("Value error, ")
    value = "" if isinstance(raw, dict | list) else f" (got {one_line(repr(raw), 60)})"
    hint = _HINTS.get(problem["type"], "") if value else ""
    return f"line {found.line_of(path)}: {where}: {message}{value}{hint}"


def _case(
    case: CaseSpec, spec: CasesSpec, folder: Path, times: int | None, max_steps: int
) -> EvalCase:
    try:
        files = (file if file.startswith("!") else folder / file for file in case.files)
        texts = merged_inputs(read_paths(files), case.inputs)
        plan = _plan(folder, case, texts, max_steps)
    except InputError as error:
        raise type(error)(f"Case {case.name}: {error.problem}", error.fix) from None
    judge = case.checks.judge
    return EvalCase(
        name=case.name,
        objective=case.objective or (plan.objective if plan else ""),
        plan=plan,
        inputs=texts,
        times=times or case.times or spec.times,
        checks=case.checks,
        judge=(judge.model or spec.judge or "") if judge else "",
        fingerprint=_fingerprint(case, plan, texts),
    )


def _plan(folder: Path, case: CaseSpec, texts: Mapping[str, str], max_steps: int) -> TaskIR | None:
    if case.plan is None:
        return None
    rules = PlanRules(max_steps, frozenset(gates()), frozenset(texts))
    plan = load_plan(folder / case.plan, rules)
    with_inputs(plan, texts)  # names what both have
    return plan


def _fingerprint(case: CaseSpec, plan: TaskIR | None, texts: Mapping[str, str]) -> str:
    asked = (case.objective, plan, texts, case.checks)
    text = json.dumps(to_jsonable_python(asked, fallback=repr), sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _name(path: Path) -> str:
    """Name a file's reports after it; files of the same name in two folders differ."""
    where = path.resolve()
    stem = _NOT_IN_NAMES.sub("-", where.stem).strip("-.")[:60] or "cases"
    return f"{stem}-{hashlib.sha256(str(where).encode()).hexdigest()[:8]}"
