"""`prefect-swarm memory forget`: episodes and all that was made of them are removed for good."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from ...errors import InputError
from ...exit_codes import ExitCode
from ...memory.configured import open_configured_store
from ...memory.run_names import short_run
from ...text import one_line, plural
from ..command import AsJson
from ..output.printing import print_json, print_table, print_text
from .options import EmbedderName, Namespace

if TYPE_CHECKING:
    from ...memory.erasure import RemovedTraces, Traces
    from ...memory.forgetting import Forgotten
    from ...memory.selecting import ResolvedSelection

__all__ = ["asks", "counted", "forget", "show_done", "show_meant"]


_SHOWN = 10


def show_meant(meant: ResolvedSelection) -> None:
    """Print the runs of which attempts are meant."""
    runs = Counter(short_run(entry.episode.run) for entry in meant.entries)
    first = {short_run(entry.episode.run): entry.episode for entry in reversed(meant.entries)}
    if runs:
        print_table(
            ("Run", "Attempts", "Objective or prompt"),
            (
                (run, f"{count:,}", one_line(first[run].objective or first[run].prompt, 200))
                for run, count in runs.most_common(_SHOWN)
            ),
            right=frozenset({"Attempts"}),
        )
    if len(runs) > _SHOWN:
        print_text(f"… and {plural(len(runs) - _SHOWN, 'more run')}")


def show_done(done: Forgotten) -> None:
    """Print what was removed, and what isn't this command's to remove."""
    print_text(f"Forgotten: {counted(done.episodes, done.personas, done.elsewhere)}.")
    if (elsewhere := done.elsewhere) is None:
        print_text(
            "What runs wrote besides stays, unless --everywhere is given: their folders in runs, "
            "cached gate results, stored prompts, Prefect's results; and what Prefect's server "
            "stores."
        )
        return
    for run in elsewhere.executed:
        print_text(f"Run {run} is being executed and stays. When it has ended, forget it again.")
    print_text(
        "What Prefect's server stores of flow runs stays: prefect flow-run delete ID. So do "
        "exports and backups."
    )


def counted(episodes: int, invented: tuple[str, ...], traces: Traces | RemovedTraces | None) -> str:
    """Say how much that is."""
    personas = f" and the invented {', '.join(invented)}" if invented else ""
    text = f"{plural(episodes, 'episode')}{personas}"
    if traces is None:
        return text
    found = {
        "run folder": traces.runs,
        "stored result": traces.results,
        "cached gate result": traces.gates,
        "stored prompt": traces.prefixes,
    }
    counts = {
        name: many if isinstance(many, int) else len(many) for name, many in found.items() if many
    }
    return "; ".join([text, *(plural(count, name) for name, count in counts.items())])


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
    from ...memory.erasure import Traces, check_everywhere, find_traces
    from ...memory.forgetting import forget_selection
    from ...memory.selecting import make_selection, resolve_selection

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
