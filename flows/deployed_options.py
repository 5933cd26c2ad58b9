"""Options of a deployment: the form that a run is started with, and what a run changes. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from ..errors import InputError
from .options import SwarmOptions

__all__ = ["FIRST", "GROUPS", "flat_options", "form_of_options", "merge_options"]


FIRST = (
    "model",
    "orchestrator",
    "approve",
    "mcp",
    "documents",
    "max_usd",
    "max_tokens",
    "timeout_s",
    "max_concurrency",
    "turns",
)
"""The options that the form begins with."""

GROUPS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "more_models": (
        "Models and sampling",
        (
            "worker",
            "coder",
            "architect",
            "key_env",
            "temperature",
            "seed",
            "max_output_tokens",
            "max_input_tokens",
            "tiers",
            "adapter",
        ),
    ),
    "more_planning": (
        "Planning and tools",
        (
            "explore",
            "max_steps",
            "plan_context",
            "stream_plan",
            "toolsets",
            "tool_limits",
        ),
    ),
    "more_checks": (
        "Gates, attempts and failures",
        (
            "gates",
            "gate_concurrency",
            "answer_schema",
            "max_attempts",
            "step_timeout_s",
            "policy",
            "policy_block",
        ),
    ),
    "more": ("Memory, pages and the rest", ("memory",)),
}
"""Further options, by the key of the form's group: its title and its options. The last one has
all that stand nowhere else."""


_VALUES = frozenset({"answer_schema"})


def flat_options(options: object, where: str = "options") -> dict[str, Any]:
    """Return options as JSON has them, those of the form's groups beside the others.

    Raises:
        InputError: They are no object.
    """
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise InputError(f"{where} is no object with options by name.", "Correct it.")
    fields = cast("Mapping[str, Any]", options)
    flat = {name: value for name, value in fields.items() if name not in GROUPS}
    for group in GROUPS:
        inner = fields.get(group)
        if inner is None:
            continue
        for name, value in flat_options(inner, f"{where}.{group}").items():
            # The form has the deployment's value beside the group, and the run's in it.
            if value is not None or name not in flat:
                flat[name] = value
    return flat


def merge_options(deployed: object, given: object) -> dict[str, Any]:
    """Return the options of a run: the deployment's, but for what the run was given.

    A value replaces the deployment's, an object is merged into the deployment's by the same rule,
    and a null unsets: then the option has its default. A JSON Schema is one value.

    Args:
        deployed: The deployment's options, as JSON has them.
        given: The run's, as JSON has them.

    Raises:
        InputError: One of them is no object.
    """
    own = _merged({}, flat_options(deployed, "the deployment's options"))
    return _merged(own, flat_options(given))


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for name, value in above.items():
        if value is None:
            merged.pop(name, None)
        elif isinstance(value, Mapping) and name not in _VALUES:
            merged[name] = _merged(_object(merged.get(name)), _object(cast("object", value)))
        else:
            merged[name] = value
    return merged


def _object(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def form_of_options(folded: str = "As deployed", without: str = "") -> dict[str, Any]:
    """Return the JSON Schema of options that Prefect draws the form from and holds runs to.

    The most used options come first, the others in groups that are folded. None has a default: a
    field that nobody fills in sends nothing. Options of groups are taken beside the others, too.

    Args:
        folded: What a group's options are while it is folded.
        without: An option that it doesn't have.
    """
    whole = SwarmOptions.model_json_schema()
    fields = {name: _field(whole, name) for name in whole["properties"]}
    properties = {name: {**fields[name], "position": n} for n, name in enumerate(FIRST)}
    for place, (group, (title, names)) in enumerate(_groups(), len(FIRST)):
        inner = {
            name: {**_drawn(fields[name]), "position": n}
            for n, name in enumerate(names)
            if name != without
        }
        properties[group] = {
            "title": title,
            "position": place,
            "anyOf": [
                {"title": folded, "type": "null"},
                {
                    "title": "Other",
                    "type": "object",
                    "properties": inner,
                    "additionalProperties": False,
                },
            ],
        }
    others = (name for _, (_, names) in _groups() for name in names if name != without)
    return {
        "title": "Options",
        "type": "object",
        "properties": properties,
        # Neither UI draws these.
        "patternProperties": {f"^{name}$": _or_null(fields[name]) for name in others},
        "additionalProperties": False,
    }


def _groups() -> Iterator[tuple[str, tuple[str, tuple[str, ...]]]]:
    named = {*FIRST, *(name for _, names in GROUPS.values() for name in names)}
    *others, last = GROUPS
    for group in others:
        yield group, GROUPS[group]
    rest = tuple(name for name in SwarmOptions.model_fields if name not in named)
    yield last, (GROUPS[last][0], (*GROUPS[last][1], *rest))


def _field(whole: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return an option's schema as a form needs it: one type, no default, no reference."""
    field = cast("dict[str, Any]", _resolved(whole["properties"][name], whole.get("$defs", {})))
    if "anyOf" in field:
        kinds = [kind for kind in field.pop("anyOf") if kind.get("type") != "null"]
        field |= kinds[0] if len(kinds) == 1 else {"anyOf": kinds}
    default = field.pop("default", None)
    if field.get("type") == "object":
        # A box for JSON: what is in it the flow checks.
        field.pop("properties", None)
        field.pop("additionalProperties", None)
    shown = _shown(default)
    field["title"] = name
    field["description"] = f"{field.get('description', '')}{f' Default: {shown}.' if shown else ''}"
    return field


def _drawn(field: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an option's schema so that a field which nobody touches sends nothing."""
    if field.get("type") != "boolean":
        return field
    # The older UI sends false of a box that nobody ticked.
    return {**field, "type": "string", "enum": ["true", "false"]}


def _shown(default: object) -> str:
    if isinstance(default, bool):
        return str(default).lower()
    return str(default) if isinstance(default, int | float | str) and default != "" else ""


def _resolved(part: object, definitions: Mapping[str, Any]) -> object:
    if isinstance(part, list):
        return [_resolved(each, definitions) for each in cast("list[object]", part)]
    if not isinstance(part, dict):
        return part
    fields = cast("dict[str, Any]", part)
    if isinstance(ref := fields.get("$ref"), str):
        others = {name: value for name, value in fields.items() if name != "$ref"}
        found = cast("dict[str, Any]", definitions[ref.rpartition("/")[2]])
        return _resolved({**found, **others}, definitions)
    return {name: _resolved(value, definitions) for name, value in fields.items()}


def _or_null(field: Mapping[str, Any]) -> dict[str, Any]:
    return {"anyOf": [field, {"type": "null"}]}
