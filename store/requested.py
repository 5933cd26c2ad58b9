"""The fields that a server asks its user for, and what is filled in. Pure.

A schema is a flat object, as the Model Context Protocol has it: texts, numbers, booleans, choices.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import Any, Literal, cast

from ..data_types import Frozen
from ..text import one_line, plain_words, whole_characters

__all__ = [
    "Content",
    "ContentError",
    "FieldValue",
    "RequestedField",
    "SchemaProblemError",
    "fields_in",
    "filled_in",
    "needs_content",
    "value_in",
]

FieldValue = str | bool | int | float | tuple[str, ...]
Content = dict[str, FieldValue]
"""Values by the names of fields."""
_Kind = Literal["string", "number", "integer", "boolean", "choice", "choices"]

_MOST_FIELDS, _MOST_CHOICES, _NAME_CHARS = 50, 500, 200
_TITLE_CHARS, _DESCRIPTION_CHARS = 120, 600
_NOUNS: Mapping[_Kind, str] = {
    "string": "text",
    "number": "number",
    "integer": "whole number",
    "boolean": "yes or no",
    "choice": "one of",
    "choices": "some of",
}
_YES, _NO = frozenset({"y", "yes", "true"}), frozenset({"n", "no", "false"})
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+")


class SchemaProblemError(ValueError):
    """A schema that no form can be made of; says why, without a full stop."""


class ContentError(ValueError):
    """What is filled in doesn't fit; says which field, and why, as a sentence."""


class RequestedField(Frozen):
    """A field of a form that a server asks its user to fill in.

    Attributes:
        name: The server's name for it.
        choices: The values that it takes, where it takes no others.
        labels: What people are shown in their place, as many.
        default: The value of one that is left empty; None without.
        format: `email`, `uri`, `date`, `date-time`, or "".
        least: The smallest number, or the fewest characters or choices.
        most: The largest number, or the most characters or choices.
    """

    name: str
    kind: _Kind
    title: str = ""
    description: str = ""
    required: bool = False
    choices: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    default: FieldValue | None = None
    format: str = ""
    least: float | None = None
    most: float | None = None

    @property
    def shown(self) -> tuple[str, ...]:
        """What people choose from: the labels, with numbers where two are alike."""
        if len(set(self.labels)) == len(self.choices):
            return self.labels
        return tuple(f"{number}. {label}" for number, label in enumerate(self.labels, 1))

    @property
    def label(self) -> str:
        """What a person reads before the field, in a line."""
        return self.title or one_line(self.name, _TITLE_CHARS)

    @property
    def takes(self) -> str:
        """What it takes, in words: `a whole number, 1 to 9`."""
        noun = _NOUNS[self.kind]
        if self.choices:
            return f"{noun} {', '.join(self.shown)}"
        parts = [self.format or noun, self._range()]
        return ", ".join(filter(None, parts))

    def _range(self) -> str:
        unit = " characters" if self.kind == "string" else ""
        match self.least, self.most:
            case None, None:
                return ""
            case least, None:
                return f"{least:g}{unit} at least"
            case None, most:
                return f"{most:g}{unit} at most"
            case least, most:
                return f"{least:g} to {most:g}{unit}"

    @property
    def prompt(self) -> str:
        """What stands before an empty place for the value, in a line."""
        if self.default is not None:
            empty = f", else {_text_of(self.default)}"
        else:
            empty = "" if self.required else ", or nothing"
        about = f" {self.description}" if self.description else ""
        return f"{self.label}{about} ({self.takes}{empty})"

    @property
    def line(self) -> str:
        """The field as a line of Markdown."""
        title = f" {plain_words(self.title)}" if self.title and self.title != self.name else ""
        about = f": {plain_words(self.description)}" if self.description else ""
        needed = ", required" if self.required and self.default is None else ""
        default = "" if self.default is None else f", else {plain_words(_text_of(self.default))}"
        takes = plain_words(one_line(self.takes, _DESCRIPTION_CHARS))
        return f"- {plain_words(self.name)}{title} ({takes}{needed}{default}){about}"


def needs_content(fields: Sequence[RequestedField]) -> bool:
    """Say whether something has to be filled in."""
    return any(field.required and field.default is None for field in fields)


def fields_in(schema: object) -> tuple[RequestedField, ...]:
    """Return the fields of a schema, in its order.

    Raises:
        SchemaProblemError: No form can be made of it.
    """
    held = _object(schema, "its schema")
    if held.get("type", "object") != "object":
        raise SchemaProblemError(f"its schema describes {one_line(str(held['type']), 40)!r}")
    properties = _object(held.get("properties", {}), "its properties")
    if len(properties) > _MOST_FIELDS:
        raise SchemaProblemError(f"it has {len(properties):,} fields, more than {_MOST_FIELDS}")
    required: Any = held.get("required")
    listed = cast("list[Any]", required) if isinstance(required, list) else []
    names = [name for name in listed if isinstance(name, str)]
    if missing := [name for name in names if name not in properties]:
        raise SchemaProblemError(f"it requires a field {_shown(missing[0])} that it doesn't have")
    return tuple(_field(name, of, required=name in names) for name, of in properties.items())


def _field(name: str, schema: object, *, required: bool) -> RequestedField:
    where = f"its field {_shown(name)}"
    if not _is_short(name) or not name:
        raise SchemaProblemError(f"{where} has a name that is no short text")
    held = _without_null(_object(schema, where))
    kind, choices, labels = _kind(held, where)
    least, most = _BOUNDS.get(kind, ("", ""))
    found = RequestedField(
        name=name,
        kind=kind,
        title=_line(held.get("title"), _TITLE_CHARS),
        description=_line(held.get("description"), _DESCRIPTION_CHARS),
        required=required,
        choices=choices,
        labels=labels,
        format=held["format"] if held.get("format") in _FORMATS and kind == "string" else "",
        least=_number(held.get(least)),
        most=_number(held.get(most)),
    )
    return found.model_copy(update={"default": _default(found, held.get("default"))})


_BOUNDS: Mapping[str, tuple[str, str]] = {
    "string": ("minLength", "maxLength"),
    "number": ("minimum", "maximum"),
    "integer": ("minimum", "maximum"),
    "choices": ("minItems", "maxItems"),
}
_FORMATS = ("email", "uri", "date", "date-time")


def _kind(held: Mapping[str, Any], where: str) -> tuple[_Kind, tuple[str, ...], tuple[str, ...]]:
    kind = held.get("type")
    if kind == "array":
        items = _object(held.get("items", {}), f"what {where} is a list of")
        if found := _choices(items, where):
            return ("choices", *found)
        raise SchemaProblemError(f"{where} is a list of other than choices")
    if kind in (None, "string") and (found := _choices(held, where)):
        return ("choice", *found)
    if kind in ("string", "number", "integer", "boolean"):
        return kind, (), ()
    raise SchemaProblemError(f"{where} is neither a text nor a number, a boolean or a choice")


def _choices(held: Mapping[str, Any], where: str) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    values: list[Any] = []
    names: list[Any] = []
    listed = held.get("oneOf", held.get("anyOf"))
    if isinstance(held.get("enum"), list):
        values = cast("list[Any]", held["enum"])
        named = held.get("enumNames")
        names = cast("list[Any]", named) if isinstance(named, list) else []
    elif isinstance(listed, list):
        arms = [_object(arm, f"a choice of {where}") for arm in cast("list[Any]", listed)]
        values = [arm.get("const") for arm in arms]
        names = [arm.get("title") for arm in arms]
    elif "const" in held:
        values = [held["const"]]
    else:
        return None
    if not values or len(values) > _MOST_CHOICES:
        raise SchemaProblemError(f"{where} has {len(values):,} choices")
    if not all(isinstance(each, str) and _is_short(each) for each in values):
        raise SchemaProblemError(f"{where} has choices that are no short texts")
    texts = tuple(dict.fromkeys(cast("list[str]", values)))
    if len(names) != len(texts):
        names = [*texts]
    shown = (_line(name, _TITLE_CHARS) or text for name, text in zip(names, texts, strict=True))
    return texts, tuple(shown)


def _without_null(held: dict[str, Any]) -> dict[str, Any]:
    """Return what stands beside null in a choice of two: such a field may stay empty anyway."""
    arms = held.get("anyOf", held.get("oneOf"))
    if not isinstance(arms, list) or "type" in held:
        return held
    others = [arm for arm in cast("list[Any]", arms) if arm != {"type": "null"}]
    if len(others) == 1 and isinstance(others[0], dict):
        rest = {key: value for key, value in held.items() if key not in ("anyOf", "oneOf")}
        return {**cast("dict[str, Any]", others[0]), **rest}
    return held


def _is_short(text: str) -> bool:
    """Say whether a text can be sent back as it is: half a character can't."""
    return len(text) <= _NAME_CHARS and whole_characters(text) == text


def _object(value: object, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise SchemaProblemError(f"{what} is not an object")
    return cast("dict[str, Any]", value)


def _shown(name: object) -> str:
    return repr(one_line(str(name), 60))


def _line(value: object, most: int) -> str:
    return one_line(value, most) if isinstance(value, str) else ""


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1e15:
        return None
    return float(value)


def _default(field: RequestedField, value: object) -> FieldValue | None:
    if value is None:
        return None
    try:
        return _checked(field, value)
    except ContentError:
        return None


def filled_in(fields: Sequence[RequestedField], content: Mapping[str, object] | None) -> Content:
    """Return the values of a form: what is filled in, and the defaults of what isn't.

    Raises:
        ContentError: A value is missing or wrong, or there is no such field.
    """
    values = dict(content or {})
    by_name = {field.name: field for field in fields}
    if unknown := [name for name in values if name not in by_name]:
        has = ", ".join(by_name) or "none"
        raise ContentError(f"There is no field {_shown(unknown[0])}; the fields are: {has}.")
    found: Content = {}
    for field in fields:
        if values.get(field.name) is not None:
            found[field.name] = _checked(field, values[field.name])
        elif field.default is not None:
            found[field.name] = field.default
        elif field.required:
            raise ContentError(f"{field.name} is required: {field.takes}.")
    return found


def value_in(field: RequestedField, given: object) -> FieldValue | None:
    """Return the value that is given in a form, or typed as a text; None if it is empty.

    A choice may be named by what is shown in its place.

    Raises:
        ContentError: It stands for none that the field takes.
    """
    if isinstance(given, list) and field.kind == "choices":
        parts = cast("list[Any]", given)
        return _checked(field, [_choice_in(field, str(part)) for part in parts]) if parts else None
    if not isinstance(given, str):
        return None if given is None else _checked(field, cast("object", given))
    typed = given.strip()
    if not typed:
        return None
    if field.kind == "boolean" and typed.casefold() in _YES | _NO:
        return typed.casefold() in _YES
    if field.kind == "choice":
        return _checked(field, _choice_in(field, typed))
    if field.kind == "choices":
        parts = filter(None, (part.strip() for part in typed.split(",")))
        return _checked(field, [_choice_in(field, part) for part in parts])
    if field.kind in ("number", "integer"):
        try:
            return _checked(field, json.loads(typed))
        except (ValueError, RecursionError):
            pass
    return _checked(field, given.strip("\r\n") if field.kind == "string" else typed)


def _choice_in(field: RequestedField, typed: str) -> str:
    """Return the choice that is meant: itself, or what is shown in its place."""
    if typed in field.choices:
        return typed
    if typed in field.shown:
        return field.choices[field.shown.index(typed)]
    folded = [each for each in field.choices if each.casefold() == typed.casefold()]
    return folded[0] if len(folded) == 1 else typed


def _checked(field: RequestedField, value: object) -> FieldValue:
    problem = next(_problems(field, value), "")
    if problem:
        raise ContentError(f"{field.name} {problem}.")
    if isinstance(value, list | tuple):
        return tuple(cast("Sequence[str]", value))
    if field.kind == "integer" and isinstance(value, float):
        return int(value)
    return cast("FieldValue", value)


def _problems(field: RequestedField, value: object) -> Iterator[str]:
    if not _is_of(field.kind, value):
        yield f"has to be {field.takes}"
        return
    size = float(value) if isinstance(value, int | float) else 0.0
    if isinstance(value, str):
        size = float(len(value))
        if field.format and not _has_format(field.format, value):
            yield f"has to be of the form {field.format}"
    if isinstance(value, list | tuple):
        size = float(len(cast("Sequence[Any]", value)))
        if len(set(cast("Sequence[str]", value))) != size:
            yield "has a choice twice"
    chosen = cast("Sequence[str]", value if isinstance(value, list | tuple) else [value])
    if field.choices and any(each not in field.choices for each in chosen):
        yield f"has to be {field.takes}"
    if field.least is not None and size < field.least:
        yield f"has to be {field.takes}"
    if field.most is not None and size > field.most:
        yield f"has to be {field.takes}"


def _is_of(kind: _Kind, value: object) -> bool:
    match kind:
        case "string" | "choice":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "choices":
            is_list = isinstance(value, list | tuple)
            return is_list and all(isinstance(each, str) for each in cast("list[Any]", value))
        case "number" | "integer":
            if isinstance(value, bool) or not isinstance(value, int | float):
                return False
            return abs(value) <= 1e15 and (kind == "number" or value == int(value))


def _has_format(form: str, text: str) -> bool:
    try:
        match form:
            case "email":
                return _EMAIL.fullmatch(text) is not None
            case "uri":
                return _URI.fullmatch(text) is not None
            case "date":
                return bool(date.fromisoformat(text))
            case _:
                return bool(datetime.fromisoformat(text))
    except ValueError:
        return False


def _text_of(value: FieldValue) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case tuple():
            return ", ".join(value)
        case _:
            return str(value)
