"""`prefect-swarm procedure check`: whether a procedure can be stored, and what it would do."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import InputError
from ..files import read_text
from ..text import dollars, plural
from .procedure_values import RunOptions, check_given, read_given, read_run_options
from .terminal.printing import print_section, print_table, print_text

if TYPE_CHECKING:
    from ..flows.dry_run import DryRun
    from ..plan.procedure import ParameterValue, Procedure
    from ..store.result import SwarmResult

__all__ = ["check", "contents_of", "read_procedure"]


def check(
    source: Annotated[
        str,
        typer.Argument(
            metavar="FILE|NAME[@N]",
            help="YAML, - for standard input; or a procedure that is stored.",
        ),
    ],
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Run it, with tools that act only writing down their calls."
        ),
    ] = False,
    param: Annotated[
        list[str] | None,
        typer.Option(
            "--param", metavar="NAME=VALUE", help="A parameter of the dry run; repeatable."
        ),
    ] = None,
    file: Annotated[
        list[str] | None,
        typer.Option(
            "--file", metavar="PATH", help="A file that its steps read; repeatable, or a folder."
        ),
    ] = None,
    run_options: RunOptions = "",
) -> int:
    """Check a procedure without storing it, or see what it would do.

    A dry run asks models, and calls tools that only read.
    """
    from ..store.procedures import find_procedure

    is_file = source == "-" or Path(source).exists()
    procedure = read_procedure(Path(source)) if is_file else find_procedure(source).procedure
    if not dry_run:
        if param or file or run_options:
            raise InputError(
                "--param, --file and --run-options are of a dry run.",
                "Add --dry-run, or leave them out.",
            )
        print_text(f"{procedure.name} can be stored: {contents_of(procedure)}.")
        return 0
    given = check_given(procedure, read_given(param or ()))
    return _try(procedure, given, file, read_run_options(run_options))


def _try(
    procedure: Procedure,
    given: dict[str, ParameterValue],
    files: list[str] | None,
    run_options: dict[str, Any],
) -> int:
    from ..flows.options import checked_options
    from ..plan.procedure import fill_in
    from ..plan.procedure_steps import resolve
    from ..store.procedures import find_procedure
    from .terminal.session import run_and_report

    options = checked_options(run_options)
    plan = resolve(fill_in(procedure, given), find_procedure)
    found: list[DryRun] = []

    def begin() -> Callable[[], Awaitable[SwarmResult]]:
        from ..flows.dry_run import dry_run

        async def run() -> SwarmResult:
            found.append(await dry_run(plan, options, files))
            return found[-1].result

        return run

    code = run_and_report(f"Dry run of {procedure.name}", begin, as_json=False)
    for done in found:
        _print_calls(done)
    return code


def _print_calls(done: DryRun) -> None:
    if not done.calls:
        print_text("\nNo tool that acts was called.")
        return
    count = len(done.calls)
    print_section(f"{plural(count, 'call')} that {'was' if count == 1 else 'were'} not made")
    rows = ((each.call.step, each.call.words, each.undo or "nothing") for each in done.calls)
    print_table(("Step", "Call", "Undone by"), rows)


def read_procedure(file: Path) -> Procedure:
    """Read the procedure in a file.

    Raises:
        InputError: It can't be read, or is none.
    """
    from ..plan.procedure import parse_procedure

    return parse_procedure(read_text(file, "procedure"), f"The procedure {file}")


def contents_of(procedure: Procedure) -> str:
    """Say what a procedure has."""
    said = [
        plural(len(procedure.plan.steps), "step"),
        plural(len(procedure.parameters), "parameter"),
    ]
    if procedure.took.tokens:
        took = f"its run took {procedure.took.tokens:,} tokens"
        usd = procedure.took.usd
        said += [took if usd is None else f"{took} and {dollars(usd)}"]
    return ", ".join(said)
