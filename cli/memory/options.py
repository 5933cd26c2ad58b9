"""Options that the memory commands share, and their words for findings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...memory.episode import Episode, EpisodeKey, LogEntry
from ...memory.erasure import short_run
from ..terminal.printing import print_text

if TYPE_CHECKING:
    from ...memory.protocols import EpisodeLog

__all__ = ["AsHtml", "EmbedderName", "Namespace", "entries_of", "outcome", "say_empty", "short"]

Namespace = Annotated[str, typer.Option("--namespace", help="Whose memory.")]
AsHtml = Annotated[
    Path | None,
    typer.Option("--html", metavar="FILE", help="Write it to an HTML file, with all its texts."),
]
EmbedderName = Annotated[
    str,
    typer.Option(
        "--embedder", help="What makes vectors: wordllama, llamacpp:PATH or PROVIDER:MODEL."
    ),
]


def entries_of(log: EpisodeLog, namespace: str | None = None) -> Iterator[LogEntry]:
    """Go through the log in its order, through one namespace or all."""
    from ...memory.log.rows import read_batches

    for batch in read_batches(log):
        for entry in batch:
            if namespace in (None, entry.episode.namespace):
                yield entry


def short(key: EpisodeKey) -> str:
    """Return an attempt's name as `memory show` takes it."""
    return str(key._replace(run=short_run(key.run)))


def outcome(episode: Episode) -> str:
    """Say in a word how an attempt ended."""
    return "succeeded" if episode.succeeded else str(episode.category or "failed")


def say_empty(namespace: str | None = None) -> None:
    """Say that nothing is remembered yet."""
    whose = "" if namespace is None else f" of namespace {namespace!r}"
    print_text(f"The memory{whose} is empty: nothing has been remembered yet.")
