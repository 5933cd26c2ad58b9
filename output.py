"""What a step of a plan has to produce, and what it produced."""

from __future__ import annotations

import json
import math
from typing import Annotated, Any, Literal, Self, cast

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    field_validator,
    model_validator,
)
from pydantic_core import to_json

from .expression import expression_problem
from .frozen import Frozen
from .schema_check import schema_problem

__all__ = [
    "Example",
    "Form",
    "Output",
    "OutputKind",
    "PlanPart",
    "StepOutput",
    "Text",
    "Texts",
    "as_tuple",
]

OutputKind = Literal["text", "json", "python", "shell", "files"]
Form = Literal["one_line", "number", "yes_no", "list", "table"]
"""What a whole text may have to be; the `form` gate says how each is read."""

# Nothing deeper or larger is handed out of the sandbox, so nothing such could ever be equal.
_DEEPEST = 40
_LARGEST = 100_000

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


def as_tuple(value: object) -> object:
    """Make a list a tuple: strict models refuse a list there, and JSON has only lists."""
    return tuple(cast("list[object]", value)) if isinstance(value, list) else value


Texts = Annotated[tuple[Text, ...], BeforeValidator(as_tuple)]


def _as_schema(value: object) -> object:
    """Have a pydantic model say of itself what is to be validated; a plan is data, it runs none."""
    if isinstance(value, type) and issubclass(value, BaseModel):
        return value.model_json_schema()
    return cast("object", value)


class PlanPart(Frozen):
    """The base of all parts of a plan: no value is converted to another type."""

    model_config = ConfigDict(strict=True)


class Example(PlanPart):
    """What a call of the step's code has to give: `Example(call="add(1, 2)", gives=3)`."""

    call: Text = Field(description="A Python expression over the names that the code defines.")
    gives: Any = Field(description="Its value as JSON; a tuple equals a list here.")

    @field_validator("call")
    @classmethod
    def _call_can_be_evaluated(cls, call: str) -> str:
        if problem := expression_problem(call):
            raise ValueError(problem)
        return call

    @field_validator("gives")
    @classmethod
    def _gives_can_be_given(cls, gives: Any) -> Any:
        plain = _as_json(gives)
        try:
            to_json(plain)
        except ValueError:
            raise ValueError("its value is not valid JSON: a text in it isn't Unicode") from None
        if len(json.dumps(plain)) > _LARGEST:
            raise ValueError(f"its value is over {_LARGEST} characters, too large to be compared")
        return plain


class Output(PlanPart):
    """What a step has to produce.

    `schema` (JSON Schema 2020-12) is for kind `json` alone, `examples` for `python`, and the other
    bounds for `text`.
    """

    model_config = ConfigDict(validate_by_name=True, serialize_by_alias=True)

    kind: OutputKind = Field(default="text", description="What kind of text it is.")
    json_schema: Annotated[dict[str, Any] | None, BeforeValidator(_as_schema)] = Field(
        default=None, alias="schema", description="JSON Schema (2020-12) that it has to fit."
    )
    examples: Annotated[tuple[Example, ...], BeforeValidator(as_tuple)] = Field(
        default=(), description="Calls of its code, and what each has to give."
    )
    min_words: int | None = Field(default=None, ge=0, description="The fewest words of a text.")
    max_words: int | None = Field(default=None, ge=1, description="The most words of a text.")
    sections: Texts = Field(default=(), description="Headings it has to have, in this order.")
    form: Form | None = Field(default=None, description="What the whole answer has to be.")
    citations: bool = Field(
        default=False, description="Whether it has to cite what it read, as [S1] or [input name]."
    )

    @model_validator(mode="after")
    def _fields_fit_the_kind(self) -> Self:
        if self.examples and self.kind != "python":
            raise ValueError(f"examples are for output kind python, not {self.kind}")
        if self.kind == "text":
            if (self.min_words or 0) > (self.max_words or math.inf):
                raise ValueError(f"min_words {self.min_words} is over max_words {self.max_words}")
            return self
        for name in ("min_words", "max_words", "sections", "form", "citations"):
            if getattr(self, name) not in (None, (), False):
                raise ValueError(f"{name} is for output kind text, not {self.kind}")
        return self

    @model_validator(mode="after")
    def _schema_is_valid(self) -> Self:
        if self.json_schema is None:
            return self
        if self.kind != "json":
            raise ValueError(f"a schema is for output kind json, not {self.kind}")
        if problem := schema_problem(self.json_schema):
            raise ValueError(problem)
        return self


class StepOutput(Frozen):
    """A text that later steps and their gates read: what a step produced, or an input of the plan.

    Attributes:
        name: The step's id, or the input's name.
        agent: The agent that produced it; "" for an input of the plan.
    """

    name: str
    agent: str = ""
    kind: OutputKind = "text"
    text: str


def _as_json(value: Any, depth: int = 0) -> Any:
    """Return a value as JSON has it, tuples as lists."""
    if depth > _DEEPEST:
        raise ValueError("its value is nested too deeply to be compared")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"its value is not valid JSON: {value}")
    if value is None or isinstance(value, bool | str | int | float):
        return value
    if isinstance(value, list | tuple):
        return [_as_json(part, depth + 1) for part in cast("list[Any]", value)]
    if isinstance(value, dict):
        held = cast("dict[Any, Any]", value)
        if wrong := [key for key in held if not isinstance(key, str)]:
            raise ValueError(f"its value is not valid JSON: {wrong[0]!r} is a key")
        return {key: _as_json(part, depth + 1) for key, part in held.items()}
    raise ValueError(f"its value is not valid JSON: {type(cast('object', value)).__name__}")
