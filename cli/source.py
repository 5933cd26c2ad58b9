"""The source of a run: objective or plan, and its models, before a server is started."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from ..errors import InputError
from ..files import read_text
from ..flows.options import SwarmOptions
from ..flows.run_inputs import with_inputs
from ..gates import gates
from ..host.network import check_ca_files, check_proxies
from ..inputs.reading import merged_inputs, read_paths
from ..plan.task_ir import TIERS, PlanRules, TaskIR, TierName, check_objective, load_plan

__all__ = [
    "Files",
    "ItemsFile",
    "Join",
    "Objective",
    "PlanFile",
    "RunSource",
    "Template",
    "Urls",
    "check_models",
    "read_source",
]


Objective = Annotated[str | None, typer.Argument(help="The objective, in plain words.")]
PlanFile = Annotated[
    Path | None,
    typer.Option(
        "--plan", metavar="FILE", help="Run this plan (JSON; - is standard input); no model plans."
    ),
]
ItemsFile = Annotated[
    Path | None,
    typer.Option("--items", metavar="FILE", help="Items, one a line, for --template."),
]
Template = Annotated[
    str | None, typer.Option("--template", help="A prompt with {item}, done once for each item.")
]
Join = Annotated[
    str | None, typer.Option("--join", help="The prompt of a last step that reads all the others.")
]
Files = Annotated[
    list[Path] | None,
    typer.Option(
        "--file",
        metavar="PATH",
        help="A document to work on, or a folder of them: text, CSV, JSON, PDF, pictures, DOCX, "
        "PPTX, XLSX, HTML, EPUB; repeatable.",
    ),
]
Urls = Annotated[
    list[str] | None,
    typer.Option(
        "--url", metavar="URL", help="A page of the web to work on, as Markdown; repeatable."
    ),
]


@dataclass(frozen=True, slots=True)
class RunSource:
    """An objective, its plan where the user gave one, and the texts of files by their names."""

    objective: str
    plan: TaskIR | None
    inputs: Mapping[str, str] = field(default_factory=dict[str, str])


def read_source(
    objective: str | None,
    plan: Path | None,
    items: Path | None,
    template: str | None,
    join: str | None,
    max_steps: int,
    files: Sequence[Path] | None = None,
    urls: Sequence[str] | None = None,
) -> RunSource:
    """Make one thing to run of what was given.

    Raises:
        InputError: Nothing was given, things that don't go together, or a file or a page that
            can't be read.
        PlanError: The plan can't be read or breaks a rule.
    """
    for text in (objective, template, join):
        _check_text(text)
    if objective is not None and not objective.strip():
        raise InputError("The objective is empty.", "State it in a sentence.")
    mapped = (items, template, join) != (None, None, None)
    if plan is not None and mapped:
        raise InputError(
            "--plan was given with --items, --template or --join.", "Give one or the other."
        )
    inputs = read_paths(files or ())
    if urls:
        inputs = merged_inputs(inputs, _read_pages(urls))
    if plan is not None:
        return _from_plan(_read_plan(plan, max_steps, inputs), objective, inputs)
    if mapped:
        return _from_plan(_map_items(items, template, join, objective), objective, inputs)
    if objective is None:
        raise InputError(
            "There is nothing to run.",
            "Give an OBJECTIVE, a --plan FILE, or --items FILE with --template.",
        )
    return RunSource(objective, None, inputs)


def _read_pages(urls: Sequence[str]) -> dict[str, str]:
    check_proxies()
    check_ca_files(os.environ)
    from ..toolsets.web import read_pages

    return asyncio.run(read_pages(urls))


def _check_text(text: str | None) -> None:
    try:
        (text or "").encode()
    except UnicodeEncodeError:
        raise InputError(f"{text!r} is not UTF-8 text.", "Write it as UTF-8.") from None


def _from_plan(plan: TaskIR, objective: str | None, inputs: Mapping[str, str]) -> RunSource:
    if objective is not None:
        check_objective(plan, objective)
    with_inputs(plan, inputs)  # names what both have
    return RunSource(plan.objective, plan, inputs)


def _read_plan(path: Path, max_steps: int, inputs: Mapping[str, str]) -> TaskIR:
    rules = PlanRules(max_steps, frozenset(gates()), frozenset(inputs))
    return load_plan(path, rules)


def _map_items(
    items: Path | None, template: str | None, join: str | None, objective: str | None
) -> TaskIR:
    if items is None or template is None:
        raise InputError(
            f"{'--items' if items is None else '--template'} is missing.",
            "Give --items FILE and --template 'a prompt with {item}' together.",
        )
    return TaskIR.from_items(template, read_lines(items), objective=objective, join=join)


def read_lines(path: Path) -> list[str]:
    """Return the lines of a file that hold anything; `-` is standard input.

    Raises:
        InputError: It can't be read.
    """
    return [line.strip() for line in read_text(path).splitlines() if line.strip()]


async def check_models(options: SwarmOptions, *, orchestrated: bool) -> None:
    """Refuse a model that is not available.

    Args:
        options: What was asked for.
        orchestrated: Whether the orchestrator has something to do.

    Raises:
        InputError: A model's name has none of the known forms, or no server can be reached with
            what the environment says of proxies and certificates.
        ModelError: A model is not available.
    """
    # First: with a wrong variable not even Prefect can be imported.
    check_proxies()
    check_ca_files(os.environ)
    from ..models.resolve import resolve_model

    tiers: list[TierName] = [*TIERS, "orchestrator"] if orchestrated else [*TIERS]
    for tier in tiers:
        name = options.model_of(tier)
        if _is_stored(name):
            continue
        await resolve_model(name, tier)


def _is_stored(name: str) -> bool:
    # Blocks are kept on the Prefect server; the flow looks them up itself.
    return name.startswith("block:")
