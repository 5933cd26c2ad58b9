"""Conditions on JSON values: `when`, `where` and `until` of a plan. Pure.

docs/reference/plan_programs.md says what each operator means.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Annotated, Any, Self, cast

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    SerializationInfo,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)

from ..text import one_line
from .output import PlanPart, as_tuple
from .pointers import MISSING, pointer_problem, value_at
from .regular_expression import is_found, pattern_problem

__all__ = [
    "MAX_DEPTH",
    "Condition",
    "are_equal",
    "describe_condition",
    "holds",
    "parts_of",
    "steps_of",
    "with_steps",
]

MAX_DEPTH = 5
"""Levels of conditions within conditions."""
_OPERATORS = ("is_", "is_not", "in_", "over", "under", "exists", "empty", "matches")
_COMBINED = ("all", "any", "not_")
_MAY_BE_NULL = frozenset({"is_", "is_not"})
_MOST_SHOWN = 300
_VALUE_SHOWN = 60


class Condition(PlanPart):
    """What a value has to be; all operators of one condition have to hold."""

    model_config = ConfigDict(validate_by_name=True, serialize_by_alias=True)

    step: str | None = Field(default=None, description="The earlier step whose output is meant.")
    at: str = Field(default="", description="JSON pointer into the value; empty for all of it.")
    is_: Any = Field(default=None, alias="is", description="It is equal to this.")
    is_not: Any = Field(default=None, description="It isn't equal to this.")
    in_: Annotated[tuple[Any, ...] | None, BeforeValidator(as_tuple)] = Field(
        default=None, alias="in", description="It is one of these."
    )
    over: float | None = Field(default=None, description="It is a number above this one.")
    under: float | None = Field(default=None, description="It is a number below this one.")
    exists: bool | None = Field(default=None, description="Whether it is there and not null.")
    empty: bool | None = Field(
        default=None, description="Whether it is missing, null, or has nothing in it."
    )
    matches: str | None = Field(
        default=None, description="A regular expression that is found in it."
    )
    all: Annotated[tuple[Condition, ...] | None, BeforeValidator(as_tuple)] = Field(
        default=None, description="All of these conditions hold."
    )
    any: Annotated[tuple[Condition, ...] | None, BeforeValidator(as_tuple)] = Field(
        default=None, description="One of these conditions holds."
    )
    not_: Condition | None = Field(
        default=None, alias="not", description="This condition doesn't hold."
    )

    @field_validator("at")
    @classmethod
    def _at_is_a_pointer(cls, at: str) -> str:
        if problem := pointer_problem(at):
            raise ValueError(problem)
        return at

    @field_validator("matches")
    @classmethod
    def _matches_can_be_searched_for(cls, matches: str | None) -> str | None:
        if matches is not None and (problem := pattern_problem(matches)):
            raise ValueError(problem)
        return matches

    @field_validator("in_", "all", "any")
    @classmethod
    def _there_is_one_at_least(cls, among: tuple[object, ...] | None) -> tuple[object, ...] | None:
        if among == ():
            raise ValueError("it is an empty list; name one at least")
        return among

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        on_value = self.is_on_value
        if not on_value and not any(self.gives(name) for name in _COMBINED):
            raise ValueError(
                "it has no operator; give one of is, is_not, in, over, under, exists, empty, "
                "matches, all, any, not"
            )
        if not on_value and (self.step is not None or self.at):
            raise ValueError("step and at belong to the conditions within all, any and not")
        if _depth(self) > MAX_DEPTH:
            raise ValueError(f"conditions are over {MAX_DEPTH} levels deep")
        return self

    @model_serializer(mode="wrap")
    def _written(
        self, write: SerializerFunctionWrapHandler, info: SerializationInfo
    ) -> dict[str, Any]:
        """Write what is given, and no more: a null that is written is compared with."""
        fields: dict[str, Any] = write(self)
        for name, field in type(self).model_fields.items():
            key = name if info.by_alias is False else field.alias or name
            if name in _MAY_BE_NULL and self.gives(name):
                fields.setdefault(key, None)
            elif getattr(self, name) == field.default:
                fields.pop(key, None)
        return fields

    def __eq__(self, other: object) -> bool:
        """Say whether both say the same; `is: null` says something."""
        if not isinstance(other, Condition):
            return NotImplemented
        return super().__eq__(other) and _nulls(self) == _nulls(other)

    def __hash__(self) -> int:
        """Return a hash of what has one: values of JSON needn't."""
        return hash((self.step, self.at, self.matches))

    @property
    def is_on_value(self) -> bool:
        """Whether it has an operator of its own, beside the conditions that it combines."""
        return any(self.gives(name) for name in _OPERATORS)

    def gives(self, operator: str) -> bool:
        """Say whether an operator is given; only `is` and `is_not` may be given as null."""
        if operator in _MAY_BE_NULL:
            return operator in self.model_fields_set
        return getattr(self, operator) is not None


def _nulls(condition: Condition) -> frozenset[str]:
    return frozenset(name for name in _MAY_BE_NULL if condition.gives(name))


def parts_of(condition: Condition) -> Iterator[Condition]:
    """Yield the conditions that a condition combines."""
    yield from condition.all or ()
    yield from condition.any or ()
    if condition.not_ is not None:
        yield condition.not_


def _depth(condition: Condition) -> int:
    return 1 + max(map(_depth, parts_of(condition)), default=0)


def holds(condition: Condition, value_of: Callable[[str | None], object]) -> bool:
    """Say whether a condition holds.

    Args:
        condition: The condition.
        value_of: Returns the output of a step, read as JSON where it is JSON, or the value at hand
            for None; `MISSING` where there is none.
    """
    if condition.is_on_value:
        value = value_at(value_of(condition.step), condition.at)
        if not all(_fits(condition, name, value) for name in _OPERATORS if condition.gives(name)):
            return False
    if condition.all is not None and not all(holds(each, value_of) for each in condition.all):
        return False
    if condition.any is not None and not any(holds(each, value_of) for each in condition.any):
        return False
    return condition.not_ is None or not holds(condition.not_, value_of)


def _fits(condition: Condition, operator: str, value: object) -> bool:
    match operator:
        case "is_":
            return are_equal(value, condition.is_)
        case "is_not":
            return not are_equal(value, condition.is_not)
        case "in_":
            return any(are_equal(value, each) for each in condition.in_ or ())
        case "over":
            return _is_number(value) and cast("float", value) > cast("float", condition.over)
        case "under":
            return _is_number(value) and cast("float", value) < cast("float", condition.under)
        case "exists":
            return (value is not MISSING and value is not None) is condition.exists
        case "empty":
            return _is_empty(value) is condition.empty
        case _:
            return isinstance(value, str) and is_found(condition.matches or "", value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_empty(value: object) -> bool:
    if value is MISSING or value is None:
        return True
    return isinstance(value, str | list | tuple | dict) and not value


def are_equal(one: object, other: object) -> bool:
    """Say whether two values of JSON are equal: numbers by value; true is no number.

    What is missing equals nothing, not even null.
    """
    pending: list[tuple[Any, Any]] = [(one, other)]
    while pending:
        first, second = pending.pop()
        if isinstance(first, list | tuple) and isinstance(second, list | tuple):
            firsts, seconds = cast("list[Any]", first), cast("list[Any]", second)
            if len(firsts) != len(seconds):
                return False
            pending += zip(firsts, seconds, strict=True)
        elif isinstance(first, dict) and isinstance(second, dict):
            fields, others = cast("dict[str, Any]", first), cast("dict[str, Any]", second)
            if fields.keys() != others.keys():
                return False
            pending += [(fields[name], others[name]) for name in fields]
        elif not _are_equal_parts(cast("object", first), cast("object", second)):
            return False
    return True


def _are_equal_parts(one: object, other: object) -> bool:
    """Say whether two values that aren't both lists, or both objects, are equal."""
    if one is MISSING or other is MISSING:
        return False
    return _is_number(one) is _is_number(other) and one == other


def steps_of(condition: Condition) -> tuple[str, ...]:
    """Return the ids of all steps that a condition names, each once, in their order."""
    return tuple(dict.fromkeys(_named(condition)))


def _named(condition: Condition) -> Iterator[str]:
    if condition.step is not None:
        yield condition.step
    for within in parts_of(condition):
        yield from _named(within)


def with_steps(condition: Condition, step_of: Callable[[Condition], str | None]) -> Condition:
    """Return a condition in which each condition that has operators is on another step's output.

    Args:
        step_of: The id of that step, for such a condition; None for the value at hand.
    """
    changes: dict[str, object] = {"step": step_of(condition)} if condition.is_on_value else {}
    for name in ("all", "any"):
        if (parts := getattr(condition, name)) is not None:
            changes[name] = tuple(with_steps(part, step_of) for part in parts)
    if condition.not_ is not None:
        changes["not_"] = with_steps(condition.not_, step_of)
    return condition.model_copy(update=changes)


def describe_condition(condition: Condition) -> str:
    """Say a condition in plain words, in one line: "S1 /kind is bug"."""
    return one_line(_in_words(condition), _MOST_SHOWN)


def _in_words(condition: Condition, *, within: bool = False) -> str:
    subject = " ".join(part for part in (condition.step or "", condition.at) if part) or "it"
    parts = [
        f"{subject} {_operator_in_words(condition, name)}"
        for name in _OPERATORS
        if condition.gives(name)
    ]
    if condition.all is not None:
        parts += [_in_words(each, within=True) for each in condition.all]
    if condition.any is not None:
        any_of = " or ".join(_in_words(each, within=True) for each in condition.any)
        is_alone = len(condition.any) == 1 or (not parts and condition.not_ is None and not within)
        parts.append(any_of if is_alone else f"({any_of})")
    if condition.not_ is not None:
        parts.append(f"not ({_in_words(condition.not_)})")
    words = " and ".join(parts)
    return f"({words})" if within and len(parts) > 1 else words


def _operator_in_words(condition: Condition, operator: str) -> str:
    match operator:
        case "is_":
            return f"is {_value(condition.is_)}"
        case "is_not":
            return f"isn't {_value(condition.is_not)}"
        case "in_":
            return f"is one of {', '.join(map(_value, condition.in_ or ()))}"
        case "over":
            return f"is over {_value(condition.over)}"
        case "under":
            return f"is under {_value(condition.under)}"
        case "exists":
            return "exists" if condition.exists else "doesn't exist"
        case "empty":
            return "is empty" if condition.empty else "isn't empty"
        case _:
            return f"matches {one_line(condition.matches or '', _VALUE_SHOWN)}"


def _value(value: object) -> str:
    """Write a value: a plain word as it is, so that a text isn't taken for anything else."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    is_word = isinstance(value, str) and value.replace("_", "").replace("-", "").isalpha()
    if is_word and value not in ("true", "false", "null"):
        return one_line(cast("str", value), _VALUE_SHOWN)
    return one_line(json.dumps(value, ensure_ascii=False, default=repr), _VALUE_SHOWN)
