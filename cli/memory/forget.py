"""`prefect-swarm memory forget`: episodes and all that was made of them are removed for good."""

from __future__ import annotations

import sys
from dataclasses import asdict
from datetime import datetime
from typing import Annotated

import typer

from ...errors import InputError
from ...exit_codes import ExitCode
from ...memory.configured import open_configured_store
from ..command import AsJson
from ..output.printing import print_json, print_text
from .forgotten import counted, show_done, show_meant
from .options import EmbedderName, Namespace

__all__ = ["asks", "forget"]


def forget(
    run: Annotated[str | None, typer.Option(help="All of this run.")] = None,
    step: Annotated[str | None, typer.Option(help="Of this step.")] = None,
    persona: Annotated[str | None, typer.Option(help="By this persona.")] = None,
    before: Annotated[
        str | None, typer.Option(metavar="DATE", help="Ended before: 2026-01-31[T12:00[+01:00]].")
    ] = None,
    containing: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Prompt, objective, error or artifact has this text."),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--everything", help="All of the namespace, and nothing else.")
    ] = False,
    everywhere: Annotated[
        bool,
        typer.Option(
            "--everywhere",
            help="Outside the memory too: run folders, Prefect's local results of these runs, "
            "cached gate results.",
        ),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask.")] = False,
    namespace: Namespace = "default",
    embedder: EmbedderName = "wordllama",
    as_json: AsJson = False,
) -> int:
    """Remove episodes for good: texts, vectors, graph, evidence. All conditions have to hold."""
    from ...memory.forgetting import forget_selection
    from ...memory.selecting import make_selection, resolve_selection
    from ...memory.traces.finding import Traces, check_everywhere, find_traces

    time = None if before is None else _time(before)
    which = make_selection(run, step, persona, time, containing, everything=everything, mark="--")
    if everywhere:
        check_everywhere(which, "--")
    with open_configured_store(embedder) as store:
        meant = resolve_selection(store, namespace, which)
        traces = find_traces(namespace, meant.which) if everywhere else Traces()
        if (meant or traces) and not yes:
            what = counted(len(meant.entries), meant.personas, traces)
            if as_json or not asks():
                raise InputError(
                    f"{what} would be forgotten, and there is no terminal to confirm it on.",
                    "Nothing was removed. Give --yes to remove it without confirmation.",
                )
            show_meant(meant)
            print_text(f"{what} will be forgotten for good.")
            if not _agreed():
                print_text("Nothing was removed.")
                return ExitCode.FAILED
        done = forget_selection(store, meant, traces if everywhere else None)
    if as_json:
        record = asdict(done)
        print_json({"forgotten": record.pop("episodes"), **record})
    elif not meant and not traces:
        print_text("Nothing in the memory is meant; nothing was removed.")
    else:
        show_done(done)
    return 0


def _time(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text.strip()).astimezone()
    except (ValueError, OverflowError, OSError):
        raise InputError(
            f"--before got {text!r}, which is not a date.",
            "Write 2026-01-31, 2026-01-31T12:00 (this machine's time) or 2026-01-31T12:00Z.",
        ) from None


def asks() -> bool:
    """Whether somebody is there to be asked."""
    return sys.stdin.isatty()


def _agreed() -> bool:
    try:
        return typer.confirm("Forget them?", err=True)
    except typer.Abort:
        return False
