"""Recall and consolidation of the memory, as a section of docs/reference/benchmarks.md."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

__all__ = ["run"]

SIZES = (1_000, 10_000, 100_000)
SECTION = """\
## Memory: recall and consolidation

How long does a search take in a large memory, and what does its upkeep? Synthetic episodes of
usual size in one SQLite log. A search gives the ten most similar, through the index and the
{tail:,} newest episodes that aren't in it yet, with the query's embedding at hand. A consolidation
builds vectors and graph anew, or adds {tail:,} episodes, in a process of its own; a second one
writes the graph, and peaks are those of both. The first build embeds, too. Goal: p95 ≤ 5 ms at
100,000 episodes.

| Episodes | p50, ms | p95, ms | CPU p50, ms | CPU p95, ms | found of the true ten \
| first build, s | build, s | add, s | peak, MiB | peak of adding, MiB |
|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|
{rows}

With the most episodes each takes {log:,.0f} bytes in the log and {indexes:,.0f} in the indexes.
"""


def run() -> str:
    """Measure."""
    sys.path.insert(0, str(Path(__file__).parent / "memory"))
    from recall import TAIL, measure

    found: list[dict[str, Any]] = []
    for size in SIZES:
        with TemporaryDirectory(prefix="recall-") as folder:
            found.append(measure(size, Path(folder)))
    return SECTION.format(
        tail=TAIL,
        rows="\n".join(f"{_search(row)} {_build(row)}" for row in found),
        log=found[-1]["log_bytes_an_episode"],
        indexes=found[-1]["generation_bytes_an_episode"],
    )


def _search(row: dict[str, Any]) -> str:
    wall, cpu = row["search_ms"], row["search_cpu_ms"]
    times = " | ".join(f"{ms:.2f}" for ms in (wall["p50"], wall["p95"], cpu["p50"], cpu["p95"]))
    return f"| {row['episodes']:,} | {times} | {row['recall_at_10']:.1%} |"


def _build(row: dict[str, Any]) -> str:
    first, full, more = row["full_with_embedding"], row["full"], row["incremental"]
    seconds = " | ".join(f"{done['wall_s']:.1f}" for done in (first, full, more))
    memory = f"{full['peak_mib']:.0f} | {more['peak_mib']:.0f}"
    return f"{seconds} | {memory} |"
