"""`prefect-swarm memory stats`: how much is remembered, and what its index stands at."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...memory.configured import open_configured_store
from ...text import plural
from ..command import AsJson
from ..output.printing import print_json, print_table, print_text
from .index import Index, index_of
from .options import entries_of, say_empty

if TYPE_CHECKING:
    from ...memory.store import Store

__all__ = ["bytes_of", "readable", "stats"]

_RIGHT = frozenset({"Attempts", "Succeeded"})


def stats(
    namespace: Annotated[
        str | None, typer.Option("--namespace", help="Count this one only, not all.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Say how much is remembered, how it ended, and whether index and forgetting are whole."""
    from ...memory.unfinished import find_unfinished

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
