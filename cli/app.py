"""The commands and what they are called."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

import typer

from .batch import batch
from .command import command
from .doctor.command import doctor
from .gates.command import gates_app
from .inspect import inspect
from .memory.app import memory_app
from .plan import plan
from .resume import resume
from .run import run
from .train import train

__all__ = ["app"]

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for function in (run, plan, batch, resume, inspect, doctor, train):
    app.command()(command(function))
app.add_typer(gates_app, name="gates")
app.add_typer(memory_app, name="memory")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"prefect-swarm {version('prefect-swarm')}")
        raise typer.Exit


@app.callback()
def about(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """An objective becomes a Prefect flow run of concurrent subagents.

    Exit codes: 0 completed, 1 failed, 2 wrong usage, 3 partly completed, 130 cancelled,
    143 cancelled by SIGTERM.
    """
