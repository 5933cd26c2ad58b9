"""Procedures: plans with places for parameters, which are run again with other values. Pure."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, Self, cast

from pydantic import Field, StringConstraints, ValidationError, model_validator

from ..errors import InputError
from ..text import without_surrogates
from ..untrusted.json_text import describe
from ..untrusted.yaml_text import NoYamlError, read_yaml
from .documents import yaml_text
from .output import PlanPart, Text
from .program import PROCEDURE_NAME, ParameterValue
from .step import Step
from .task_ir import PlanRules, TaskIR, parse_plan
from .templates import LONGEST_VALUE, has_place, in_marks

__all__ = [
    "NAME",
    "Parameter",
    "ParameterType",
    "ParameterValue",
    "Procedure",
    "ProcedureBounds",
    "SourceCost",
    "bounds_from",
    "check_procedure",
    "fill_in",
    "make_places",
    "missing_values",
    "parse_procedure",
    "places_in",
    "procedure_text",
    "read_value",
    "values_of",
]

NAME = PROCEDURE_NAME
"""The form of a procedure's name."""
ParameterType = Literal["text", "integer", "number", "boolean"]
_PARAMETER = r"[a-z][a-z0-9_]{0,39}"
_PLACE = re.compile(rf"\{{param\.({_PARAMETER})\}}")
_AROUND_PLACES = re.compile(rf"(\{{param\.{_PARAMETER}\}})")
_Part = Literal["prompt", "argument", ""]
"""What a text of a plan is: a prompt, an argument of a call, or something without places."""
_FILLED: Mapping[str, _Part] = {
    **dict.fromkeys(("objective", "prompt", "system_prompt", "constraints"), "prompt"),
    **dict.fromkeys(("assumptions", "definition_of_done", "items"), "prompt"),
    **dict.fromkeys(("arguments", "parameters"), "argument"),
}
"""The fields of a plan whose texts may have places."""
_ALLOWED: Mapping[ParameterType, tuple[type, ...]] = {
    "text": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}
_ADVICE = "Correct it; `prefect-swarm docs procedures` has an example."
_BOOLEANS = {"true": True, "yes": True, "false": False, "no": False}


class Parameter(PlanPart):
    """A value that a run of a procedure is given."""

    type: ParameterType = Field(default="text", description="What it is.")
    description: str = Field(default="", description="What a person is told about it.")
    default: ParameterValue | None = Field(
        default=None, description="Its value where none is given; without one it has to be."
    )

    @model_validator(mode="after")
    def _default_fits(self) -> Self:
        if self.default is not None:
            _check_value(self.default, self)
        return self


class ProcedureBounds(PlanPart):
    """What a run of a procedure may take, unless its options say it."""

    max_tokens: int | None = Field(default=None, ge=1, description="Tokens.")
    max_usd: float | None = Field(default=None, gt=0, description="Dollars.")
    timeout_s: float | None = Field(default=None, gt=0, description="Seconds.")


class SourceCost(PlanPart):
    """What the run took that a procedure comes from, or the dearest of runs like it."""

    tokens: int = Field(default=0, ge=0, description="Tokens.")
    usd: float | None = Field(default=None, ge=0, description="Dollars; empty if not known.")
    seconds: float = Field(default=0, ge=0, description="Seconds.")
    runs: int = Field(default=1, ge=1, description="How many runs it is the dearest of.")


class Procedure(PlanPart):
    """A plan under a name, with places such as `{param.week}` in its texts."""

    name: Annotated[str, StringConstraints(pattern=f"^{NAME}$")] = Field(
        description="Small letters, digits and hyphens."
    )
    purpose: Text = Field(description="What it is for.")
    run: str = Field(default="", description="The run that its plan comes from.")
    took: SourceCost = Field(default=SourceCost(), description="What that run took.")
    parameters: dict[Annotated[str, StringConstraints(pattern=f"^{_PARAMETER}$")], Parameter] = (
        Field(default_factory=dict, description="What each run is given, by name.")
    )
    bounds: ProcedureBounds = Field(default=ProcedureBounds(), description="What a run may take.")
    plan: TaskIR = Field(description="What is done.")

    @model_validator(mode="after")
    def _places_and_parameters_fit(self) -> Self:
        places, elsewhere = places_in(self.plan)
        if elsewhere:
            raise ValueError(
                f"{elsewhere[0]} stands where no value is filled in; places may stand in an "
                "objective, prompts, items, constraints, definitions of done and arguments of calls"
            )
        if unknown := [name for name in places if name not in self.parameters]:
            raise ValueError(f"{{param.{unknown[0]}}} is no parameter")
        if unused := [name for name in self.parameters if name not in places]:
            raise ValueError(f"nothing in the plan has a place for the parameter {unused[0]}")
        return self


def bounds_from(took: SourceCost, room: int) -> ProcedureBounds:
    """Return the bounds of a procedure's runs by what runs took; none of what isn't known.

    The more runs there were, the closer the bound: with n of them it is 1 + 2/n times the most that
    one took, and what calls reserve beside that until they have answered.

    Args:
        took: What the dearest of the runs took.
        room: Tokens that calls under way reserve at most.
    """
    if not took.tokens:
        return ProcedureBounds()
    tokens = _rounded_up(took.tokens * (1 + 2 / took.runs) + room)
    usd = None if not took.usd else _rounded_up(1e6 * took.usd * tokens / took.tokens) / 1e6
    return ProcedureBounds(max_tokens=tokens, max_usd=usd)


def _rounded_up(value: float) -> int:
    """Return the next number that has two digits before its zeros."""
    unit = 10 ** max(0, len(str(int(value))) - 2)
    return math.ceil(value / unit) * unit


def procedure_text(procedure: Procedure) -> str:
    """Write a procedure as YAML: what differs from the defaults."""
    return yaml_text(procedure.model_dump(mode="json", exclude_defaults=True, by_alias=True))


def parse_procedure(text: str, source: str) -> Procedure:
    """Read a procedure that is written as YAML.

    Args:
        text: The YAML.
        source: What to call it in errors.

    Raises:
        InputError: It is no YAML, or breaks a rule; says which, and where.
    """
    try:
        found = read_yaml(text).value
    except NoYamlError as error:
        raise InputError(f"{source} is not valid YAML: {error}.", _ADVICE) from None
    return check_procedure(without_surrogates(found), source)


def check_procedure(data: object, source: str) -> Procedure:
    """Return the procedure that some data is.

    Args:
        data: Its fields by name.
        source: What to call it in errors.

    Raises:
        InputError: It breaks a rule; says which.
    """
    try:
        return Procedure.model_validate(data)
    except ValidationError as error:
        problems = "; ".join(describe(error, data))
        raise InputError(f"{source} is no procedure: {problems}.", _ADVICE) from None


def places_in(plan: TaskIR) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the parameters that a plan has places for, and places where none may stand."""
    found: dict[str, None] = {}
    elsewhere: list[str] = []

    def look(text: str, part: _Part) -> str:
        for place in _PLACE.finditer(text):
            if part:
                found[place[1]] = None
            else:
                elsewhere.append(place[0])
        return text

    _rewritten(plan, look)
    return tuple(found), tuple(elsewhere)


def fill_in(
    procedure: Procedure,
    given: Mapping[str, ParameterValue],
    rules: PlanRules | None = None,
) -> TaskIR:
    """Return a procedure's plan with the values that a run is given.

    Texts stand in quotation marks that nothing in them can close, as the items of a `for_each` do:
    they are what the work is about, and no instructions.

    Args:
        procedure: The procedure.
        given: Values by the parameters' names.
        rules: Limits from outside the plan.

    Raises:
        InputError: A value is missing, is no parameter's, or doesn't fit.
        PlanError: The filled plan breaks a rule.
    """
    values = values_of(procedure, given)
    if missing := missing_values(procedure, values):
        raise InputError(
            f"The parameter {missing[0]} of the procedure {procedure.name} has no value.",
            f"Give it: --param {missing[0]}=…",
        )

    def write(text: str, part: _Part) -> ParameterValue:
        if part == "prompt":
            return _PLACE.sub(lambda place: _words(values[place[1]]), text)
        if part == "argument":
            # No model reads it: a value by itself stays what it is, a number or a text.
            if (whole := _PLACE.fullmatch(text)) is not None:
                return values[whole[1]]
            return _PLACE.sub(lambda place: _plain(values[place[1]]), text)
        return text

    return parse_plan(_rewritten(procedure.plan, write), rules)


def values_of(
    procedure: Procedure, given: Mapping[str, ParameterValue]
) -> dict[str, ParameterValue]:
    """Return the values of a procedure's parameters: those given, and else the defaults.

    Raises:
        InputError: A value is no parameter's, or doesn't fit.
    """
    known = procedure.parameters
    if unknown := [name for name in given if name not in known]:
        has = ", ".join(known) or "none"
        raise InputError(
            f"The procedure {procedure.name} has no parameter {unknown[0]!r}.",
            f"It has these: {has}.",
        )
    values: dict[str, ParameterValue] = {}
    for name, parameter in known.items():
        if (value := given.get(name, parameter.default)) is None:
            continue
        try:
            _check_value(value, parameter)
        except ValueError as error:
            raise InputError(f"The parameter {name}: {error}.", "Give another value.") from None
        values[name] = value
    return values


def missing_values(procedure: Procedure, values: Mapping[str, ParameterValue]) -> tuple[str, ...]:
    """Return the parameters that a run has no value of, and that have no default."""
    known = procedure.parameters.items()
    return tuple(name for name, each in known if name not in values and each.default is None)


def make_places(
    plan: TaskIR, values: Mapping[str, str]
) -> tuple[TaskIR, Mapping[str, Sequence[str]]]:
    """Put places into the texts of a plan where it has certain values as whole words.

    A step that is a procedure has its steps as a plan of its own from then on.

    Args:
        plan: A plan.
        values: What is to become a place, by the parameter's name. Longer ones are looked for
            first, so that `47a` is found before `47`.

    Returns:
        The plan, and for each parameter the texts that now have its place.

    Raises:
        PlanError: The plan breaks a rule with the places in it.
    """
    order = sorted(values, key=lambda name: -len(values[name]))
    words = {name: _whole(values[name]) for name in order}
    found: dict[str, list[str]] = {name: [] for name in values}

    def write(text: str, part: _Part) -> str:
        if not part:
            return text
        changed = text
        for name, word in words.items():
            # What stands in a place already is no word of the text.
            parts = _AROUND_PLACES.split(changed)
            parts[::2] = [word.sub(lambda _, n=name: f"{{param.{n}}}", part) for part in parts[::2]]
            changed = "".join(parts)
        for place in dict.fromkeys(match[1] for match in _PLACE.finditer(changed)):
            found.setdefault(place, []).append(changed)
        return changed

    own = plan.model_copy(update={"steps": _as_plans(plan.steps)})
    return parse_plan(_rewritten(own, write)), found


def _as_plans(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Return steps without the names of the procedures whose plans they have inside."""
    made: list[Step] = []
    for step in steps:
        update: dict[str, object] = {}
        if step.plan is not None:
            inner = _as_plans(step.plan.steps)
            update["plan"] = step.plan.model_copy(update={"steps": inner})
            if step.procedure:
                update |= {"procedure": "", "parameters": {}}
        made.append(step.model_copy(update=update) if update else step)
    return tuple(made)


def _rewritten(plan: TaskIR, write: Callable[[str, _Part], ParameterValue]) -> dict[str, Any]:
    """Return a plan's data with each text as `write` has it, which learns what the text is.

    The inputs stay: their names may be those of fields.
    """
    data = plan.model_dump(mode="json", exclude_unset=True, by_alias=True, exclude={"inputs"})
    changed = _mapped(data, write, "")
    return {**changed, "inputs": plan.inputs} if plan.inputs else changed


def _mapped(value: object, write: Callable[[str, _Part], ParameterValue], part: _Part) -> Any:
    if isinstance(value, str):
        return write(value, part)
    if isinstance(value, dict):
        return {
            # Fields of an argument may have the names of fields of the plan.
            write(key, ""): _mapped(
                each, write, part if part == "argument" else _FILLED.get(key, "")
            )
            for key, each in cast("dict[str, object]", value).items()
        }
    if isinstance(value, list):
        return [_mapped(each, write, part) for each in cast("list[object]", value)]
    return value


def _whole(value: str) -> re.Pattern[str]:
    """Return what finds a text where it stands as words of its own, in quotation marks or not."""
    return re.compile(rf"“(?:{re.escape(value)})”|(?<!\w){re.escape(value)}(?!\w)")


def _plain(value: ParameterValue) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _words(value: ParameterValue) -> str:
    return in_marks(value) if isinstance(value, str) else _plain(value)


def read_value(text: str, parameter: Parameter) -> ParameterValue:
    """Read a value as a command has it.

    Raises:
        ValueError: It is no value of the parameter's type.
    """
    if parameter.type == "text":
        return text
    if parameter.type == "boolean":
        if (found := _BOOLEANS.get(text.lower())) is None:
            raise ValueError(f"{text!r} is neither true nor false")
        return found
    try:
        value = int(text) if parameter.type == "integer" else float(text)
    except ValueError:
        raise ValueError(f"{text!r} is no {parameter.type}") from None
    return value


def _check_value(value: ParameterValue, parameter: Parameter) -> None:
    is_right = isinstance(value, _ALLOWED[parameter.type])
    if not is_right or (isinstance(value, bool) and parameter.type != "boolean"):
        raise ValueError(f"{value!r} is no {parameter.type}")
    if isinstance(value, float) and not -1e300 < value < 1e300:
        raise ValueError(f"{value!r} is no number that can be written")
    if isinstance(value, str) and (len(value) > LONGEST_VALUE or len(value.splitlines()) > 1):
        raise ValueError(
            f"a text has one line of at most {LONGEST_VALUE} characters; a longer one is an input "
            "(--file)"
        )
    if isinstance(value, str) and has_place(value):
        raise ValueError("a text has no place for an item, such as {item}: it would be filled in")
