"""`prefect-swarm memory forget`: episodes and all that was made of them are removed for good."""

from __future__ import annotations

import sys
from collections import Counter
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...errors import InputError, MemoryStoreError
from ...memory.episode import Entry, Selection
from ...text import one_line, plural
from ..command import AsJson
from ..output.printing import print_json, print_table, print_text
from .evidence import forget_evidence, personas_meant
from .index import built, index_of
from .options import EmbedderName, Namespace, opened, run_named, runs_called, short_run

if TYPE_CHECKING:
    from ...memory.store import Store

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
    from ...memory.log.rows import check_forgettable

    asked = _selection(run, step, persona, before, containing, everything=everything)
    check_forgettable(asked)
    with opened(embedder) as store:
        which = _with_whole_run(store, namespace, asked)
        meant = store.log.select(namespace, which)
        invented = personas_meant(store.personas, namespace, which)
        if not meant and not invented:
            # An earlier call may have been killed in its middle.
            store.log.vacuum()
            _finish(store)
            _say_nothing(as_json=as_json)
            return 0
        if not yes:
            if as_json or not asks():
                raise InputError(
                    f"{_meant(meant, invented)} would be forgotten, and nobody can be asked.",
                    "Nothing was removed. Give --yes to remove it without being asked.",
                )
            _show(meant, invented)
            if not _agreed():
                print_text("Nothing was removed.")
                return 1
        told = _forget(store, namespace, which, meant, invented)
    if as_json:
        print_json(told)
    else:
        print_text(f"Forgotten: {_counted(told['forgotten'], told['personas'])}.")
        print_text("What runs wrote besides stays: their folders in runs, and Prefect's server.")
    return 0


def _selection(
    run: str | None,
    step: str | None,
    persona: str | None,
    before: str | None,
    containing: str | None,
    *,
    everything: bool,
) -> Selection:
    given = {"run": run, "step": step, "persona": persona, "containing": containing}
    for name, value in given.items():
        if value is not None and not value.strip():
            raise InputError(f"--{name} is empty.", "Say which, or leave it out.")
    if everything and (before or any(given.values())):
        raise InputError(
            "--everything was given with a condition.",
            "Nothing was removed. Give the one or the other.",
        )
    time = None if before is None else _time(before)
    return Selection.model_validate({**given, "before": time, "everything": everything})


def _time(text: str) -> float:
    try:
        return datetime.fromisoformat(text.strip()).astimezone().timestamp()
    except (ValueError, OverflowError, OSError):
        raise InputError(
            f"--before got {text!r}, which is no date.",
            "Write 2026-01-31, 2026-01-31T12:00 (this machine's time) or 2026-01-31T12:00Z.",
        ) from None


def _with_whole_run(store: Store, namespace: str, which: Selection) -> Selection:
    if which.run is None or not runs_called(store.log, namespace, which.run):
        return which
    return which.model_copy(update={"run": run_named(store.log, namespace, which.run)})


def _forget(
    store: Store,
    namespace: str,
    which: Selection,
    meant: list[Entry],
    invented: tuple[str, ...],
) -> dict[str, Any]:
    keys = {entry.episode.key for entry in meant}
    # The log goes last: killed before that, the same command finds all of it again.
    changed = forget_evidence(store.personas, namespace, which, invented, keys)
    gone = store.log.forget(namespace, which)
    return {
        "forgotten": len(gone),
        "personas": list(invented),
        "decisions": changed,
        "generation": _finish(store),
    }


def _finish(store: Store) -> int | None:
    """Build the index anew, if it has what was forgotten; return its number, None without one."""
    from ...memory.learning.storage import clear_beliefs

    clear_beliefs(store.place.folder)
    with index_of(store) as index:
        there = index.generation is not None or bool(index.damage)
    if not there:
        return None
    try:
        return built(store).generation
    except MemoryStoreError as error:
        raise MemoryStoreError(
            f"The episodes are gone from the log, but the index that was made of them is still on "
            f"the disk: {error.problem}",
            "Build it anew: prefect-swarm memory rebuild",
        ) from error


def _show(meant: list[Entry], invented: tuple[str, ...]) -> None:
    runs = Counter(short_run(entry.episode.run) for entry in meant)
    first = {short_run(entry.episode.run): entry.episode for entry in reversed(meant)}
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
    print_text(f"{_meant(meant, invented)} will be forgotten for good.")


def asks() -> bool:
    """Whether somebody is there to be asked."""
    return sys.stdin.isatty()


def _agreed() -> bool:
    try:
        return typer.confirm("Forget them?", err=True)
    except typer.Abort:
        return False


def _meant(meant: list[Entry], invented: tuple[str, ...]) -> str:
    return _counted(len(meant), invented)


def _counted(episodes: int, invented: list[str] | tuple[str, ...]) -> str:
    personas = f" and the invented {', '.join(invented)}" if invented else ""
    return f"{plural(episodes, 'episode')}{personas}"


def _say_nothing(*, as_json: bool) -> None:
    if as_json:
        print_json({"forgotten": 0, "personas": [], "decisions": 0, "generation": None})
    else:
        print_text("Nothing in the memory is meant; nothing was removed.")
