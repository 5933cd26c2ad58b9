"""`prefect-swarm report`: a stored run as one HTML file that a browser shows without a network."""

from __future__ import annotations

import sys
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from ..errors import InputError
from .output.files import write_html
from .output.printing import print_text
from .resume import RunName
from .runs import is_executed

__all__ = ["report"]

_STDOUT = Path("-")


def report(
    run_name: RunName,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html",
            metavar="FILE",
            help="Where it is written; `-` is standard output.",
            show_default="report-RUN.html",
        ),
    ] = None,
    show: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
) -> int:
    """Write a stored run as one HTML file: the answer, graph, timeline, costs and each step.

    The file needs no network and holds no secrets, so that it can be sent to somebody. A run that
    has not ended is shown as far as it is.
    """
    from ..flows.html_report import folder_html
    from ..runs import find_run

    if show and html == _STDOUT:
        raise InputError("--open needs a file.", "Give --html another name than `-`.")
    run = find_run(run_name)
    document = folder_html(run, is_running=is_executed(run.folder))
    if html == _STDOUT:
        sys.stdout.write(document)
        return 0
    path = html or Path(f"report-{run.run_id}.html")
    write_html(path, document)
    print_text(f"Written to {path.resolve()}")
    if show and not webbrowser.open(path.resolve().as_uri()):
        print_text("No browser could be opened: open the file yourself.")
    return 0
