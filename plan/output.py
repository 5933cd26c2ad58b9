"""The output of a step: what it has to produce, and what it produced."""

from __future__ import annotations

import ast
import json
import math
import warnings
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal, Self, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    field_validator,
    model_validator,
)
from pydantic_core import to_json

from ..data_types import Frozen
from ..untrusted.json_text import is_nested_over
from ..workspace.names import pattern_problem

__all__ = [
    "NOT_READ",
    "SUFFIXES",
    "WORKSPACE",
    "Example",
    "Form",
    "Output",
    "OutputKind",
    "PlanPart",
    "StepOutput",
    "Text",
    "Texts",
    "as_tuple",
    "expression_problem",
    "schema_problem",
    "why_not_read",
]


NOT_READ = (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError)
"""What Python raises for a text that it can't read as Python."""


_TOO_DEEP = "it is nested too deeply to be read"
_LONGEST = 20_000
_DEEPEST = 500
"""Levels of a tree: a sum of so many terms has so many."""


def why_not_read(error: BaseException) -> str:
    """Say in words why a text can't be read, by one of `NOT_READ`."""
    if isinstance(error, SyntaxError):
        return error.msg
    if isinstance(error, ValueError):
        return f"it can't be read as Python: {error}"
    return _TOO_DEEP


def _is_deep(tree: ast.AST) -> bool:
    """Whether a tree is so deep that compiling it takes more time than its length says."""
    level = [tree]
    for _ in range(_DEEPEST):
        level = [inner for outer in level for inner in ast.iter_child_nodes(outer)]
    return bool(level)


def expression_problem(text: str) -> str:
    """Say why a text is not a Python expression that tests something; "" if it is."""
    if len(text) > _LONGEST:
        return f"it is not a Python expression: it has over {_LONGEST:,} characters"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text.strip(), mode="eval")
            if _is_deep(tree):
                return f"it is not a Python expression: {_TOO_DEEP}"
            # Some mistakes, such as an `await` outside a function, are found only now.
            compile(text.strip(), "example", "eval", dont_inherit=True)
    except NOT_READ as error:
        return f"it is not a Python expression: {why_not_read(error)}"
    if not any(isinstance(node, ast.Name) for node in ast.walk(tree)):
        return "it uses no name, so it says nothing of the code"
    return ""


_DEEPEST_SCHEMA = 63
"""Levels of lists and objects; far fewer than exhaust the stack of any Python we run on."""
_REFERENCES = ("$ref", "$dynamicRef")
_VALUES = ("const", "default", "enum", "examples")
_LONG = 1_000
_SCHEMA_TOO_DEEP = "the output's JSON Schema is nested too deeply"


def schema_problem(schema: dict[str, Any]) -> str:
    """Say why a schema can't be applied as JSON Schema 2020-12; "" if it can."""
    # Here and not above: few plans have a schema, and importing this takes 60 ms.
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    if is_nested_over(_DEEPEST_SCHEMA, schema):
        return _SCHEMA_TOO_DEEP
    if problem := next(_bad_names(schema), ""):
        return problem
    try:
        if problem := _not_json(schema):
            return problem
        Draft202012Validator.check_schema(schema)  # pyright: ignore[reportUnknownMemberType]
        return next(_bad_references(schema), "")
    except (RecursionError, ValueError):
        return _SCHEMA_TOO_DEEP
    except OverflowError as error:
        return f"the output's JSON Schema has a pattern that can't be used: {error}"
    except SchemaError as error:
        where = "/".join(map(str, error.absolute_path)) or "its top level"
        return f"the output's JSON Schema is wrong at {where}: {error.message}"


def _not_json(schema: dict[str, Any]) -> str:
    """Say what of a schema JSON can't hold: code may give anything."""
    try:
        to_json(schema)
        json.dumps(schema, allow_nan=False)
    except (ValueError, TypeError) as error:
        return f"the output's JSON Schema has what JSON can't hold: {error}"
    return ""


def _bad_names(schema: dict[str, Any]) -> Iterator[str]:
    """Find long lists of names with others among them: to tell those apart takes for ever."""
    pending: list[Any] = [schema]
    while pending:
        held = pending.pop()
        if isinstance(held, dict):
            fields = cast("dict[str, Any]", held)
            pending += [value for key, value in fields.items() if key not in _VALUES]
        elif isinstance(held, list):
            items = cast("list[Any]", held)
            pending += items
            texts = sum(isinstance(each, str) for each in items)
            if len(items) > _LONG and 0 < texts < len(items):
                yield "the output's JSON Schema has a long list of names with others among them"


def _bad_references(schema: dict[str, Any]) -> Iterator[str]:
    from jsonschema_specifications import REGISTRY
    from referencing import Registry, Resource
    from referencing.jsonschema import DRAFT202012

    sound: set[int] = set()
    root = Resource[Any].from_contents(schema, default_specification=DRAFT202012)
    registry = cast("Registry[Any]", REGISTRY)
    pending = [(root, registry.resolver_with_root(root))]
    while pending:
        resource, resolver = pending.pop()
        if problem := _leads_nowhere(resource.contents, resolver, sound):
            yield f"the output's JSON Schema {problem}"
        pending += [(inner, resolver.in_subresource(inner)) for inner in resource.subresources()]


def _leads_nowhere(contents: Any, resolver: Any, sound: set[int]) -> str:
    """Follow a reference, and those behind it; say where it ends if that is nowhere.

    Args:
        contents: What may be a reference.
        resolver: Finds what it leads to.
        sound: The ids of those that lead somewhere, which aren't followed again.
    """
    from referencing.exceptions import Unresolvable

    passed: set[int] = set()
    while (reference := _reference(contents)) and id(contents) not in sound:
        if id(contents) in passed:
            return f"has a reference that leads back to itself: {reference!r}"
        passed.add(id(contents))
        try:
            found = resolver.lookup(reference)
        except Unresolvable:
            return f"has a reference to what isn't in it: {reference!r}"
        contents, resolver = found.contents, found.resolver
    sound |= passed
    return ""


def _reference(contents: Any) -> str:
    if not isinstance(contents, dict):
        return ""
    held = cast("dict[str, Any]", contents)
    return next((held[name] for name in _REFERENCES if isinstance(held.get(name), str)), "")


OutputKind = Literal["text", "json", "python", "shell", "files", "patch"]
SUFFIXES: Mapping[OutputKind, str] = MappingProxyType(
    {
        "text": ".md",
        "json": ".json",
        "python": ".py",
        "shell": ".sh",
        "files": ".md",
        "patch": ".patch",
    }
)
"""How the name of a file ends that has an output of a kind."""
WORKSPACE = "workspace"
"""The toolset by which a step reads and changes the workspace; whoever makes a patch has it."""
Form = Literal["one_line", "number", "yes_no", "list", "table"]
"""What a whole text may have to be; the `form` gate says how each is read."""

# Nothing deeper or larger is handed out of the sandbox, so nothing such could ever be equal.
_DEEPEST_VALUE = 40
_LARGEST = 100_000

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


def as_tuple(value: object) -> object:
    """Make a list a tuple: strict models refuse a list there, and JSON has only lists."""
    return tuple(cast("list[object]", value)) if isinstance(value, list) else value


Texts = Annotated[tuple[Text, ...], BeforeValidator(as_tuple)]


def _path_pattern(pattern: str) -> str:
    if problem := pattern_problem(pattern):
        raise ValueError(problem)
    return pattern


Paths = Annotated[
    tuple[Annotated[Text, AfterValidator(_path_pattern)], ...], BeforeValidator(as_tuple)
]
"""Patterns of paths below the workspace."""


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
    only: Paths = Field(
        default=(),
        description="Files that a patch may change, such as src/**; all where empty.",
        exclude_if=lambda paths: not paths,
    )
    may_change: Paths = Field(
        default=(),
        description="Tests and configuration of checks that a patch may change, such as tests/**.",
        exclude_if=lambda paths: not paths,
    )

    @model_validator(mode="after")
    def _fields_fit_the_kind(self) -> Self:
        if self.examples and self.kind != "python":
            raise ValueError(f"examples are for output kind python, not {self.kind}")
        if (self.only or self.may_change) and self.kind != "patch":
            raise ValueError(f"only and may_change are for output kind patch, not {self.kind}")
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
        label: The item that it is about, in a few words; "" where it is about none.
    """

    name: str
    agent: str = ""
    kind: OutputKind = "text"
    text: str
    label: str = Field(default="", exclude_if=lambda label: not label)


def _as_json(value: Any, depth: int = 0) -> Any:
    """Return a value as JSON has it, tuples as lists."""
    if depth > _DEEPEST_VALUE:
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
