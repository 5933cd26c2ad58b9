"""The source of a run: objective or plan, and its models, before a server is started."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from ..errors import InputError
from ..files import read_text
from ..flows.options import SwarmOptions, within_bounds
from ..flows.run_inputs import with_inputs
from ..gates import gates
from ..host.network import check_ca_files, check_proxies
from ..inputs.contents import MAX_NAME
from ..inputs.reading import (
    FilesRead,
    check_inputs,
    joined_reads,
    merged_inputs,
    read_files,
    reading_notes,
    split_paths,
)
from ..inputs.selection import path_excludes
from ..inputs.storage_paths import is_storage_path, parse_storage_paths
from ..plan.items import has_rows, names_matching, pattern_of
from ..plan.output import Output, schema_problem
from ..plan.procedure import ProcedureBounds
from ..plan.procedure_steps import resolve
from ..plan.program import Collect
from ..plan.task_ir import TIERS, PlanRules, TaskIR, TierName, check_objective, load_plan
from ..untrusted.json_text import NoJsonError, read_json
from .procedure import worse_note
from .procedure_values import check_given, read_given
from .terminal.session import say

__all__ = [
    "CollectBy",
    "Each",
    "Exclude",
    "Files",
    "ItemsFile",
    "Join",
    "Objective",
    "PlanFile",
    "RunSource",
    "Schema",
    "SourceArguments",
    "Template",
    "Urls",
    "check_models",
    "read_named_files",
    "read_source",
    "with_excluded",
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
CollectBy = Annotated[
    Collect | None,
    typer.Option(
        "--collect", help="Join what the items made, without a model; table is CSV, a row an item."
    ),
]
Each = Annotated[
    list[str] | None,
    typer.Option(
        "--each",
        metavar="PATH",
        help="A step for each of these files (a file, folder or quoted pattern), or for each row "
        "of one CSV, TSV, JSON or JSON Lines file; the prompt is --template or OBJECTIVE; "
        "repeatable.",
    ),
]
Files = Annotated[
    list[str] | None,
    typer.Option(
        "--file",
        metavar="PATH",
        help="A document to work on, a folder of them, or a quoted pattern such as 'src/**/*.py', "
        "also in a storage block (s3-bucket/NAME:PATH): text, CSV, JSON, PDF, pictures, DOCX, "
        "PPTX, XLSX, HTML, EPUB; repeatable.",
    ),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option(
        "--exclude",
        metavar="GLOB",
        help="What isn't taken of folders and patterns: a name at any depth, or a path from the "
        "folder; repeatable.",
    ),
]
Urls = Annotated[
    list[str] | None,
    typer.Option(
        "--url", metavar="URL", help="A page of the web to work on, as Markdown; repeatable."
    ),
]
Schema = Annotated[
    Path | None,
    typer.Option(
        "--schema",
        metavar="FILE",
        help="JSON Schema of what each item's step writes, with --each or --template; else of the "
        "answer.",
    ),
]


@dataclass(frozen=True, slots=True)
class RunSource:
    """What is to run.

    Attributes:
        objective: What is wanted.
        plan: Its plan where the user gave one, or what is done for each of many items.
        inputs: The texts of files by their names.
        answer_schema: The JSON Schema of the answer; None where nothing says.
        notes: What is to be said of the files, a line each.
        bounds: What the run may take, where the options don't say it.
    """

    objective: str
    plan: TaskIR | None
    inputs: Mapping[str, str] = field(default_factory=dict[str, str])
    answer_schema: dict[str, Any] | None = None
    notes: tuple[str, ...] = ()
    bounds: ProcedureBounds = field(default_factory=ProcedureBounds)

    def applied_to(self, options: SwarmOptions) -> SwarmOptions:
        """Return options with the schema of the answer and the bounds, where there are any.

        Bounds that the options have already stand.
        """
        schema = self.answer_schema or options.answer_schema
        bounded = within_bounds(options, self.bounds)
        return bounded.model_copy(update={"answer_schema": schema})


@dataclass(frozen=True, slots=True)
class SourceArguments:
    """The arguments of a command that say what is to run, as `run --help` has them."""

    objective: str | None = None
    plan: Path | None = None
    items: Path | None = None
    template: str | None = None
    join: str | None = None
    collect: Collect | None = None
    each: Sequence[str] = ()
    files: Sequence[str] = ()
    exclude: Sequence[str] = ()
    schema: Path | None = None
    urls: Sequence[str] = ()
    procedure: str | None = None
    parameters: Sequence[str] = ()

    @property
    def is_mapped(self) -> bool:
        """Whether one prompt is done for many items."""
        return (
            bool(self.each) or (self.items, self.template, self.join, self.collect) != (None,) * 4
        )


def read_source(arguments: SourceArguments, max_steps: int) -> RunSource:
    """Make one thing to run of what was given.

    Raises:
        InputError: Nothing was given, things that don't go together, or a file or a page that
            can't be read.
        PlanError: The plan can't be read or breaks a rule.
    """
    objective, plan = arguments.objective, arguments.plan
    for text in (objective, arguments.template, arguments.join):
        _check_text(text)
    if objective is not None and not objective.strip():
        raise InputError("The objective is empty.", "State it in a sentence.")
    _check_together(arguments)
    schema = None if arguments.schema is None else _read_schema(arguments.schema)
    read = read_named_files(arguments.files, arguments.exclude) if arguments.files else FilesRead()
    notes = tuple(reading_notes(read)) if arguments.files else ()
    if arguments.urls:
        read = replace(read, texts=merged_inputs(read.texts, _read_pages(arguments.urls)))
    if arguments.is_mapped:
        return _mapped(arguments, read, schema)
    if arguments.procedure is not None:
        return _of_procedure(arguments, max_steps, read.texts, notes, schema)
    if plan is not None:
        known = _read_plan(plan, max_steps, read.texts)
        return _from_plan(known, objective, read.texts, notes, schema)
    if objective is None:
        raise InputError(
            "There is nothing to run.",
            "Give an OBJECTIVE, a --plan FILE, --each PATH, or --items FILE with --template.",
        )
    return RunSource(objective, None, read.texts, schema, notes)


def read_named_files(paths: Sequence[str], exclude: Sequence[str]) -> FilesRead:
    """Read local files, and those of storage blocks; the server that has these is started.

    Raises:
        InputError: One can't be read.
        ServerError: The Prefect server can't be asked.
    """
    local, stored = split_paths(paths)
    if not stored:
        return read_files(local, exclude)
    check_proxies()
    check_ca_files(os.environ)
    from ..flows.prefect_io.storage import read_storage
    from ..flows.prefect_io.temporary_server import prefect_server

    prefect_server(say).wait()
    taken, excluded = path_excludes(stored)
    read = asyncio.run(read_storage(taken, (*exclude, *excluded)))
    return joined_reads(read_files(local, exclude), read) if local else read


def _check_together(arguments: SourceArguments) -> None:
    """Refuse arguments that don't go together.

    Raises:
        InputError: It names them.
    """
    mapped = "--items, --each, --template, --join or --collect" if arguments.is_mapped else ""
    others = [name for name in ("--plan" if arguments.plan else "", mapped) if name]
    if arguments.procedure is not None and others:
        raise InputError(f"--procedure was given with {others[0]}.", "Give one or the other.")
    if len(others) > 1:
        raise InputError(f"--plan was given with {mapped}.", "Give one or the other.")
    if arguments.parameters and arguments.procedure is None:
        raise InputError("--param was given without --procedure.", "Name the procedure.")


def with_excluded(options: SwarmOptions, exclude: Sequence[str] | None) -> SwarmOptions:
    """Return options that leave the same out of the toolset documents."""
    if not options.documents or not exclude:
        return options
    documents = (*options.documents, *(f"!{pattern}" for pattern in exclude))
    return options.model_copy(update={"documents": documents})


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


def _from_plan(
    plan: TaskIR,
    objective: str | None,
    inputs: Mapping[str, str],
    notes: tuple[str, ...],
    schema: dict[str, Any] | None = None,
) -> RunSource:
    if objective is not None:
        check_objective(plan, objective)
    with_inputs(plan, inputs)  # names what both have
    return RunSource(plan.objective, plan, inputs, schema, notes)


def _read_plan(path: Path, max_steps: int, inputs: Mapping[str, str]) -> TaskIR:
    from ..store.procedures import find_procedure

    rules = _rules(max_steps, inputs)
    return resolve(load_plan(path, rules), find_procedure, rules)


def _of_procedure(
    arguments: SourceArguments,
    max_steps: int,
    inputs: Mapping[str, str],
    notes: tuple[str, ...],
    schema: dict[str, Any] | None,
) -> RunSource:
    """Return a procedure's plan with the given values, and what a run of it may take."""
    from ..store.procedures import find_procedure

    stored = find_procedure(str(arguments.procedure))
    given = check_given(stored.procedure, read_given(arguments.parameters))
    plan = stored.filled(given, _rules(max_steps, inputs))
    said = (*notes, *worse_note(stored))
    source = _from_plan(plan, arguments.objective, inputs, said, schema)
    return replace(source, bounds=stored.procedure.bounds)


def _rules(max_steps: int, inputs: Mapping[str, str]) -> PlanRules:
    return PlanRules(max_steps, frozenset(gates()), frozenset(inputs))


def _read_schema(path: Path) -> dict[str, Any]:
    text = read_text(path, "schema file")
    try:
        schema = read_json(text)
    except NoJsonError as error:
        raise InputError(f"The schema {path} is not JSON: {error}.", "Correct it.") from None
    if not isinstance(schema, dict):
        raise InputError(f"The schema {path} is no object.", "Write a JSON Schema in it.")
    fields = cast("dict[str, Any]", schema)
    if problem := schema_problem(fields):
        raise InputError(f"The schema {path} can't be used: {problem}.", "Correct it.")
    return fields


def _mapped(
    arguments: SourceArguments, read: FilesRead, schema: dict[str, Any] | None
) -> RunSource:
    """Return the plan that does one prompt for many items, with the inputs of its steps."""
    output = None if schema is None else Output(kind="json", schema=schema)
    of_all = partial(
        TaskIR.from_items, join=arguments.join, collect=arguments.collect, output=output
    )
    if arguments.each:
        return _for_each_file(arguments, read, of_all)
    items, template = arguments.items, arguments.template
    if items is None or template is None:
        raise InputError(
            f"{'--items' if items is None else '--template'} is missing.",
            "Give --items FILE and --template 'a prompt with {item}' together, or --each PATH for "
            "files.",
        )
    plan = of_all(template, read_lines(items), objective=arguments.objective)
    notes = tuple(reading_notes(read)) if arguments.files else ()
    return _from_plan(plan, None, read.texts, notes)


def _for_each_file(
    arguments: SourceArguments, others: FilesRead, of_all: Callable[..., TaskIR]
) -> RunSource:
    if arguments.items is not None:
        raise InputError("--items and --each were both given.", "Give one of them.")
    prompt = arguments.template or arguments.objective
    if prompt is None:
        raise InputError(
            "--each has no prompt.", "Give an OBJECTIVE, or --template 'a prompt', for each file."
        )
    each = read_named_files(arguments.each, arguments.exclude)
    items, texts = _items_of(arguments.each, each.texts, others.texts)
    plan = of_all(prompt, items, objective=arguments.objective, inputs=[*others.texts])
    inputs = {**texts, **others.texts}
    check_inputs(inputs)
    reads = [each, others] if arguments.files else [each]
    return _from_plan(plan, None, inputs, tuple(reading_notes(*reads)))


def _items_of(
    paths: Sequence[str], texts: Mapping[str, str], others: Mapping[str, str]
) -> tuple[str, dict[str, str]]:
    """Return what stands for the items of files in a plan, and the files' texts by name.

    A single file that was named itself has its rows as items, if it has any.
    """
    if len(paths) == len(texts) == 1 and _is_file(paths[0]):
        ((name, text),) = texts.items()
        if name not in others and has_rows(name, text):
            return name, dict(texts)
    if not texts.keys() & others.keys() and (pattern := pattern_of([*texts], others)):
        return pattern, dict(texts)
    folder = next(name for name in _folders() if not names_matching(f"{name}/*", others))
    room = MAX_NAME - len(folder) - 1
    moved = {f"{folder}/{name[-room:].lstrip('/')}": text for name, text in texts.items()}
    if len(moved) < len(texts):
        raise InputError("Two files of --each have names that are too long.", "Rename one.")
    return f"{folder}/*", moved


def _is_file(path: str) -> bool:
    """Say whether a path names one file itself."""
    if is_storage_path(path) and not os.path.lexists(path):
        return parse_storage_paths([path])[0].folder is None
    return Path(path).is_file()


def _folders() -> Iterator[str]:
    yield "each"
    yield from (f"each-{number}" for number in count(2))


def read_lines(path: Path) -> list[str]:
    """Return the lines of a file that hold anything; `-` is standard input.

    Raises:
        InputError: It can't be read.
    """
    return [line.strip() for line in read_text(path).splitlines() if line.strip()]


async def check_models(
    options: SwarmOptions, *, orchestrated: bool, has_agents: bool = True
) -> None:
    """Refuse a model that is not available.

    Args:
        options: What was asked for.
        orchestrated: Whether the orchestrator has something to do.
        has_agents: Whether an agent has.

    Raises:
        InputError: A model's name has none of the known forms, or no server can be reached with
            what the environment says of proxies and certificates.
        ModelError: A model is not available.
    """
    # First: with a wrong variable not even Prefect can be imported.
    check_proxies()
    check_ca_files(os.environ)
    from ..models.resolve import resolve_model

    tiers: list[TierName] = [*TIERS] if has_agents else []
    if orchestrated:
        tiers.append("orchestrator")
    for tier in tiers:
        name = options.model_of(tier)
        if _is_stored(name):
            continue
        await resolve_model(name, tier)


def _is_stored(name: str) -> bool:
    # Blocks are kept on the Prefect server; the flow looks them up itself.
    return name.startswith("block:")
