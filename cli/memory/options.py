"""Which memory the commands look into, and what people name in it."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from ...errors import InputError
from ...memory.episode import Entry, Episode, EpisodeKey, Selection
from ..output.printing import print_text

if TYPE_CHECKING:
    from ...memory.protocols import EpisodeLog
    from ...memory.store import Store

__all__ = [
    "EmbedderName",
    "Namespace",
    "entries_of",
    "opened",
    "outcome",
    "run_named",
    "runs_called",
    "say_empty",
    "short",
    "short_run",
]

Namespace = Annotated[str, typer.Option("--namespace", help="Whose memory.")]
EmbedderName = Annotated[
    str,
    typer.Option(
        "--embedder", help="What makes vectors: wordllama, llamacpp:PATH or PROVIDER:MODEL."
    ),
]

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@contextmanager
def opened(embedder: str = "wordllama") -> Generator[Store]:
    """Open the memory that the settings name, and close it.

    Raises:
        InputError: The embedder's name is none.
        MemoryStoreError: The memory can't be opened.
    """
    from ...flows.options import SwarmOptions
    from ...flows.run_memory import place_of
    from ...memory.embedding.factory import make_embedder
    from ...memory.store import Store

    make_embedder(embedder)
    store = Store(place_of(SwarmOptions(embedder=embedder)))
    try:
        yield store
    finally:
        store.close()


def entries_of(log: EpisodeLog, namespace: str | None = None) -> Iterator[Entry]:
    """Go through the log in its order, through one namespace or all."""
    from ...memory.log.batches import portions

    for portion in portions(log):
        for entry in portion:
            if namespace in (None, entry.episode.namespace):
                yield entry


def runs_called(log: EpisodeLog, namespace: str, name: str) -> list[str]:
    """Return the flow runs' ids that a name may mean: an id, or the short one commands print."""
    if log.select(namespace, Selection(run=name)):
        return [name]
    asked = name.replace("-", "").lower()
    return [run for run in _runs(log, namespace) if asked in (short_run(run), run.replace("-", ""))]


def run_named(log: EpisodeLog, namespace: str, name: str) -> str:
    """Return the flow run's id that a run is remembered under.

    Raises:
        InputError: There is none, or several have that short name.
    """
    found = runs_called(log, namespace, name)
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(f"Several runs are called {name!r}.", f"Say which: {', '.join(found)}.")
    last = ", ".join([short_run(run) for run in _runs(log, namespace)][-5:])
    raise InputError(
        f"The memory of namespace {namespace!r} has nothing of a run {name!r}.",
        f"The last ones are {last}." if last else "It is empty.",
    )


def short_run(run: str) -> str:
    """Return a run's name as the other commands print it."""
    from ...runs import run_id_of

    return run_id_of(run) if _UUID.fullmatch(run) else run


def short(key: EpisodeKey) -> str:
    """Return an attempt's name as `memory show` takes it."""
    return str(key._replace(run=short_run(key.run)))


def _runs(log: EpisodeLog, namespace: str) -> dict[str, None]:
    return dict.fromkeys(entry.episode.run for entry in entries_of(log, namespace))


def outcome(episode: Episode) -> str:
    """Say in a word how an attempt ended."""
    return "succeeded" if episode.succeeded else str(episode.category or "failed")


def say_empty(namespace: str | None = None) -> None:
    """Say that nothing is remembered yet."""
    whose = "" if namespace is None else f" of namespace {namespace!r}"
    print_text(f"The memory{whose} is empty: nothing has been remembered yet.")
