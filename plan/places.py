"""Where a plan points: into outputs and items, before there are any. Pure.

What the schemas of a plan say is enough to find most pointers and `{item.…}` that lead to nothing.
What a schema leaves open is no problem here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from ..untrusted.json_text import json_type
from .conditions import Condition, are_equal
from .items import is_pattern
from .pointers import (
    NoPlaceError,
    SchemaPlace,
    element_at,
    pointer_of,
    pointer_problem,
    schema_at,
)
from .program import ForEach, Repeat
from .step import Step, final_step, source_of
from .templates import fields_in, fields_problem

__all__ = ["ItemPlace", "Made", "has_items", "item_place", "lists_in", "made_by", "places_problem"]


class ItemPlace(NamedTuple):
    """What is known of the items of a step: a schema, or None where it is left open."""

    place: SchemaPlace | None = None


@dataclass(frozen=True, slots=True)
class Made:
    """What is known of an output before the run.

    Attributes:
        is_json: Whether it is JSON; a text if it isn't.
        place: What its schema says; None where that is left open.
    """

    is_json: bool
    place: SchemaPlace | None = None


_TEXT_PLACE = SchemaPlace({"type": "string"}, {})
_TEXT = Made(is_json=False, place=_TEXT_PLACE)
_MOST_LISTS = 5


def made_by(step: Step) -> Made:
    """Return what is known of a step's output; of one that is for each, of all instances' outputs.

    Args:
        step: A step whose plan inside, if it has one, is valid.
    """
    once = _once(step)
    if step.for_each is None:
        return once
    return Made(is_json=True, place=_list_of(once.place)) if once.is_json else _TEXT


def _once(step: Step) -> Made:
    """Return what is known of the output of one instance, or of the step that is done once."""
    found = _of_round(step)
    if step.repeat is None or step.repeat.until != "no_new_items":
        return found
    try:
        element = element_at(found.place, step.repeat.at) if found.place else None
    except ValueError:
        element = None
    return Made(is_json=True, place=_list_of(element))


def _of_round(step: Step) -> Made:
    """Return what is known of what is made by the step's plan, its joining or its agent."""
    if step.plan is not None:
        last = step.plan.final_step or final_step(step.plan.steps)
        found = next((inner for inner in step.plan.steps if inner.id == last), None)
        return made_by(found) if found is not None else Made(is_json=True)
    if step.procedure:
        return Made(is_json=True)  # What its steps make is known once they are there.
    if step.collect in ("table", "files") or (step.output.kind != "json" and not step.collect):
        return _TEXT
    schema = step.output.json_schema
    if schema:
        return Made(is_json=True, place=SchemaPlace(schema, schema))
    return Made(is_json=True, place=_list_of(None) if step.collect == "list" else None)


def _list_of(element: SchemaPlace | None) -> SchemaPlace:
    if element is None:
        return SchemaPlace({"type": "array"}, {})
    return SchemaPlace({"type": "array", "items": element.schema}, element.document)


def has_items(steps: Iterable[Step]) -> bool:
    """Say whether any step is for each, or any step of a plan inside one."""
    return any(step.for_each or (step.plan and has_items(step.plan.steps)) for step in steps)


def item_place(step: Step, earlier: Mapping[str, Step]) -> ItemPlace | None:
    """Return what is known of a step's items; None if it isn't for each.

    Args:
        step: The step.
        earlier: The steps before it, by their ids.

    Raises:
        NoPlaceError: There is no list where it has its items from.
        ValueError: `at` is no pointer.
    """
    for_each = step.for_each
    if for_each is None:
        return None
    if not isinstance(for_each.items, str):
        return ItemPlace(_place_of(for_each.items))
    if (source := earlier.get(source_of(step) or "")) is None:
        return ItemPlace(_TEXT_PLACE if is_pattern(for_each.items) else None)
    if source.for_each is not None and for_each.at is None:
        return item_place(source, earlier)
    found = _once(source)
    return ItemPlace(element_at(found.place, for_each.at or "") if found.place else None)


def _place_of(values: Sequence[Any]) -> SchemaPlace | None:
    schema = _schema_of(values)
    return SchemaPlace(schema, schema) if schema else None


def _schema_of(values: Sequence[Any]) -> dict[str, Any]:
    """Return a schema that all values fit, and that has no field that none of them has."""
    kinds = {json_type(value) for value in values}
    if not kinds or "" in kinds:
        return {}
    schema: dict[str, Any] = {"type": sorted(kinds)}
    if "object" in kinds:
        fields: dict[str, list[Any]] = {}
        for value in values:
            held = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
            for name, field in held.items():
                fields.setdefault(name, []).append(field)
        schema["properties"] = {name: _schema_of(found) for name, found in fields.items()}
    if "array" in kinds:
        lists = [
            cast("Sequence[Any]", value) for value in values if isinstance(value, list | tuple)
        ]
        schema["items"] = _schema_of([element for each in lists for element in each])
        schema["maxItems"] = max(map(len, lists))
    return schema


def places_problem(
    step: Step, earlier: Mapping[str, Step], outer: ItemPlace | None, *, has_items: bool
) -> str:
    """Say where a step points to nothing, for behind its id; "" if it may all be there.

    Args:
        step: A step whose plan inside, if it has one, is valid.
        earlier: The steps before it, by their ids; those that it names are among them.
        outer: The items of a step around it, if that is for each.
        has_items: Whether any step of the whole plan is for each: only then are items meant by
            the braces of a step that has none.
    """
    item = outer
    if step.for_each is not None:
        if problem := _list_problem(step, step.for_each, earlier):
            return problem
        item = item_place(step, earlier)
        followed = _followed(step, step.for_each, earlier)
        if followed is not None and step.for_each.key:
            return f"follows {followed.id} item by item, so it can't have key"
        looked_at = _once(followed) if followed else Made(True, item.place if item else None)
        if problem := _selection_problem(step.for_each, looked_at):
            return problem
    if problem := _prompt_problem(step, item, has_items=has_items):
        return problem
    if step.when is not None:
        problem = _condition_problem(step.when, "when", lambda name: made_by(earlier[name or ""]))
        if problem:
            return problem
    return _repeat_problem(step, step.repeat) if step.repeat is not None else ""


def _followed(step: Step, for_each: ForEach, earlier: Mapping[str, Step]) -> Step | None:
    """Return the step that a step follows item by item; None if it follows none."""
    source = earlier.get(source_of(step) or "")
    return source if source and source.for_each and for_each.at is None else None


def _list_problem(step: Step, for_each: ForEach, earlier: Mapping[str, Step]) -> str:
    """Say what is wrong with the place that the items come from."""
    if for_each.at and (problem := pointer_problem(for_each.at)):
        return f"has for_each with at {for_each.at!r}, and {problem}"
    source = earlier.get(source_of(step) or "")
    if source is None or _followed(step, for_each, earlier):
        return ""
    found = _once(source)
    if not found.is_json:
        kind = f"collect {source.collect}" if source.collect else f"output kind {_kind(source)}"
        return f"has its items from {source.id}, which has {kind}: it has to be json"
    try:
        item_place(step, earlier)
    except NoPlaceError as error:
        where = f" at {for_each.at}" if for_each.at else ""
        lists = ", ".join(lists_in(found.place)) if found.place else ""
        has = f"; `at` may be {lists}" if lists else ""
        return f"has its items from {source.id}{where}, and in its output {error}{has}"
    return ""


def _kind(step: Step) -> str:
    if step.plan is None:
        return step.output.kind
    last = step.plan.final_step or final_step(step.plan.steps)
    return next((_kind(inner) for inner in step.plan.steps if inner.id == last), "text")


def lists_in(place: SchemaPlace) -> list[str]:
    """Return pointers to the lists that a schema names, at most five, the outermost first."""
    found: list[str] = []
    level = [("", place)]
    for _ in range(3):
        inner: list[tuple[str, SchemaPlace]] = []
        for pointer, each in level:
            if each.schema.get("type") == "array":
                found.append(pointer or '""')
            properties: Any = each.schema.get("properties")
            for name in cast("dict[str, Any]", properties if isinstance(properties, dict) else {}):
                below = pointer_of([name])
                if (part := schema_at(each, below)) is not None:
                    inner.append((pointer + below, part))
        level = inner
    return found[:_MOST_LISTS]


def _selection_problem(for_each: ForEach, looked_at: Made) -> str:
    """Say what is wrong with how items are chosen and told apart."""
    if problem := _pointer_problem(for_each.key, looked_at.place):
        return f"tells items apart by key {for_each.key}, and {problem}"
    if for_each.where is None:
        return ""
    return _condition_problem(for_each.where, "where", lambda _: looked_at)


def _pointer_problem(pointer: str, place: SchemaPlace | None) -> str:
    if problem := pointer_problem(pointer):
        return problem
    try:
        if place is not None:
            schema_at(place, pointer)
    except NoPlaceError as error:
        return f"in an item {error}"
    return ""


def _prompt_problem(step: Step, item: ItemPlace | None, *, has_items: bool) -> str:
    if item is not None:
        problem = fields_problem(step.prompt, item.place)
        return f"has no such value: {problem}" if problem else ""
    if has_items and (named := fields_in(step.prompt)):
        place = f"{{item.{named[0]}}}" if named[0] else "{item}"
        return (
            f"names {place} in its prompt, and is done once: give it for_each, or leave {place} "
            "out; the outputs that it reads stand before its prompt"
        )
    return ""


def _repeat_problem(step: Step, repeat: Repeat) -> str:
    made = _of_round(step)
    if isinstance(repeat.until, Condition):
        return _condition_problem(repeat.until, "until", lambda _: made)
    if not made.is_json:
        return "is repeated until there are no_new_items, so its output has to be json with a list"
    if repeat.at and (problem := pointer_problem(repeat.at)):
        return f"has repeat with at {repeat.at!r}, and {problem}"
    try:
        element = element_at(made.place, repeat.at) if made.place else None
    except NoPlaceError as error:
        return f"is repeated until there are no_new_items, and in its output {error}"
    problem = _pointer_problem(repeat.key, element)
    return f"tells items apart by key {repeat.key}, and {problem}" if problem else ""


def _condition_problem(
    condition: Condition, field: str, made_of: Callable[[str | None], Made]
) -> str:
    """Say which part of a condition looks at nothing, or can't hold."""
    for each in _parts(condition):
        made = made_of(each.step)
        of = f" of {each.step}" if each.step else ""
        if each.at and not made.is_json:
            return f"has a condition `{field}` on {each.at}{of}, whose output is a text"
        try:
            place = schema_at(made.place, each.at) if made.place else None
        except NoPlaceError as error:
            return f"has a condition `{field}` on {each.at}{of}, and {error}"
        if place is not None and (problem := _never(each, place)):
            subject = f"{each.at}{of}".strip() or "it"
            return f"has a condition `{field}` that never holds: {subject} {problem}"
    return ""


def _parts(condition: Condition) -> Iterator[Condition]:
    """Yield the conditions on values in a condition, itself among them."""
    if condition.is_on_value:
        yield condition
    for within in (*(condition.all or ()), *(condition.any or ())):
        yield from _parts(within)
    if condition.not_ is not None:
        yield from _parts(condition.not_)


_MOST_VALUES = 10


def _never(condition: Condition, place: SchemaPlace) -> str:
    """Say why no value that fits a schema meets a condition; "" if one may."""
    wanted = [condition.is_] if condition.gives("is_") else []
    wanted += condition.in_ or ()
    if wanted and not any(_fits(value, place.schema) for value in wanted):
        return f"is {_due(place.schema)}, not {' or '.join(map(repr, wanted[:_MOST_VALUES]))}"
    kinds = _kinds(place.schema)
    is_number = condition.over is not None or condition.under is not None
    if is_number and kinds and not kinds & {"number", "integer"}:
        return f"is {_due(place.schema)}, not a number"
    if condition.matches is not None and kinds and "string" not in kinds:
        return f"is {_due(place.schema)}, not a text"
    return ""


def _fits(value: Any, schema: Mapping[str, Any]) -> bool:
    listed: Any = [schema["const"]] if "const" in schema else schema.get("enum")
    if isinstance(listed, list):
        return any(are_equal(value, each) for each in cast("list[Any]", listed))
    kinds = _kinds(schema)
    kind = json_type(value)
    if not kinds or kind in kinds:
        return True
    if kind == "integer":
        return "number" in kinds
    return kind == "number" and "integer" in kinds and float(value).is_integer()


def _due(schema: Mapping[str, Any]) -> str:
    listed: Any = [schema["const"]] if "const" in schema else schema.get("enum")
    if isinstance(listed, list):
        return " or ".join(map(repr, cast("list[Any]", listed)[:_MOST_VALUES]))
    return " or ".join(sorted(_kinds(schema)))


def _kinds(schema: Mapping[str, Any]) -> frozenset[str]:
    kinds: Any = schema.get("type")
    if isinstance(kinds, str):
        return frozenset({kinds})
    listed = cast("list[Any]", kinds) if isinstance(kinds, list) else []
    return frozenset(map(str, listed))
