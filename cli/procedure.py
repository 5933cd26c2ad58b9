"""`prefect-swarm procedure`: plans under a name, with parameters, that are run again."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import asdict
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InputError, RunDamagedError
from ..text import dollars, duration, one_line, plural
from .command import AsJson, command
from .procedure_check import check, contents_of, read_procedure
from .procedure_deploy import deploy
from .procedure_edit import edit
from .procedure_values import read_given
from .terminal.printing import print_json, print_section, print_table, print_text

if TYPE_CHECKING:
    from ..plan.procedure import Parameter, SourceCost
    from ..store.attempt import Usage
    from ..store.procedures import StoredProcedure
    from ..store.protocol import RunStore
    from ..store.runs import ListedRun
    from ..store.version_figures import VersionFigures

__all__ = ["Param", "ProcedureName", "procedure_app", "worse_note"]

ProcedureName = Annotated[
    str | None,
    typer.Option(
        "--procedure",
        metavar="NAME[@N]",
        help="Run this procedure, or version N of it; no model plans.",
    ),
]
Param = Annotated[
    list[str] | None,
    typer.Option("--param", metavar="NAME=VALUE", help="A parameter of --procedure; repeatable."),
]
_MOST_RUNS = 10
_Reference = Annotated[str, typer.Argument(metavar="NAME[@N]", help="A procedure, or a version.")]

procedure_app = typer.Typer(
    no_args_is_help=True, help="Plans under a name, with parameters, that are run again."
)


def worse_note(stored: StoredProcedure, figures: VersionFigures | None = None) -> tuple[str, ...]:
    """Say that a version does worse than the one before it, and what to do, where it does.

    Args:
        stored: The version.
        figures: Its figures, where they are known already.
    """
    from ..store.version_figures import find_worse

    if not (said := find_worse(stored, figures)):
        return ()
    return (f"{said} Go back: prefect-swarm procedure rollback {stored.procedure.name}",)


def save(
    run_name: Annotated[str, typer.Argument(metavar="RUN", help="A run whose plan it becomes.")],
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="Its name: weekly-report.")],
    param: Annotated[
        list[str] | None,
        typer.Option(
            "--param",
            metavar="NAME=TEXT",
            help="A text of the run that other runs have another value for; repeatable.",
        ),
    ] = None,
    purpose: Annotated[
        str, typer.Option("--purpose", help="What it is for; left out, the run's objective.")
    ] = "",
    as_json: AsJson = False,
) -> int:
    """Make a procedure of a run's plan, or a new version of one.

    Each text that --param names becomes a place such as {param.week}, with the text as the default.
    """
    from ..flows.fork import finished_work
    from ..plan.procedure import bounds_from, check_procedure, make_places
    from ..store.procedures import save_procedure

    work = finished_work(run_name)
    given = read_given(param or ())
    # The run's own inputs, and the procedure that it may have been a run of, are not its plan's.
    plan, found = make_places(work.plan.model_copy(update={"inputs": {}, "procedure": ""}), given)
    for parameter, text in given.items():
        if not found[parameter]:
            raise InputError(
                f"Nothing in the plan of run {work.run.run_id} has the text {text!r}.",
                f"Look at its prompts: prefect-swarm inspect {work.run.run_id}",
            )
    fields = {
        "name": name,
        "purpose": purpose or work.plan.objective,
        "run": work.run.run_id,
        "parameters": {key: _parameter(text) for key, text in given.items()},
        "took": (took := _took(work.run)),
        "bounds": bounds_from(took, _room(work.run)),
        "plan": plan,
    }
    made = check_procedure(fields, f"What was to be made of run {work.run.run_id}")
    _print(save_procedure(made), as_json=as_json)
    if as_json:
        return 0
    for parameter, texts in found.items():
        print_section(f"Places of {parameter}")
        for text in texts:
            print_text(f"  {one_line(text, 100)}")
    if names := sorted(work.plan.inputs):
        print_text(f"\nIts steps read {', '.join(names)}: give these to each run by --file.")
    return 0


def _parameter(text: str) -> Parameter:
    from ..plan.procedure import Parameter

    if re.fullmatch(r"-?(?:0|[1-9][0-9]{0,14})", text):
        return Parameter(type="integer", default=int(text))
    return Parameter(default=text)


def _took(run: RunStore) -> SourceCost:
    """Return what the dearest took of a run and the completed ones like it."""
    from ..plan.procedure import SourceCost
    from ..store.runs import list_runs, runs_alike

    ended = list_runs((run.run_id,), frozenset({"completed", "partial"}))
    own = next((each for each in ended if each.run_id == run.run_id), None)
    if own is None:
        return SourceCost()
    alike = [own, *runs_alike(own, list_runs(statuses=frozenset({"completed"})))][:_MOST_RUNS]
    return SourceCost(
        tokens=max(each.tokens or 0 for each in alike),
        usd=max((each.usd for each in alike if each.usd is not None), default=None),
        seconds=round(max(each.makespan_s or 0 for each in alike), 1),
        runs=len(alike),
    )


def _room(run: RunStore) -> int:
    """Return the tokens that a run's calls reserved at most, by how many were under way at once."""
    from ..flows.bounds import MOST_ROOM
    from ..store.attempt import most_under_way

    result = run.result()
    attempts = [] if result is None else [a for step in result.steps for a in step.attempts]
    return MOST_ROOM * most_under_way(a for a in attempts if a.usage.requests)


def new(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="YAML; - is standard input.")],
    as_json: AsJson = False,
) -> int:
    """Store a file as a procedure, or as the next version of the one that it names."""
    from ..store.procedures import save_procedure

    _print(save_procedure(read_procedure(file)), as_json=as_json)
    return 0


def list_all(as_json: AsJson = False) -> int:
    """List the procedures, by name."""
    from ..store.procedures import list_procedures
    from ..store.version_figures import find_figures

    found = list_procedures()
    if as_json:
        print_json({"procedures": [_shown(each) for each in found]})
        return 0
    if not found:
        print_text("There are no procedures. Make one of a run: prefect-swarm procedure save RUN")
        return 0
    header = ("Procedure", "Steps", "Parameters", "Runs", "Completed", "Tokens", "Purpose")
    figures = [find_figures(each.reference) for each in found]
    print_table(header, map(_row, found, figures))
    for each, known in zip(found, figures, strict=True):
        for said in worse_note(each, known):
            print_text(said)
    return 0


def _row(stored: StoredProcedure, figures: VersionFigures) -> tuple[str, ...]:
    procedure = stored.procedure
    return (
        stored.reference,
        str(len(procedure.plan.steps)),
        ", ".join(procedure.parameters),
        str(figures.runs),
        str(figures.completed),
        "" if figures.tokens is None else f"{figures.tokens:,.0f}",
        one_line(procedure.purpose, 60),
    )


def show(reference: _Reference, as_json: AsJson = False) -> int:
    """Show a procedure as the YAML that `procedure new` takes."""
    from ..plan.procedure import procedure_text
    from ..store.procedures import find_procedure, versions_of
    from ..store.version_figures import find_figures

    stored = find_procedure(reference)
    if as_json:
        print_json(_shown(stored))
        return 0
    print_text(f"# {_headline(stored)}")
    numbers = versions_of(stored.procedure.name)
    print_text(f"# Versions: {', '.join(map(str, numbers))}. It is in {stored.place}")
    figures = find_figures(stored.reference)
    print_text(f"# {_figure_words(figures)}")
    for said in worse_note(stored, figures):
        print_text(f"# {said}")
    print_text(procedure_text(stored.procedure).rstrip())
    return 0


def _figure_words(found: VersionFigures) -> str:
    if not found.runs:
        return "No run of it has ended."
    said = [
        f"{plural(found.runs, 'run')} of it ended, {found.completed} completed",
        f"{found.attempts:.2f} attempts a step",
        f"gates refused {found.refused:.0%} of them",
        f"{found.tokens or 0:,.0f} tokens a run",
        *([] if found.usd is None else [f"{dollars(found.usd)} a run"]),
        f"{duration(found.seconds or 0)} a run",
    ]
    return f"{', '.join(said)}."


def diff(
    before: Annotated[str, typer.Argument(metavar="NAME@N", help="A version.")],
    after: Annotated[str, typer.Argument(metavar="NAME[@N]", help="Another one.")],
) -> int:
    """Show what two versions have differently."""
    from ..plan.procedure import procedure_text
    from ..store.procedures import find_procedure

    old, new_one = find_procedure(before), find_procedure(after)
    lines = unified_diff(
        procedure_text(old.procedure).splitlines(),
        procedure_text(new_one.procedure).splitlines(),
        old.reference,
        new_one.reference,
        lineterm="",
    )
    print_text("\n".join(lines) or "They are the same.")
    return 0


def rollback(
    reference: Annotated[
        str,
        typer.Argument(metavar="NAME[@N]", help="A version; left out, the one before the current."),
    ],
) -> int:
    """Have a procedure's name mean an earlier version again."""
    from ..store.procedures import find_procedure, make_current, versions_of

    found = find_procedure(reference)
    name = found.procedure.name
    if "@" not in reference:
        earlier = [number for number in versions_of(name) if number < found.version]
        if not earlier:
            raise InputError(f"{found.reference} has no version before it.", "Name another one.")
        reference = f"{name}@{earlier[-1]}"
    print_text(f"{name} is now {make_current(reference).reference}; it was {found.reference}.")
    return 0


def remove(name: Annotated[str, typer.Argument(metavar="NAME", help="A procedure.")]) -> int:
    """Remove a procedure with all of its versions."""
    from ..store.procedures import remove_procedure

    print_text(f"Removed {name}: {plural(len(remove_procedure(name)), 'version')}.")
    return 0


def export(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where; it is made if need be.")],
) -> int:
    """Write each version of each procedure into a folder, as NAME@N.yaml."""
    from ..store.procedures import export_procedures

    print_text(f"Wrote {plural(len(export_procedures(folder)), 'version')} into {folder}.")
    return 0


def import_files(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="NAME@N.yaml; repeatable.")],
) -> int:
    """Store versions that were exported, under their numbers; those that are there are left out.

    The newest version of a procedure is its current one then, unless another is by `rollback`.
    """
    from ..store.procedures import import_procedures

    new = import_procedures(files)
    for reference in new:
        print_text(f"Stored {reference}.")
    if known := len(files) - len(new):
        print_text(f"{plural(known, 'version')} had been stored before.")
    return 0


def suggest(as_json: AsJson = False) -> int:
    """Name objectives that were planned anew again and again, and what a procedure would save.

    Objectives are alike that differ in figures alone. Each has been planned five times at least.
    """
    from ..store.recurring import LEAST_ALIKE, find_recurring
    from ..store.runs import list_runs

    found = find_recurring(list_runs(statuses=frozenset({"completed"})), _planning_of)
    if as_json:
        print_json({"recurring": [asdict(each) for each in found]})
        return 0
    if not found:
        print_text(f"No objective was planned anew {LEAST_ALIKE} times.")
        return 0
    for each in found:
        money = "" if each.planning_usd is None else f" and {dollars(each.planning_usd)}"
        print_section(one_line(each.objective, 100))
        print_text(
            f"Planned {each.runs} times. A run takes {each.tokens:,.0f} tokens; a procedure would "
            f"save the {each.planning_tokens:,.0f} tokens{money} of its plan."
        )
        values = (f"--param value{n or ''}={value}" for n, value in enumerate(each.values))
        words = " ".join([f"procedure save {each.run} --name NAME", *values])
        print_text(f"Save it: prefect-swarm {words}")
    return 0


def _planning_of(run: ListedRun) -> Usage | None:
    from ..store.runs import open_listed

    with suppress(RunDamagedError):
        result = open_listed(run).result()
        if result is not None and result.planning.source == "orchestrator":
            return result.planning.usage
    return None


def _print(stored: StoredProcedure, *, as_json: bool) -> None:
    if as_json:
        print_json(_shown(stored))
        return
    print_text(f"{_headline(stored)}.")
    given = [f"--param {name}=…" for name in stored.procedure.parameters]
    words = " ".join(["prefect-swarm run --procedure", stored.procedure.name, *given])
    print_text(f"Run it: {words}")


def _headline(stored: StoredProcedure) -> str:
    return f"{stored.reference} ({stored.digest}): {contents_of(stored.procedure)}"


def _shown(stored: StoredProcedure) -> dict[str, Any]:
    return {
        "version": stored.version,
        "digest": stored.digest,
        "current": stored.is_current,
        **stored.procedure.model_dump(mode="json", exclude_defaults=True, by_alias=True),
    }


for _function in (show, diff, check, suggest):
    procedure_app.command()(command(_function, "read"))
for _function in (save, new, edit, rollback, remove):
    procedure_app.command()(command(_function, "write"))
for _function in (export, deploy):
    procedure_app.command()(command(_function, "read"))
procedure_app.command("import")(command(import_files, "write"))
procedure_app.command("list")(command(list_all, "read"))
