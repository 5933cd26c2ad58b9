"""`prefect-swarm memory forget`: episodes and all that was made of them are removed for good."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from ...errors import InputError
from ...memory.configured import open_configured_store
from ...memory.run_names import short_run
from ...text import one_line, plural
from ..command import AsJson
from ..output.printing import print_json, print_table, print_text
from .options import EmbedderName, Namespace

if TYPE_CHECKING:
    from ...memory.selecting import ResolvedSelection

__all__ = ["asks", "forget"]

_SHOWN = 10


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
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask.")] = False,
    namespace: Namespace = "default",
    embedder: EmbedderName = "wordllama",
    as_json: AsJson = False,
) -> int:
    """Remove episodes for good: texts, vectors, graph, evidence. All conditions have to hold."""
    from ...memory.forgetting import forget_selection
    from ...memory.selecting import make_selection, resolve_selection

    time = None if before is None else _time(before)
    which = make_selection(run, step, persona, time, containing, everything=everything, mark="--")
    with open_configured_store(embedder) as store:
        meant = resolve_selection(store, namespace, which)
        if meant and not yes:
            if as_json or not asks():
                raise InputError(
                    f"{_counted(len(meant.entries), meant.personas)} would be forgotten, and "
                    "there is no terminal to confirm it on.",
                    "Nothing was removed. Give --yes to remove it without confirmation.",
                )
            _show(meant)
            if not _agreed():
                print_text("Nothing was removed.")
                return 1
        done = forget_selection(store, meant)
    if as_json:
        record = asdict(done)
        print_json({"forgotten": record.pop("episodes"), **record})
    elif not meant:
        print_text("Nothing in the memory is meant; nothing was removed.")
    else:
        print_text(f"Forgotten: {_counted(done.episodes, done.personas)}.")
        print_text("What runs wrote besides stays: their folders in runs, and Prefect's server.")
    return 0


def _time(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text.strip()).astimezone()
    except (ValueError, OverflowError, OSError):
        raise InputError(
            f"--before got {text!r}, which is not a date.",
            "Write 2026-01-31, 2026-01-31T12:00 (this machine's time) or 2026-01-31T12:00Z.",
        ) from None


def _show(meant: ResolvedSelection) -> None:
    runs = Counter(short_run(entry.episode.run) for entry in meant.entries)
    first = {short_run(entry.episode.run): entry.episode for entry in reversed(meant.entries)}
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
    print_text(f"{_counted(len(meant.entries), meant.personas)} will be forgotten for good.")


def asks() -> bool:
    """Whether somebody is there to be asked."""
    return sys.stdin.isatty()


def _agreed() -> bool:
    try:
        return typer.confirm("Forget them?", err=True)
    except typer.Abort:
        return False


def _counted(episodes: int, invented: tuple[str, ...]) -> str:
    personas = f" and the invented {', '.join(invented)}" if invented else ""
    return f"{plural(episodes, 'episode')}{personas}"
