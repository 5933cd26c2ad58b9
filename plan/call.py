"""Calls of tools that a plan makes itself, with fixed arguments and without a model. Pure.

docs/reference/plan_programs.md says what is written in each place.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, NamedTuple, Self, cast

from pydantic import Field, StringConstraints, model_validator

from ..errors import CallError
from ..text import one_line
from ..untrusted.json_text import NoJsonError, read_json
from .conditions import Condition, describe_condition, holds, steps_of
from .ids import parse_id
from .items import Item
from .output import PlanPart, StepOutput
from .pointers import MISSING, pointer_problem, value_at

__all__ = [
    "CallPlace",
    "PlannedCall",
    "call_words",
    "expectation_problem",
    "filled_call",
    "names_item",
    "outputs_in",
    "places_of_call",
]

_OUTPUT, _ITEM = "$output", "$item"
_Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
_SHOWN = 200


class PlannedCall(PlanPart):
    """A call of one tool.

    `{"$output": "S1/total"}` in its arguments stands for the value at `/total` of the output of S1,
    `{"$output": "S1"}` for all of it, and `{"$item": "/id"}` for a value of the item.
    """

    toolset: _Name = Field(description="The toolset that has the tool.")
    tool: _Name = Field(description="The tool's own name.")
    arguments: dict[str, Any] = Field(
        default_factory=dict,
        description='What it is called with; `{"$output": "S1/id"}` is a value of an output, '
        '`{"$item": "/id"}` one of the item.',
    )
    expect: Condition | None = Field(
        default=None, description="What its result has to be; without that the call has failed."
    )

    @model_validator(mode="after")
    def _places_can_be_read(self) -> Self:
        _places(self.arguments)
        if self.expect is not None and steps_of(self.expect):
            raise ValueError("its `expect` names a step; it is on the result of the call")
        return self


class CallPlace(NamedTuple):
    """Where a value of the arguments comes from: a step's output, or the item if `step` is ""."""

    step: str
    pointer: str


def places_of_call(call: PlannedCall) -> tuple[CallPlace, ...]:
    """Return where the values of a call's arguments come from."""
    return tuple(_places(call.arguments))


def outputs_in(call: PlannedCall) -> tuple[str, ...]:
    """Return the ids of the steps whose outputs a call's arguments name, each once."""
    return tuple(dict.fromkeys(place.step for place in _places(call.arguments) if place.step))


def names_item(call: PlannedCall) -> bool:
    """Say whether a call's arguments name a value of an item."""
    return any(not place.step for place in _places(call.arguments))


def filled_call(call: PlannedCall, outputs: Iterable[StepOutput], item: Item | None) -> PlannedCall:
    """Return a call with the values that its arguments name.

    Args:
        call: The call, as the plan has it.
        outputs: What the step reads, by the names that it has in the run: `S2.S1` is S1 of the plan
            inside S2.
        item: The item that it is for.

    Raises:
        CallError: There is no such value.
    """
    texts = {parse_id(output.name)[-1].step: output for output in outputs}

    def value(place: CallPlace) -> Any:
        if not place.step:
            found = MISSING if item is None else value_at(item.value, place.pointer)
        elif (output := texts.get(place.step)) is None:
            found = MISSING
        else:
            found = _value_of(output, place.pointer)
        if found is MISSING:
            whose = f"the output of {place.step}" if place.step else "the item"
            at = f" at {place.pointer}" if place.pointer else ""
            raise CallError(
                f"{call.tool} can't be called: {whose} has nothing{at}.",
                "Correct the place in its arguments, or what the earlier step makes.",
            )
        return found

    arguments = cast("dict[str, Any]", _mapped(call.arguments, value))
    return call.model_copy(update={"arguments": arguments})


def expectation_problem(call: PlannedCall, result: str) -> str:
    """Say why a call's result isn't what the plan expects; "" if it is."""
    if call.expect is None:
        return ""
    try:
        value = read_json(result)
    except NoJsonError:
        value = result
    if holds(call.expect, lambda _: value):
        return ""
    return (
        f"{call.tool} returned {one_line(result, _SHOWN) or 'nothing'!r}, and the plan expects: "
        f"{describe_condition(call.expect)}."
    )


def call_words(call: PlannedCall, most: int = 2000) -> str:
    """Say in one line what is called with what."""
    arguments = json.dumps(call.arguments, ensure_ascii=False)
    return one_line(f"{call.toolset}.{call.tool} {arguments}", most)


def _value_of(output: StepOutput, pointer: str) -> Any:
    if output.kind != "json":
        return MISSING if pointer else output.text
    try:
        return value_at(read_json(output.text), pointer)
    except NoJsonError:
        return MISSING


def _places(value: object) -> list[CallPlace]:
    """Return the places in a value of JSON; ValueError if one can't be read."""
    found: list[CallPlace] = []
    _mapped(value, found.append)
    return found


def _mapped(value: object, fill: Callable[[CallPlace], Any]) -> Any:
    """Return a value of JSON with what `fill` makes of its places."""
    if isinstance(value, list):
        return [_mapped(each, fill) for each in cast("list[object]", value)]
    if not isinstance(value, Mapping):
        return value
    fields = cast("Mapping[str, object]", value)
    if len(fields) == 1 and (name := next(iter(fields))).startswith("$"):
        return fill(_place(name, fields[name]))
    return {name: _mapped(each, fill) for name, each in fields.items()}


def _place(name: str, path: object) -> CallPlace:
    if name not in (_OUTPUT, _ITEM) or not isinstance(path, str):
        raise ValueError(
            f"its arguments have {{{name!r}: …}}; a place is "
            f'{{"{_OUTPUT}": "S1/id"}} or {{"{_ITEM}": "/id"}}'
        )
    step, slash, rest = path.partition("/") if name == _OUTPUT else ("", "", "")
    pointer = f"{slash}{rest}" if name == _OUTPUT else path
    if name == _OUTPUT and not step:
        raise ValueError(f"its arguments have {{{name!r}: {path!r}}}, which names no step")
    if problem := pointer_problem(pointer):
        raise ValueError(f"its arguments have {{{name!r}: {path!r}}}, and {problem}")
    return CallPlace(step, pointer)
