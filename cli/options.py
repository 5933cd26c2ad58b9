"""`SwarmOptions` as command-line options, one for each field, made from the fields themselves."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, cast, get_args, get_origin

import typer
from pydantic import ValidationError
from pydantic.fields import FieldInfo

from ..errors import InputError
from ..flows.options import CHANGEABLE, SwarmOptions
from ..flows.shared_options import expanded
from ..store.failure_policy import Policy, load_policy
from ..toolsets.names import ToolLimits

__all__ = [
    "NOT_HERE",
    "PARAMETERS",
    "OptionChanges",
    "change_parameters",
    "changes_from",
    "flag_of",
    "option_parameters",
    "options_from",
    "override_parameters",
]

_MODELS = frozenset({"model", "worker", "coder", "architect", "orchestrator", "adapter", "key_env"})
NOT_HERE = frozenset({"answer_schema"})
"""Fields that only code has a use for."""
_FAILURES = frozenset({"gates", "gate_concurrency", "policy"})
_TOOLS = frozenset({"mcp", "documents", "toolsets", "tool_limits", "explore", "approve"})
_WORKSPACE = frozenset({"workspace", "checks", "python"})
_MEMORY = frozenset({"memory", "namespace", "embedder", "plan_context"})
_FORMS = {
    "tiers": ("TIER.BOUND=N", "worker.max_output_tokens=500"),
    "gates": ("KIND=NAMES", "python=-lint,unit"),
    "tool_limits": ("BOUND=N", "seconds=120"),
    "provider_limits": ("NAME=LIMIT", "openai=shared"),
}
"""How a mapping is given: for the help, and as an example."""
_METAVARS = {"workspace": "DIR", "checks": "COMMAND", "python": "FILE"}
_PATHS = ("workspace", "python")
"""Paths that are the same file wherever the run goes on."""
_FLAGS = {
    "checks": "--check",
    "tiers": "--tier",
    "toolsets": "--toolset",
    "tool_limits": "--tool-limit",
    "provider_limits": "--provider-limit",
}
"""The option of a field that is given some times, where the field's name is in the plural."""


def flag_of(field: str) -> str:
    """Return a field's option: `max_steps` is `--max-steps`."""
    return _FLAGS.get(field, f"--{field.replace('_', '-')}")


def _flags_of(name: str, field: FieldInfo) -> str:
    flag = flag_of(name)
    return f"{flag}/--no-{flag[2:]}" if field.annotation is bool else flag


class OptionChanges(dict[str, Any]):
    """Values of some options, by their names; of the bounds of tiers, those that are given."""


def option_parameters() -> list[inspect.Parameter]:
    """Return a parameter for each field."""
    return [
        _parameter(name, field)
        for name, field in SwarmOptions.model_fields.items()
        if name not in NOT_HERE
    ]


def change_parameters() -> list[inspect.Parameter]:
    """Return a parameter for each field that a run that has begun can be given anew."""
    fields = SwarmOptions.model_fields
    return [_parameter(name, fields[name]).replace(default=None) for name in CHANGEABLE]


def override_parameters() -> list[inspect.Parameter]:
    """Return a parameter for each field of a run's options; what isn't given stays as it was."""
    return [parameter.replace(default=None) for parameter in option_parameters()]


def options_from(args: dict[str, Any]) -> SwarmOptions:
    """Take the options out of a command's arguments.

    Raises:
        InputError: A value is out of its range, a model's address has a password, or a file, a
            block or a workspace can't be read.
        ServerError: The server can't be asked for a block of options.
    """
    try:
        options = SwarmOptions.model_validate(changes_from(args))
    except ValidationError as error:
        raise InputError(_problem(error), "See --help for what each option takes.") from None
    options.refuse_secrets()
    if _WORKSPACE.intersection(options.model_fields_set):
        # Here and not above: few commands have a workspace, and they need gates and git.
        from ..flows.workspace_options import check_workspace

        check_workspace(options)
    return options


def changes_from(args: dict[str, Any]) -> OptionChanges:
    """Take the options that were given out of a command's arguments.

    Raises:
        InputError: One isn't written as it has to be, or its file or block can't be read.
        ServerError: The server can't be asked for a block of options.
    """
    fields = SwarmOptions.model_fields
    values = {name: value for name in fields if (value := args.pop(name, None)) not in (None, [])}
    for name, value in values.items():
        if isinstance(value, list) and not _is_mapping(fields[name]):
            values[name] = tuple(cast("list[str]", value))
        elif isinstance(value, list):
            pairs = [_pair(name, text) for text in cast("list[str]", value)]
            values[name] = _by_tier(pairs) if name == "tiers" else dict(pairs)
        elif isinstance(value, Path):
            values[name] = load_policy(value)
        elif name in _PATHS and isinstance(value, str) and value:
            # Not resolved: the Python of an environment is a link, and the environment is its own.
            values[name] = os.path.abspath(os.path.expanduser(value))
    return OptionChanges(expanded(values))


def _parameter(name: str, field: FieldInfo) -> inspect.Parameter:
    option = typer.Option(
        _flags_of(name, field),
        help=field.description,
        metavar=_FORMS[name][0] if _is_mapping(field) else _METAVARS.get(name),
        rich_help_panel=_panel(name),
    )
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None if field.default_factory or _has_other_form(field) else field.default,
        annotation=Annotated[_type(field) | None, option],
    )


def _panel(name: str) -> str:
    if name in _MODELS:
        return "Models"
    if name in _MEMORY:
        return "Memory"
    if name in _WORKSPACE:
        return "Workspace"
    if name in _TOOLS:
        return "Tools and approvals"
    return "Gates and failures" if name in _FAILURES else "Budgets and limits"


def _has_other_form(field: FieldInfo) -> bool:
    """Whether it is given in another form than the field has: as pairs, or as a file."""
    return _is_mapping(field) or field.annotation is Policy or _is_list(field)


def _is_mapping(field: FieldInfo) -> bool:
    return get_origin(field.annotation) is dict or field.annotation is ToolLimits


def _is_list(field: FieldInfo) -> bool:
    """Whether it may be given several times."""
    return any(
        get_origin(kind) is tuple for kind in (field.annotation, *get_args(field.annotation))
    )


def _type(field: FieldInfo) -> Any:
    if _is_mapping(field) or _is_list(field):
        return list[str]
    if field.annotation is Policy:
        return Path
    choices = [kind for kind in get_args(field.annotation) if kind is not type(None)]
    kind = choices[0] if choices else field.annotation
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind


def _pair(name: str, text: str) -> tuple[str, str | tuple[str, ...]]:
    key, equals, value = text.partition("=")
    if not equals:
        raise InputError(
            f"{flag_of(name)} got {text!r}.",
            f"Write it as {_FORMS[name][1]}.",
        )
    if name == "gates":
        return key.strip(), tuple(filter(None, map(str.strip, value.split(","))))
    return key.strip(), value.strip()


def _by_tier(pairs: list[tuple[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the bounds of each tier; `worker.timeout_s=60` is one."""
    tiers: dict[str, dict[str, Any]] = {}
    for key, value in pairs:
        tier, dot, bound = key.partition(".")
        if not dot:
            raise InputError(f"--tier got {key}={value}.", f"Write it as {_FORMS['tiers'][1]}.")
        tiers.setdefault(tier, {})[bound.replace("-", "_")] = value
    return tiers


def _problem(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    where = str(first["loc"][0]) if first["loc"] else ""
    if where == "tiers":
        bound = ".".join(str(part) for part in first["loc"][1:] if part != "[key]")
        return f"--tier {bound} got {first['input']!r}: {first['msg']}."
    if where == "key_env":  # It may be the key itself.
        return "--key-env got something else than the name of an environment variable."
    return f"{flag_of(where)} got {first['input']!r}: {first['msg']}."


PARAMETERS: Mapping[str, Callable[[], list[inspect.Parameter]]] = {
    "options": option_parameters,
    "changes": change_parameters,
    "overrides": override_parameters,
}
"""The options that a parameter of a command's function becomes, by the parameter's name."""
