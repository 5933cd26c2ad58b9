"""A plan as YAML for a person to edit, and back, with each problem next to its line. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import yaml
from pydantic import ValidationError

from ..text import visible
from ..untrusted.yaml_text import Located, NoYamlError, plain_value, read_yaml
from .task_ir import PlanRules, TaskIR, check_objective, parse_plan

__all__ = [
    "LineProblem",
    "marked",
    "plan_from",
    "plan_text",
    "problems_of",
    "without_marks",
    "yaml_text",
]


_MARK = "# ERROR: "
_STEP = re.compile(r"\bstep (S[0-9]+)\b")
_HEAD = """\
# The plan as it would run. Save it to run it as it is then; leave it as it is, or empty, to be
# asked again. Texts that the run was given are left out here, and stay.
"""


@dataclass(frozen=True, slots=True)
class LineProblem:
    """What is wrong with a plan's text; `line` counts from 1, 0 where it is not a line's."""

    line: int
    problem: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.problem}" if self.line else self.problem


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as such, and lists as people indent them."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002
        return super().increase_indent(flow, False)


def _text_node(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    represent = cast("Callable[..., yaml.ScalarNode]", cast("Any", dumper).represent_scalar)
    # What is hidden, or a line's end to some readers and not to others, is written as an escape.
    is_odd = visible(text) != text or not text.replace("\n", "").replace("\t", "").isprintable()
    style = '"' if is_odd or _is_read_otherwise(text) else "|" if "\n" in text else None
    return represent("tag:yaml.org,2002:str", text, style=style)


def _is_read_otherwise(text: str) -> bool:
    """Whether a text without quotes is read as something else, such as a number."""
    try:
        return plain_value(text) is not text
    except ValueError:
        return True


_Dumper.add_representer(str, _text_node)


def plan_text(plan: TaskIR) -> str:
    """Write a plan as YAML: what differs from the defaults, without the texts of its inputs."""
    data = plan.model_dump(mode="json", exclude_defaults=True, exclude={"inputs"}, by_alias=True)
    return _HEAD + yaml_text(data)


def yaml_text(data: Mapping[str, Any]) -> str:
    """Write plain data as YAML for a person to read and edit."""
    text = yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=96)
    # What is hidden stands in quotes, where the escapes of `visible` are YAML's.
    return visible(text)


def plan_from(data: Mapping[str, Any], before: TaskIR, rules: PlanRules) -> TaskIR:
    """Return the plan that some data has, in the place of another one.

    Inputs that the data doesn't name stay as they were.

    Raises:
        PlanError: It breaks a rule.
        InputError: It has another objective.
    """
    plan = parse_plan(_whole(data, before), rules)
    check_objective(plan, before.objective)
    return plan


def _whole(data: Mapping[str, Any], before: TaskIR) -> dict[str, Any]:
    given: object = data.get("inputs") or {}
    more = cast("dict[str, Any]", given) if isinstance(given, dict) else {"inputs": given}
    inputs = {**before.inputs, **more}
    return {"objective": before.objective, **data, "inputs": inputs}


def problems_of(text: str, before: TaskIR, rules: PlanRules) -> TaskIR | tuple[LineProblem, ...]:
    """Return the plan that a text has, or all that is wrong with it, in the order of its lines."""
    try:
        found = read_yaml(text)
    except NoYamlError as error:
        where = f"no YAML at column {error.column}"
        return (LineProblem(error.line, f"{where}: {error.problem}"),)
    data: object = found.value
    if not isinstance(data, dict):
        return (LineProblem(1, "a plan is a mapping with agents and steps"),)
    return _validated(cast("dict[str, Any]", data), found, before, rules)


def _validated(
    data: dict[str, Any], found: Located, before: TaskIR, rules: PlanRules
) -> TaskIR | tuple[LineProblem, ...]:
    if data.get("objective", before.objective) != before.objective:
        line = found.line_of(("objective",))
        return (LineProblem(line, f"the objective has to stay {before.objective!r}"),)
    try:
        return TaskIR.model_validate(_whole(data, before), context=rules)
    except ValidationError as error:
        return tuple(sorted(_located(error, data, found), key=lambda problem: problem.line))


def _located(
    error: ValidationError, data: Mapping[str, Any], found: Located
) -> Iterator[LineProblem]:
    for problem in error.errors(include_url=False):
        path, message = problem["loc"], problem["msg"].removeprefix("Value error, ")
        field = str(path[-1]) if path and isinstance(path[-1], str) else ""
        if problem["type"] == "bool_type":
            message = f"{message}: write true or false"
        words = f"{field}: {message}" if field else message
        line = found.line_of(path) if path else _line_of_steps(found, data, words)
        yield LineProblem(line, " ".join(words.split()))


def _line_of_steps(found: Located, data: Mapping[str, Any], words: str) -> int:
    """Return the line of the step that a problem of the whole plan names; 0 if it names none."""
    named = _STEP.search(words)
    steps = data.get("steps")
    if named is None or not isinstance(steps, list):
        return 0
    for index, step in enumerate(cast("list[Any]", steps)):
        if isinstance(step, dict) and cast("dict[str, Any]", step).get("id") == named[1]:
            return found.line_of(("steps", index))
    return 0


def marked(text: str, problems: Sequence[LineProblem]) -> str:
    """Return a text with each problem in a line of its own above the line that it is in."""
    lines = text.removesuffix("\n").split("\n")
    for problem in sorted(problems, key=lambda found: found.line, reverse=True):
        at = max(0, problem.line - 1)
        above = lines[at] if at < len(lines) else ""
        indent = above[: len(above) - len(above.lstrip())]
        lines.insert(min(at, len(lines)), f"{indent}{_MARK}{problem.problem}")
    return "\n".join(lines) + "\n"


def without_marks(text: str) -> str:
    """Return a text without the problems that `marked` has put into it."""
    lines = text.removesuffix("\n").split("\n")
    kept = (line for line in lines if not line.lstrip().startswith(_MARK))
    return "".join(f"{line}\n" for line in kept)
