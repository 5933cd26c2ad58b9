"""`prefect-swarm memory stats` and `memory search`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...errors import InputError, MemoryStoreError
from ...memory.store import open_configured_store
from ...text import one_line, plural
from ..command import AsJson
from ..terminal.printing import print_json, print_table, print_text
from .options import EmbedderName, Namespace, entries_of, outcome, say_empty, short

if TYPE_CHECKING:
    from ...memory.graph import KuzuGraph
    from ...memory.index.generation import Generation
    from ...memory.store import Store

__all__ = ["Index", "bytes_of", "graph_of", "index_of", "readable", "search", "stats"]


@dataclass(frozen=True, slots=True)
class Index:
    """What was derived from the log.

    Attributes:
        generation: The one that counts; None if there is none, or it is damaged.
        damage: What is wrong with it, as text; "" if nothing is.
        void: Why one that is whole isn't used; "" if it is.
    """

    generation: Generation | None = None
    damage: str = ""
    void: str = ""


@contextmanager
def index_of(store: Store) -> Generator[Index]:
    """Look at the index of a memory, every byte of it; nothing is embedded or changed.

    Raises:
        MemoryStoreError: The log can't be read.
    """
    from ...memory.index.generation import Damage, open_current, void_reason

    found = open_current(store.place.folder)
    if found is None:
        yield Index()
    elif isinstance(found, Damage):
        yield Index(damage=str(found))
    else:
        try:
            yield Index(found, void=void_reason(found.manifest, store.log, store.log.forgotten()))
        finally:
            found.close()


@contextmanager
def graph_of(store: Store) -> Generator[KuzuGraph | None]:
    """Open the graph read-only; None if there is none that can be trusted.

    Raises:
        MemoryStoreError: The log can't be read.
    """
    with index_of(store) as index:
        if index.generation is None or index.void:
            yield None
            return
        try:
            graph = index.generation.graph()
        except MemoryStoreError:
            yield None
            return
        try:
            yield graph
        finally:
            graph.close()


_RIGHT = frozenset({"Attempts", "Succeeded"})


def stats(
    namespace: Annotated[
        str | None, typer.Option("--namespace", help="Count this one only, not all.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Show the size of the memory, outcomes, and the state of index and forgetting."""
    from ...memory.forgetting import find_unfinished

    with open_configured_store() as store:
        counts = _count(store, namespace)
        unfinished = find_unfinished(store)
    if as_json:
        files = unfinished.files if unfinished else ()
        print_json({**counts, "unfinished_forgetting": list(files)})
    elif not counts["episodes"]:
        say_empty(namespace)
        _print_index(counts["index"], counts["last_position"])
    else:
        _print(counts)
    if unfinished and not as_json:
        print_text(f"{unfinished.problem}\n  {unfinished.advice}")
    return 0


def _count(store: Store, namespace: str | None) -> dict[str, Any]:
    runs: set[tuple[str, str]] = set()
    by_namespace: Counter[tuple[str, bool]] = Counter()
    by_type: Counter[tuple[str, bool]] = Counter()
    positions: list[int] = []
    for position, episode in entries_of(store.log, namespace):
        runs.add((episode.namespace, episode.run))
        by_namespace[episode.namespace, episode.succeeded] += 1
        by_type[episode.task_type, episode.succeeded] += 1
        positions.append(position)
    good = sum(count for (_, succeeded), count in by_type.items() if succeeded)
    with index_of(store) as index:
        index_counts = _index(index, positions, store.place.folder)
    return {
        "folder": str(store.place.folder),
        "log": "postgresql" if store.place.dsn else "sqlite",
        "episodes": len(positions),
        "runs": len(runs),
        "succeeded": good,
        "success_rate": good / len(positions) if positions else None,
        "last_position": store.log.last_position(),
        "by_namespace": _tally(by_namespace),
        "by_task_type": _tally(by_type),
        "bytes": bytes_of(store.place.folder),
        "index": index_counts,
    }


def _tally(counts: Counter[tuple[str, bool]]) -> dict[str, dict[str, int]]:
    names = sorted({name for name, _ in counts})
    return {
        name: {
            "episodes": counts[name, True] + counts[name, False],
            "succeeded": counts[name, True],
        }
        for name in names
    }


def _index(index: Index, positions: list[int], folder: Path) -> dict[str, Any]:
    manifest = index.generation.manifest if index.generation else None
    upto = manifest.last_position if manifest and not index.void else 0
    return {
        "generation": manifest.number if manifest else None,
        "position": manifest.last_position if manifest else None,
        "newer": sum(position > upto for position in positions),
        "embedder": manifest.embedder if manifest else None,
        "consolidated_at": (folder / "current").stat().st_mtime if manifest else None,
        "void": index.void or None,
        "damage": index.damage or None,
    }


def bytes_of(folder: Path) -> dict[str, int]:
    """Count what lies on this machine's disk; a PostgreSQL server's bytes are its own."""
    found = {"log": 0, "index": 0, "personas": 0}
    for path in folder.rglob("*"):
        first = path.relative_to(folder).parts[0]
        part = next((name for name in ("episodes", "personas") if first.startswith(name)), "index")
        try:
            if path.is_file():
                found["log" if part == "episodes" else part] += path.stat().st_size
        except FileNotFoundError:
            continue
    return {"total": sum(found.values()), **found}


def _print(counts: dict[str, Any]) -> None:
    size = counts["bytes"]
    where = "PostgreSQL" if counts["log"] == "postgresql" else counts["folder"]
    print_text(
        f"{plural(counts['episodes'], 'episode')} of {plural(counts['runs'], 'run')} in {where}"
    )
    print_text(
        f"{counts['success_rate']:.0%} of them succeeded · {readable(size['total'])} on disk: "
        + ", ".join(f"{part} {readable(size[part])}" for part in ("log", "index", "personas"))
    )
    _print_index(counts["index"], counts["last_position"])
    for title, name in (("Namespace", "by_namespace"), ("Type of task", "by_task_type")):
        print_text("")
        rows = [
            (kind, f"{tally['episodes']:,}", f"{tally['succeeded'] / tally['episodes']:.0%}")
            for kind, tally in counts[name].items()
        ]
        print_table((title, "Attempts", "Succeeded"), rows, right=_RIGHT)


def _print_index(index: dict[str, Any], last: int) -> None:
    rebuild = "repair it: prefect-swarm memory rebuild"
    if index["damage"]:
        print_text(f"Index: damaged, everything is searched from the log. {index['damage']}")
        print_text(f"  To {rebuild}")
        return
    if index["generation"] is None:
        print_text("Index: none yet, everything is searched from the log.")
        return
    when = datetime.fromtimestamp(index["consolidated_at"]).astimezone()
    print_text(
        f"Index: generation {index['generation']} of {when:%Y-%m-%d %H:%M}, up to position "
        f"{index['position']:,} of {last:,}, vectors by {index['embedder']}; "
        f"{plural(index['newer'], 'newer episode')}"
    )
    if index["void"]:
        print_text(f"  It isn't used: {index['void']}. To {rebuild}")


def readable(count: int) -> str:
    """Write bytes as people read them."""
    size = float(count)
    for unit in ("bytes", "KB", "MB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} GB"


def search(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The prompt of a step.")],
    limit: Annotated[int, typer.Option(min=1, help="Attempts at most.")] = 10,
    namespace: Namespace = "default",
    embedder: EmbedderName = "wordllama",
    as_json: AsJson = False,
) -> int:
    """Find the attempts whose prompts are most like a text, the newest included."""
    if not text.strip():
        raise InputError("The text is empty.", "Say what to look for.")
    with open_configured_store(embedder) as store:
        found = store.similar(namespace, text, limit)
    if as_json:
        rows = [
            {
                "similarity": round(similarity, 4),
                "position": position,
                "attempt": short(episode.key),
                **episode.model_dump(mode="json", include={"run", "step", "persona", "tier"}),
                "number": episode.attempt,
                "outcome": outcome(episode),
                "prompt": episode.prompt,
            }
            for (position, episode), similarity in found
        ]
        print_json({"text": text, "namespace": namespace, "matches": rows})
    elif not found:
        say_empty(namespace)
    else:
        print_table(
            ("Similarity", "Attempt", "Persona", "Tier", "Outcome", "Prompt"),
            (
                (
                    f"{similarity:.2f}",
                    short(episode.key),
                    one_line(episode.persona, 30),
                    episode.tier,
                    outcome(episode),
                    one_line(episode.prompt, 300),
                )
                for (_, episode), similarity in found
            ),
            right=frozenset({"Similarity"}),
        )
        print_text("")
        print_text(f"Look closer: prefect-swarm memory show {short(found[0][0].episode.key)}")
    return 0
