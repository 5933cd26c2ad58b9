"""How long recall and consolidation take, and how much room they need.

    python benches/memory/recall.py [--sizes 1000,10000,100000] [--json FILE]

Each size has a log of its own in a temporary folder, filled with synthetic episodes. Consolidations
run in processes of their own, so that peak memory is that of one. Searches are given vectors: the
embedder's time isn't in them. The tail is 1,000 episodes that no generation has.

Times of searches are told twice: as they were, and as processor time, which is what they would take
on a machine with nothing else to do.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from prefect_swarm.errors import Category
from prefect_swarm.memory.embedding import make_embedder
from prefect_swarm.memory.episode import Episode, GateOutcome
from prefect_swarm.memory.index.faiss import search_tail
from prefect_swarm.memory.index.generation_store import consolidate
from prefect_swarm.memory.index.reader import Reader
from prefect_swarm.memory.log.sqlite import SqliteLog

TAIL, QUERIES, K, BATCH = 1000, 300, 10, 2000


def words(text: str) -> list[str]:
    return text.split()


VERBS = words("Write Describe Compare Summarise Translate Review Explain Plan Test Draft List")
THINGS = words("poem report function script table recipe letter essay parser menu story budget")
TOPICS = words(
    "sea mountains finance python physics biology history cities trains taxes football jazz "
    "cooking gardens robots weather novels medicine law chess energy coffee bread markets"
)
READERS = words("children experts managers students doctors lawyers engineers tourists")


def prompt(dice: random.Random) -> str:
    topics = " and ".join(dice.sample(TOPICS, 2))
    return (
        f"{dice.choice(VERBS)} a {dice.choice(THINGS)} about {topics} for {dice.choice(READERS)} "
        f"in {dice.randint(20, 400)} words, edition {dice.randint(1, 10**6)}"
    )


def run_of(number: int, dice: random.Random) -> list[Episode]:
    """Five episodes: three steps, one of which fails and is tried again twice."""
    common: dict[str, Any] = {
        "run": f"{number:032x}",
        "objective": "Make the brochure, part by part",
        "task_type": dice.choice(["code/python", "chat/text", "doc/text"]),
        "persona": f"persona-{dice.randint(1, 18)}",
        "tier": "worker",
        "model": "embedded",
        "started_at": number,
        "ended_at": number + 2.0,
        "duration_s": 2.0,
        "reward": 0.5,
        "excerpt": "def f(x):\n    return x\n" * 8,
    }
    failed: dict[str, Any] = {
        "succeeded": False,
        "category": Category.CODE,
        "error": f"gate lint: line {number % 90}: {dice.choice(['F401', 'F821', 'E741'])} 'x'",
        "gates": (GateOutcome(gate="lint", status="failed", category=Category.CODE),),
    }
    texts = [prompt(dice) for _ in range(3)]
    return [
        Episode(step="S1", attempt=1, prompt=texts[0], succeeded=True, **common),
        Episode(step="S2", attempt=1, prompt=texts[1], upstream=("S1",), **common, **failed),
        Episode(
            step="S2",
            attempt=2,
            prompt=texts[1],
            upstream=("S1",),
            cause="RETRY",
            **common,
            **failed,
        ),
        Episode(step="S2", attempt=3, prompt=texts[1], cause="ESCALATE", succeeded=True, **common),
        Episode(step="S3", attempt=1, prompt=texts[2], upstream=("S2",), succeeded=True, **common),
    ]


def fill(log: SqliteLog, first_run: int, episodes: int) -> None:
    dice = random.Random(first_run)
    batch: list[Episode] = []
    for number in range(first_run, first_run + episodes // 5):
        batch += run_of(number, dice)
        if len(batch) >= BATCH:
            log.append(batch)
            batch = []
    log.append(batch)


def size_of(path: Path) -> int:
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


def consolidated(folder: Path, full: str) -> dict[str, float]:
    """Consolidate in a process of its own."""
    command = [sys.executable, __file__, "--consolidate", str(folder), full]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def consolidate_here(folder: Path, full: bool) -> None:
    log = SqliteLog(folder / "episodes.sqlite")
    embedder = make_embedder()
    embedder.embed(["load"])
    began = time.process_time()
    done = consolidate(log, folder, embedder, full=full)
    used = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # The graph is written by a process of its own, beside this one.
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    used += children.ru_utime + children.ru_stime
    peak_mib = (peak + children.ru_maxrss) / 1024
    print(json.dumps({"wall_s": done.seconds, "cpu_s": used, "peak_mib": peak_mib}))


def measure(size: int, folder: Path) -> dict[str, Any]:
    log = SqliteLog(folder / "episodes.sqlite")
    fill(log, 0, size)
    with_embedding = consolidated(folder, "full")
    log_bytes = size_of(folder) - size_of(folder / "generations")
    full = consolidated(folder, "full")
    generation = max((folder / "generations").iterdir(), key=lambda path: int(path.name))
    generation_bytes = size_of(generation)
    fill(log, size, TAIL)
    embedder = make_embedder()
    reader = Reader(log, folder, embedder)
    dice = random.Random(7)
    queries = embedder.embed([prompt(dice) for _ in range(QUERIES)])
    reader.search_vector("default", queries[0], K)
    wall, cpu, found = [], [], []
    for query in queries:
        began, used = time.perf_counter(), time.thread_time()
        found.append(reader.search_vector("default", query, K))
        wall.append(1000 * (time.perf_counter() - began))
        cpu.append(1000 * (time.thread_time() - used))
    status = reader.status()
    assert (status.indexed, status.tail) == (size, TAIL), status
    recall = exactness(log, embedder.name, queries, found)
    reader.close()
    log.close()
    return {
        "episodes": size,
        "search_ms": percentiles(wall),
        "search_cpu_ms": percentiles(cpu),
        "recall_at_10": recall,
        "full_with_embedding": with_embedding,
        "full": full,
        "incremental": consolidated(folder, "more"),
        "log_bytes_an_episode": log_bytes / size,
        "generation_bytes_an_episode": generation_bytes / size,
    }


def exactness(log: SqliteLog, name: str, queries: Any, found: list[Any]) -> float:
    """Of the ten most similar by brute force, how many were found, or ones as similar."""
    rows, positions, after = [], [], 0
    while entries := log.since(after, BATCH):
        stored = log.vectors(name, [entry.episode.digest for entry in entries])
        rows += [stored[entry.episode.digest] for entry in entries]
        positions += [entry.position for entry in entries]
        after = positions[-1]
    vectors = np.stack(rows)
    hits = 0
    for query, matches in zip(queries, found, strict=True):
        worst = search_tail(vectors, positions, query, K)[-1].similarity
        hits += sum(match.similarity >= worst for match in matches)
    return hits / (K * len(queries))


def percentiles(values: list[float]) -> dict[str, float]:
    return {name: float(np.percentile(values, at)) for name, at in (("p50", 50), ("p95", 95))}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sizes", default="1000,10000,100000")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--consolidate", nargs=2, metavar=("FOLDER", "full|more"))
    asked = parser.parse_args()
    if asked.consolidate:
        consolidate_here(Path(asked.consolidate[0]), asked.consolidate[1] == "full")
        return
    results: list[dict[str, Any]] = []
    for size in map(int, asked.sizes.split(",")):
        with tempfile.TemporaryDirectory(prefix="recall-") as folder:
            results.append({"load": os.getloadavg()[0], **measure(size, Path(folder))})
        print(json.dumps(results[-1], indent=2), flush=True)
        if asked.json:
            asked.json.write_text(json.dumps(results, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
