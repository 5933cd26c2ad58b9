"""Pages of pydantic models: a run's options, settings, and the plan language."""

from __future__ import annotations

import types
from collections.abc import Iterable
from enum import Enum
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

from prefect_swarm.cli.options import NOT_HERE, flag_of
from prefect_swarm.flows.options import SwarmOptions, TierOptions
from prefect_swarm.plan.conditions import Condition
from prefect_swarm.plan.output import Example, Output
from prefect_swarm.plan.program import BestOf, ForEach, Repeat, Review
from prefect_swarm.settings import SwarmSettings
from prefect_swarm.settings import PREFIX
from prefect_swarm.plan.task_ir import StepSettings
from prefect_swarm.plan.task_ir import Agent, Escalation, InnerPlan, Step, TaskIR
from prefect_swarm.toolsets.names import ToolLimits
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from tables import GENERATED, cell, table

__all__ = ["option_page", "plan_page", "setting_page"]


def option_page() -> str:
    """Return the page of `SwarmOptions` and the models in it."""
    rows = [
        (f"`{name}`", "" if name in NOT_HERE else f"`{flag_of(name)}`", *_about(field))
        for name, field in SwarmOptions.model_fields.items()
    ]
    return _page(
        "# Options of a run",
        "The same options are fields of `SwarmOptions` in Python, options of the command line, and the form of the deployment. "
        "A switch is turned off by `--no-…`. An option that is repeatable is given once a value.",
        table(("Field", "Option", "Description", "Type", "Default"), rows),
        "## Bounds of a tier\n\n`tiers` in Python, `--tier worker.max_output_tokens=500` on the command line.",
        _fields(TierOptions),
        "## Bounds of tools\n\n`tool_limits` in Python, `--tool-limit seconds=120` on the command line.",
        _fields(ToolLimits),
    )


def setting_page() -> str:
    """Return the page of the settings that the environment has."""
    rows = [
        (f"`{f'{PREFIX}{name}'.upper()}`", *_about(field))
        for name, field in SwarmSettings.model_fields.items()
    ]
    return _page(
        "# Settings",
        "Settings of the machine, not of a run. They are read as Prefect's own: from the environment, `.env`, `prefect.toml`, "
        "`pyproject.toml` or the active profile.",
        table(("Variable", "Description", "Type", "Default"), rows),
        "Prefect's own variables hold as well: `PREFECT_API_URL` names the server, `PREFECT_HOME` the folder in which the data folder lies. "
        "[Traces](../how-to/traces.md) follow OpenTelemetry's variables (`OTEL_EXPORTER_OTLP_ENDPOINT` and the like). A provider's key "
        "is in the variable that the provider names ([models](../how-to/models.md)).",
    )


def plan_page() -> str:
    """Return the page of `TaskIR` and the models in it."""
    parts = [
        "# The plan language",
        "A plan is a `TaskIR`, as JSON; `edit` and `fork --plan` take YAML, too. A step may need earlier steps alone, so a plan that is valid has no circle. "
        "[The JSON Schema](task_ir.schema.json) says the same for programs, and "
        "[plans that ran](../background/plans.md) are examples. "
        "[Plans that depend on what is found](plan_programs.md) says what `for_each`, `when`, `repeat`, `plan`, `collect`, `review` and `best_of` mean.",
        "Files are read within bounds: 100 levels of lists and mappings, numbers that can be held, each key once. YAML is plain data, "
        "without aliases, merge keys and tags for programs. What is wrong is named with line and column. A schema fetches nothing, "
        "and what it takes too long to apply doesn't fit.",
    ]
    models = (TaskIR, Agent, Step, Output, Example, StepSettings, Escalation)
    for model in (*models, ForEach, Condition, Repeat, InnerPlan, Review, BestOf):
        parts += [f"## {model.__name__}\n\n{_doc(model)}", _fields(model)]
    return _page(*parts)


def _doc(model: type[BaseModel]) -> str:
    return " ".join((model.__doc__ or "").split("\n\n")[0].split())


def _page(*parts: str) -> str:
    return "\n\n".join([GENERATED, *parts]) + "\n"


def _fields(model: type[BaseModel]) -> str:
    rows = [
        (f"`{field.alias or name}`", *_about(field)) for name, field in model.model_fields.items()
    ]
    return table(("Field", "Description", "Type", "Default"), rows)


def _about(field: FieldInfo) -> tuple[str, str, str]:
    return cell(field.description or ""), cell(_type(field.annotation)), _default(field)


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    if field.default_factory is not None:
        return ""
    value = field.default
    if isinstance(value, Enum):
        value = value.value
    return "" if value in (None, "", ()) or isinstance(value, BaseModel | Path) else f"`{value}`"


def _type(kind: Any) -> str:
    """Return a type as people read it: `text`, `number or nothing`, the values of a Literal."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in arguments)
    if origin in (Union, types.UnionType):
        return " or ".join(
            dict.fromkeys(_type(part) for part in arguments if part is not type(None))
        )
    if origin in (tuple, list, frozenset, set):
        return f"list of {_some(arguments)}"
    if origin is dict:
        return (
            "JSON object"
            if arguments[1] is Any
            else f"{_type(arguments[1])} by {_type(arguments[0])}"
        )
    if hasattr(kind, "__metadata__"):
        return _type(arguments[0])
    if isinstance(kind, type) and issubclass(kind, Enum):
        return ", ".join(f"`{member.value}`" for member in kind)
    names = {
        str: "text",
        int: "whole number",
        float: "number",
        bool: "switch",
        Path: "path",
        Any: "any",
    }
    return names.get(kind, f"`{getattr(kind, '__name__', str(kind))}`")


def _some(arguments: Iterable[Any]) -> str:
    return " or ".join(dict.fromkeys(_type(part) for part in arguments if part is not ...))
