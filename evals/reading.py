"""Reading a cases file, with the plans and documents that it names, before anything is run."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError
from pydantic_core import ErrorDetails, to_jsonable_python

from ..errors import InputError
from ..flows.run_inputs import with_inputs
from ..formats.yaml_text import Located, read_yaml_file
from ..gates import gates
from ..inputs.reading import given_together, read_paths
from ..task_ir import PlanRules, TaskIR, load_plan
from ..text import one_line
from .cases import CaseSpec, CasesSpec, Checks

__all__ = ["EvalCase", "EvalCases", "read_cases"]

_FORM = "docs/how-to/evaluate.md has the form."
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
    path, given = problem["loc"], problem["input"]
    where = ".".join(map(str, path))
    if len(path) >= 2 and path[0] == "cases":
        case: Any = found.value["cases"][path[1]]
        name = cast("dict[str, Any]", case).get("name") if isinstance(case, dict) else None
        label = f"case {name}" if isinstance(name, str) else f"case number {int(path[1]) + 1}"
        where = ": ".join(filter(None, (label, ".".join(map(str, path[2:])))))
    message = problem["msg"].removeprefix("Value error, ")
    value = "" if isinstance(given, dict | list) else f" (got {one_line(repr(given), 60)})"
    hint = _HINTS.get(problem["type"], "") if value else ""
    return f"line {found.line_of(path)}: {where}: {message}{value}{hint}"


def _case(
    case: CaseSpec, spec: CasesSpec, folder: Path, times: int | None, max_steps: int
) -> EvalCase:
    try:
        texts = given_together(read_paths(folder / file for file in case.files), case.inputs)
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
    """Name a file's reports after it; files of the same name in two folders are told apart."""
    where = path.resolve()
    stem = _NOT_IN_NAMES.sub("-", where.stem).strip("-.")[:60] or "cases"
    return f"{stem}-{hashlib.sha256(str(where).encode()).hexdigest()[:8]}"
