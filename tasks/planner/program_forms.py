"""How models write plans that depend on what is found, read as it is meant. Pure.

Only what has one meaning is taken for it, and each such reading is noted. All else stays as it is,
for the plan's rules to refuse it with a message.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from pydantic import ValidationError

from ...errors import PlanError
from ...models.answers.shapes import normal_name
from ...plan.conditions import MAX_DEPTH
from ...plan.places import ItemPlace, Made, item_place, lists_in, made_by
from ...plan.pointers import (
    NoPlaceError,
    SchemaPlace,
    pointer_of,
    pointer_parts,
    pointer_problem,
    schema_at,
)
from ...plan.step import Step
from .condition_text import ConditionTextError, path_parts, read_condition
from .other_names import (
    BEST_NAMES,
    CONDITION_NAMES,
    ITEMS_NAMES,
    MARKS,
    REPEAT_NAMES,
    REVIEW_NAMES,
    TASK_NAMES,
)
from .planned import PlannedTask

__all__ = ["Known", "mend_words", "step_of"]

_Fields = dict[str, Any]

_AROUND = frozenset({"output", "result", "item", "data", "value"})
"""What a path may begin with though it isn't in what it leads into."""
_REFERENCE = re.compile(r"(S[1-9][0-9]{0,5})(?:[:#]?([./\[].*))?", re.IGNORECASE | re.DOTALL)
_POSITION = re.compile(r"(?:step |task |assignment )?#?([1-9][0-9]{0,5})", re.IGNORECASE)
_LONGEST = 500


@dataclass(slots=True)
class Known:
    """What stands around an assignment.

    Attributes:
        earlier: The assignments before it, by the ids of their steps, as far as they can be read.
        item: The items of an assignment around it, if that is for each.
    """

    earlier: dict[str, Step] = field(default_factory=dict[str, Step])
    item: ItemPlace | None = None


def step_of(task: _Fields, number: int) -> Step | None:
    """Return the step that an assignment stands for; None while it breaks a rule."""
    try:
        return Step.model_validate(PlannedTask.model_validate(task).data(number, []))
    except (ValidationError, PlanError):
        return None


def mend_words(
    task: _Fields, number: int, place: str, known: Known, mended: list[str]
) -> tuple[_Fields, ItemPlace | None]:
    """Return an assignment whose words are written as a plan has them, and what its items are.

    Args:
        task: The assignment; its output is as a plan has it.
        number: Its position, from 1.
        place: What to call it in notes.
        known: What stands around it.
        mended: Where notes go.
    """
    mender = _Mender(place, known, mended, own=f"S{number}")
    made = mender.renamed(task, TASK_NAMES, "")
    made = mender.repeat_of(made)
    if made.get("for_each") is not None:
        made = {**made, "for_each": mender.items(made["for_each"])}
    item = _item_of(made, number, known) or known.item
    if item is not None and isinstance(made.get("for_each"), dict):
        made = {**made, "for_each": mender.selection(made["for_each"], item.place)}
    if made.get("when") is not None:
        made = {**made, "when": mender.when(made["when"], made.get("depends_on"))}
    if isinstance(made.get("repeat"), dict):
        own = step_of({**made, "repeat": None, "for_each": None, "when": None}, number)
        made = {**made, "repeat": mender.ends(made["repeat"], made_by(own) if own else None)}
    made = mender.reviews(made)
    if item is not None or "repeat" in made:
        made = mender.prompt(made, item)
    return made, item


def _item_of(task: _Fields, number: int, known: Known) -> ItemPlace | None:
    """Return what is known of an assignment's own items; None if it isn't for each."""
    for_each = task.get("for_each")
    if not for_each:
        return None
    # All that may be wrong with the rest of the assignment is left out.
    step = step_of({"agent": "any", "prompt": "any", "for_each": _plain(for_each)}, number)
    try:
        return (item_place(step, known.earlier) if step else None) or ItemPlace()
    except ValueError:
        return ItemPlace()


def _plain(for_each: Any) -> Any:
    if not isinstance(for_each, dict):
        return for_each
    fields = cast("_Fields", for_each)
    return {name: fields[name] for name in ("items", "at") if name in fields}


@dataclass(slots=True)
class _Mender:
    place: str
    known: Known
    mended: list[str]
    own: str

    def note(self, where: str, what: str) -> None:
        self.mended.append(f"{self.place}.{where}: {what}" if where else f"{self.place}: {what}")

    def renamed(self, fields: _Fields, names: Mapping[str, str], where: str) -> _Fields:
        """Give fields the names that a plan has for them, where they have another one's."""
        made: _Fields = {}
        for name, value in fields.items():
            known = names.get(normal_name(name)) or MARKS.get(name.strip())
            is_free = known is not None and known not in fields and known not in made
            if known is None or not is_free or known not in {*names.values()}:
                made[name] = value
                continue
            made[known] = value
            self.note(f"{where}.{known}".lstrip("."), f"written as {name[:40]!r}")
        return made

    # --- for each -----------------------------------------------------------------------------

    def items(self, for_each: Any) -> Any:
        """Return where the items come from, however it is written."""
        if not isinstance(for_each, dict):
            if not isinstance(for_each, str | int | list) or isinstance(for_each, bool):
                return for_each
            fields: _Fields = {"items": for_each}
            self.note("for_each", "its items made an object")
        else:
            fields = self.renamed(cast("_Fields", for_each), ITEMS_NAMES, "for_each")
        items = fields.get("items")
        if isinstance(items, dict):
            inner = cast("_Fields", items)
            source = inner.get("step", inner.get("items"))
            if isinstance(source, str | int) and inner.keys() <= {"step", "items", "at"}:
                fields = {**fields, "items": source}
                fields.setdefault("at", inner.get("at"))
                items = source
                self.note("for_each.items", "taken out of an object")
        step, parts = _reference(items)
        if not step:
            return fields
        if items != step:
            self.note("for_each.items", f"{items!r} read as {step}")
        fields = {**fields, "items": step}
        if parts and not fields.get("at"):
            fields["at"] = pointer_of(parts)
        return self._at_list(fields, step)

    def _at_list(self, fields: _Fields, step: str) -> _Fields:
        """Return the fields with a pointer to the list in the output of an earlier step."""
        source, at = self.known.earlier.get(step), fields.get("at")
        is_followed = source is not None and source.for_each is not None
        # A pointer leads into the output of each of a step's instances.
        once = source.model_copy(update={"for_each": None}) if source is not None else None
        made = made_by(once) if once is not None else None
        place = made.place if made is not None else None
        if isinstance(at, str) and at:
            found = self.pointer(at, place, "for_each.at", is_list=True)
            return {**fields, "at": found}
        kind = place.schema.get("type") if place is not None else None
        if is_followed:
            is_no_list = made is not None and (not made.is_json or kind not in (None, "array"))
            if at == "" and is_no_list:
                self.note("for_each.at", "left out, to follow item by item")
                return {name: value for name, value in fields.items() if name != "at"}
            return fields
        lists = lists_in(place) if place is not None and kind == "object" else []
        outermost = [pointer for pointer in lists if pointer.count("/") == 1]
        if len(outermost) == 1:
            self.note("for_each.at", f"taken to be {outermost[0]}, the only list there")
            return {**fields, "at": outermost[0]}
        return fields

    def selection(self, fields: _Fields, item: SchemaPlace | None) -> _Fields:
        """Return the fields with the key and the condition on items as a plan has them."""
        made = {**fields}
        if isinstance(key := made.get("key"), str) and key:
            made["key"] = self.pointer(key, item, "for_each.key")
        if made.get("where") is not None:
            at_hand = Made(is_json=True, place=item)
            made["where"] = self.condition(made["where"], "for_each.where", lambda _: at_hand)
        return made

    # --- conditions ---------------------------------------------------------------------------

    def when(self, condition: Any, depends_on: Any) -> Any:
        """Return a condition on outputs of earlier steps."""
        needs = cast("list[Any]", depends_on) if isinstance(depends_on, list) else []
        only = f"S{needs[0]}" if len(needs) == 1 and isinstance(needs[0], int) else ""

        def made_of(step: str) -> Made | None:
            found = self.known.earlier.get(step)
            return made_by(found) if found is not None else None

        return self.condition(condition, "when", made_of, only=only, is_on_steps=True)

    def condition(
        self,
        condition: Any,
        where: str,
        made_of: Callable[[str], Made | None],
        *,
        only: str = "",
        is_on_steps: bool = False,
        depth: int = 0,
    ) -> Any:
        """Return a condition as a plan has it.

        Args:
            condition: What is written.
            where: What to call it in notes.
            made_of: Returns what is known of the output of a step, or of the value at hand for "".
            only: The step that is meant where none is named.
            is_on_steps: Whether it names steps; it is on the value at hand if it doesn't.
            depth: Conditions around it.
        """
        if isinstance(condition, str):
            condition = self._from_text(condition, where, made_of)
        if not isinstance(condition, dict) or depth > MAX_DEPTH:
            return cast("object", condition)
        fields = self.renamed(cast("_Fields", condition), CONDITION_NAMES, where)
        operator = fields.get("operator", fields.get("op"))
        if isinstance(operator, str) and "value" in fields:
            name = MARKS.get(operator.strip()) or CONDITION_NAMES.get(normal_name(operator))
            name = name or (operator if operator in _OPERATORS else None)
            if name is not None and name not in fields:
                rest = {k: v for k, v in fields.items() if k not in ("operator", "op", "value")}
                fields = {**rest, name: fields["value"]}
                self.note(where, f"operator {operator!r} and its value made one")
        for name in ("all", "any", "not"):
            inner = fields.get(name)
            if isinstance(inner, list):
                fields[name] = [
                    self.condition(
                        each, where, made_of, only=only, is_on_steps=is_on_steps, depth=depth + 1
                    )
                    for each in cast("list[Any]", inner)
                ]
            elif isinstance(inner, dict | str):
                fields[name] = self.condition(
                    inner, where, made_of, only=only, is_on_steps=is_on_steps, depth=depth + 1
                )
        if not fields.keys() & _OPERATORS:
            return fields
        return self._leaf(fields, where, made_of, only=only, is_on_steps=is_on_steps)

    def _from_text(self, text: str, where: str, made_of: Callable[[str], Made | None]) -> Any:
        def is_boolean(step: str, at: str) -> bool:
            place = _part(
                made_of(step), self.pointer(at, _place(made_of(step)), "", is_noted=False)
            )
            return place is not None and place.schema.get("type") == "boolean"

        try:
            found = read_condition(text, is_boolean)
        except ConditionTextError:
            return text
        self.note(where, f"{text[:60]!r} made a condition")
        return found

    def _leaf(
        self,
        fields: _Fields,
        where: str,
        made_of: Callable[[str], Made | None],
        *,
        only: str,
        is_on_steps: bool,
    ) -> _Fields:
        made = {**fields}
        step, at = made.get("step"), made.get("at")
        if step is not None:
            reference, parts = _reference(step)
            if reference and parts and not at:
                at = made["at"] = pointer_of(parts)
            if reference and reference != step:
                made["step"] = reference
                self.note(f"{where}.step", f"{step!r} read as {reference}")
        elif is_on_steps:
            reference, parts = _reference(at.lstrip("/") if isinstance(at, str) else None)
            if reference:
                made |= {"step": reference, "at": pointer_of(parts)}
                self.note(f"{where}.at", f"{at!r} read as {made['at']!r} of {reference}")
            elif only:
                made["step"] = only
                self.note(f"{where}.step", f"taken to be {only}, which it depends on")
        if not is_on_steps and made.get("step") == self.own:
            del made["step"]
            self.note(f"{where}.step", "left out: it is on the step's own output")
        known = made_of(made.get("step") or "" if is_on_steps else "")
        if isinstance(made.get("at"), str):
            made["at"] = self.pointer(made["at"], _place(known), f"{where}.at")
            part = _part(known, made["at"])
            if part is not None:
                return self._of_kind(made, part.schema, where)
        return made

    def _of_kind(self, fields: _Fields, schema: Mapping[str, Any], where: str) -> _Fields:
        """Return a condition whose values are of the kind that the schema has there."""
        made = {**fields}
        for name in ("is", "is_not"):
            if name in made:
                made[name] = _converted(made[name], schema)
        if isinstance(made.get("in"), list):
            made["in"] = [_converted(value, schema) for value in cast("list[Any]", made["in"])]
        if made != fields:
            self.note(where, "a value written as the schema has it")
        return made

    # --- repeat -------------------------------------------------------------------------------

    def repeat_of(self, task: _Fields) -> _Fields:
        """Return an assignment with one object that says how it is repeated."""
        made = {**task}
        if "until" in made and "repeat" not in made:
            names = {"until", "maxrounds", "maxiterations", "maxattempts"}
            found = {name: made.pop(name) for name in [*made] if normal_name(name) in names}
            made["repeat"] = found
            self.note("repeat", "made of `until`")
        if isinstance(made.get("repeat"), dict):
            fields = self.renamed(cast("_Fields", made["repeat"]), REPEAT_NAMES, "repeat")
            made["repeat"] = fields
        return made

    def ends(self, repeat: _Fields, made: Made | None) -> _Fields:
        """Return how a step is repeated, with its end as a plan has it."""
        fields, place = {**repeat}, _place(made)
        until = fields.get("until")
        if isinstance(until, str) and normal_name(until) in _NOTHING_NEW:
            if until != "no_new_items":
                self.note("repeat.until", f"{until!r} read as no_new_items")
            fields["until"] = "no_new_items"
            if isinstance(at := fields.get("at"), str) and at:
                fields["at"] = self.pointer(at, place, "repeat.at", is_list=True)
            elif place is not None and place.schema.get("type") == "object":
                lists = [pointer for pointer in lists_in(place) if pointer.count("/") == 1]
                if len(lists) == 1:
                    fields["at"] = lists[0]
                    self.note("repeat.at", f"taken to be {lists[0]}, the only list there")
            if isinstance(key := fields.get("key"), str) and key:
                element = _part(made, f"{fields.get('at') or ''}/0")
                fields["key"] = self.pointer(key, element, "repeat.key")
        elif until is not None:
            fields["until"] = self.condition(until, "repeat.until", lambda _: made)
        return fields

    # --- the rest -----------------------------------------------------------------------------

    def reviews(self, task: _Fields) -> _Fields:
        """Return an assignment whose review and samples are objects."""
        made = {**task}
        if isinstance(made.get("review"), str) and made["review"].strip():
            made["review"] = {"agent": made["review"]}
            self.note("review", "the name of an agent made an object")
        elif isinstance(made.get("review"), dict):
            made["review"] = self.renamed(made["review"], REVIEW_NAMES, "review")
        samples = made.get("best_of")
        if isinstance(samples, int) and not isinstance(samples, bool):
            made["best_of"] = {"samples": samples}
            self.note("best_of", "a number made an object")
        elif isinstance(samples, dict):
            made["best_of"] = self.renamed(cast("_Fields", samples), BEST_NAMES, "best_of")
        return made

    def prompt(self, task: _Fields, item: ItemPlace | None) -> _Fields:
        """Return an assignment whose prompt has its places as a plan has them."""
        for_each = task.get("for_each")
        made, name = {**task}, "item"
        if isinstance(for_each, dict):
            fields = cast("_Fields", for_each)
            called = [key for key in fields if normal_name(key) in _CALLED]
            if len(called) == 1 and isinstance(fields[called[0]], str):
                name = fields[called[0]].strip("{} $")
                rest = {key: value for key, value in fields.items() if key != called[0]}
                made["for_each"] = rest
                self.note("for_each", f"{name!r} is what its prompt calls an item")
        if isinstance(prompt := made.get("prompt"), str) and len(name) <= _LONGEST:
            written = _places_in(prompt, name, item)
            if written != prompt:
                made["prompt"] = written
                self.note("prompt", "places for an item written as {item.name}")
        return made

    def pointer(
        self,
        text: str,
        place: SchemaPlace | None,
        where: str,
        *,
        is_list: bool = False,
        is_noted: bool = True,
    ) -> str:
        """Return a pointer into what a schema is of: from a path, with the schema's own names.

        Args:
            text: A pointer, or a path such as `$.papers[*]`.
            place: What the schema says; None where it is open.
            where: What to call it in notes.
            is_list: Whether a list is meant, so that "each of it" at the end says no more.
            is_noted: Whether another form is noted.
        """
        if len(text) > _LONGEST:
            return text
        stripped = text.strip().strip("{}").strip().removeprefix("#")
        if stripped.startswith("/") and not pointer_problem(stripped):
            parts = [*pointer_parts(stripped)]
        elif place is not None and stripped in _names(place):
            parts = [stripped]
        else:
            parts = path_parts(stripped)
        while is_list and parts and parts[-1] in ("*", "-", ""):
            parts.pop()
        if (
            parts[:1]
            and parts[0] in _AROUND
            and (parts[0] not in _names(place) if place is not None else parts[0] == "item")
        ):
            parts = parts[1:]
        found = pointer_of(_aligned(parts, place))
        if "*" in parts or pointer_problem(found):
            return text
        if found != text and is_noted:
            self.note(where, f"{text[:60]!r} read as {found!r}")
        return found


_OPERATORS = frozenset({"is", "is_not", "in", "over", "under", "exists", "empty", "matches"})
_NOTHING_NEW = frozenset({"nonewitems", "nothingnew", "nonew", "nonewresults", "nonewfindings"})
_CALLED = frozenset({"as", "var", "itemname", "itemvar", "variable", "itemas"})
_PATH = r"""((?:\.[\w-]+|\[\s*(?:[0-9]+|'[^'\]]+'|"[^"\]]+")\s*\])*)"""


def _places_in(prompt: str, name: str, item: ItemPlace | None) -> str:
    """Write places for an item in the one form that a plan has for them."""
    names = "|".join(map(re.escape, dict.fromkeys((name, "item", "index", "round"))))
    place = re.compile(rf"\$?(?:\{{\{{\s*({names}){_PATH}\s*\}}\}}|\{{\s*({names}){_PATH}\s*\}})")
    schema = item.place if item is not None else None

    def write(found: re.Match[str]) -> str:
        called, path = (found[1], found[2]) if found[1] else (found[3], found[4])
        parts = path_parts(path)
        if called in ("index", "round") and called != name:
            return f"{{{called}}}" if not parts and (item or called == "round") else found[0]
        if item is None or any("." in part for part in parts):
            return found[0]
        return "{" + ".".join(["item", *_aligned(parts, schema)]) + "}"

    return place.sub(write, prompt)


def _reference(value: Any) -> tuple[str, list[str]]:
    """Return the step that a value means and the path behind it; "" if it means none."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10**6:
        return f"S{value}", []
    if not isinstance(value, str) or len(value) > _LONGEST:
        return "", []
    text = value.strip().strip("${}").strip()
    if position := _POSITION.fullmatch(text):
        return f"S{position[1]}", []
    if (found := _REFERENCE.fullmatch(text)) is None:
        return "", []
    parts = path_parts(found[2] or "")
    return found[1].upper(), parts


def _names(place: SchemaPlace) -> dict[str, Any]:
    names: Any = place.schema.get("properties")
    return cast("dict[str, Any]", names) if isinstance(names, dict) else {}


def _place(made: Made | None) -> SchemaPlace | None:
    return made.place if made is not None else None


def _part(made: Made | None, pointer: str) -> SchemaPlace | None:
    try:
        return schema_at(made.place, pointer) if made is not None and made.place else None
    except ValueError:
        return None


def _aligned(parts: list[str], place: SchemaPlace | None) -> list[str]:
    """Return the names of a path as a schema writes them: `pdfUrl` is pdf_url."""
    found: list[str] = []
    for part in parts:
        name = part
        if place is not None:
            names = _names(place)
            alike = [each for each in names if normal_name(each) == normal_name(part)]
            if part not in names and len(alike) == 1:
                name = alike[0]
            try:
                place = schema_at(place, pointer_of([name]))
            except NoPlaceError:
                place = None
        found.append(name)
    return found


_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,15})?")


def _converted(value: Any, schema: Mapping[str, Any]) -> Any:
    """Return a text as the value that a schema can only mean by it."""
    if not isinstance(value, str):
        return value
    listed: Any = schema.get("enum")
    if isinstance(listed, list):
        values = cast("list[Any]", listed)
        alike = [
            each
            for each in values
            if isinstance(each, str) and normal_name(each) == normal_name(value)
        ]
        return alike[0] if value not in values and len(alike) == 1 else value
    kind = schema.get("type")
    if kind == "boolean" and value.strip().casefold() in ("true", "false"):
        return value.strip().casefold() == "true"
    if kind in ("integer", "number") and _NUMBER.fullmatch(value.strip()):
        return float(value) if "." in value else int(value)
    return value
