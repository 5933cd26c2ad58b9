"""Plans of WorfBench: what the embedded planner writes for their tasks, and the gold plans."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from prefect_swarm.memory.embedding import make_embedder
from prefect_swarm.memory.protocols import Embedder
from prefect_swarm.models.llama.engine import close_engines
from prefect_swarm.plan.task_ir import TaskIR
from published.records import read_records

sys.path.insert(0, str(Path(__file__).parent / "planning"))
from planner import planner

__all__ = ["run"]

SEED, OF_EACH, LONGEST, ALIKE = 20_261_127, 6, 1500, 0.6
HEAD = f"""\
## Tasks that others planned: WorfBench

How near are the plans of the embedded 135M model to gold plans of another kind? WorfBench (Qiao et
al., 2024; MIT) has tasks out of nine sets with graphs of subtasks; {OF_EACH} of each are drawn by
seed, of those whose task has at most {LONGEST:,} characters. Two nodes match where their texts are
alike (cosine of the memory's own embeddings above {ALIKE:g}; the benchmark takes another model, so
the figures can't be compared with its own table). *As published*: F1 of the largest connected part
of the edges that both graphs have by the numbers of their nodes, so a right plan in another order
loses; *by matched nodes*: the same, with each node's number that of the node that it matches. The
embedded planner was trained on plans of another style, and shown none of these. *Gold, listed in
another order* has its nodes in another order that its edges allow, of all tasks that have such an
order: most gold plans are chains.

| Plans | Tasks | Readable | As published | By matched nodes |
|---|---:|---:|---:|---:|"""


@dataclass(frozen=True, slots=True)
class Graph:
    """Subtasks and what comes before what: edges of their numbers, START 0 and END the last."""

    nodes: tuple[str, ...]
    edges: frozenset[tuple[int, int]]


def run() -> str:
    """Measure and return the table."""
    try:
        return asyncio.run(_measured())
    finally:
        close_engines()


async def _measured() -> str:
    tasks = [*_drawn(read_records("worfbench"))]
    write = planner("sampled")
    planned = [await write(_objective(task)) for task in tasks]
    embedder = make_embedder("wordllama")
    gold = [_gold(task) for task in tasks]
    written = [None if each.plan is None else _of_plan(each.plan) for each in planned]
    return "\n".join(
        [
            HEAD,
            _row("embedded planner", written, gold, embedder),
            _row("gold", gold, gold, embedder),
            _in_another_order(embedder),
        ]
    )


def _in_another_order(embedder: Embedder) -> str:
    """Return the row of all gold plans that can be listed in another order, listed so."""
    found = [_gold(task) for task in _short(read_records("worfbench"))]
    pairs = [(graph, _listed_otherwise(graph)) for graph in found]
    kept = [(graph, other) for graph, other in pairs if graph.edges != other.edges]
    name = f"gold, listed in another order (of {len(found):,})"
    return _row(name, [other for _, other in kept], [graph for graph, _ in kept], embedder)


def _drawn(records: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
    sets: dict[str, list[dict[str, Any]]] = {}
    for each in _short(records):
        sets.setdefault(each["set"], []).append(each)
    random = Random(SEED)
    return [each for name in sorted(sets) for each in random.sample(sets[name], OF_EACH)]


def _short(records: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
    return [each for each in records if len(each["task"]) <= LONGEST and len(each["nodes"]) > 1]


def _objective(task: dict[str, Any]) -> str:
    return task["task"].removeprefix("Now it's your turn.").strip().removeprefix("Task:").strip()


def _gold(task: dict[str, Any]) -> Graph:
    nodes, last = task["nodes"], len(task["nodes"]) + 1
    numbers = {"START": 0, "END": last, **{str(n): n for n in range(1, last)}}
    edges = {(numbers[a], numbers[b]) for a, b in task["edges"] if a in numbers and b in numbers}
    return Graph(("START", *nodes, "END"), frozenset(edges))


def _of_plan(plan: TaskIR) -> Graph:
    numbers = {step.id: n for n, step in enumerate(plan.steps, 1)}
    last = len(numbers) + 1
    edges = {(numbers[need], numbers[s.id]) for s in plan.steps for need in s.depends_on}
    first = {n for n in numbers.values() if all(b != n for _, b in edges)}
    read = {a for a, _ in edges}
    edges |= {(0, n) for n in first} | {(n, last) for n in numbers.values() if n not in read}
    return Graph(("START", *(step.prompt for step in plan.steps), "END"), frozenset(edges))


def _listed_otherwise(graph: Graph) -> Graph:
    """Return a graph with its nodes in the last order that its edges allow."""
    inner = range(1, len(graph.nodes) - 1)
    order: list[int] = []
    while len(order) < len(inner):
        free = [
            n
            for n in inner
            if n not in order and all(a in order or a == 0 for a, b in graph.edges if b == n)
        ]
        if not free:
            return graph
        order.append(free[-1])
    numbers = {0: 0, len(graph.nodes) - 1: len(graph.nodes) - 1}
    numbers |= {old: new for new, old in enumerate(order, 1)}
    nodes = ("START", *(graph.nodes[old] for old in order), "END")
    return Graph(nodes, frozenset((numbers[a], numbers[b]) for a, b in graph.edges))


def matched(similar: np.ndarray[Any, Any]) -> dict[int, int]:
    """Return which column each row matches: the most similar pairs first, each only once."""
    found: dict[int, int] = {}
    pairs = np.argwhere(similar > ALIKE)
    for row, column in sorted(pairs.tolist(), key=lambda pair: -similar[pair[0], pair[1]]):
        if row not in found and column not in found.values():
            found[row] = column
    return found


def edge_score(written: Graph, gold: Graph, match: Mapping[int, int], *, renumber: bool) -> float:
    """Return the F1 of the largest connected part of the edges that two graphs share.

    Args:
        match: The gold node that each written node matches.
        renumber: Whether a written node has the number of its match, instead of its own.
    """
    ours = {edge for edge in written.edges if edge[0] in match and edge[1] in match}
    theirs = {edge for edge in gold.edges if {*edge} <= {*match.values()}}
    if renumber:
        ours = {(match[a], match[b]) for a, b in ours}
    shared = ours & theirs
    mine = _largest_part([match[n] if renumber else n for n in match], shared)
    yours = _largest_part([*match.values()], shared)
    precision, recall = mine / len(written.nodes), yours / len(gold.nodes)
    return 2 * precision * recall / (precision + recall) if precision and recall else 0.0


def _largest_part(nodes: Sequence[int], edges: set[tuple[int, int]]) -> int:
    parts = [{node} for node in {*nodes}]
    for a, b in edges:
        joined = [part for part in parts if a in part or b in part]
        parts = [part for part in parts if part not in joined]
        parts.append({a, b}.union(*joined))
    return max(map(len, parts), default=0)


def _row(
    name: str, graphs: Sequence[Graph | None], gold: Sequence[Graph], embedder: Embedder
) -> str:
    published: list[float] = []
    by_match: list[float] = []
    for written, right in zip(graphs, gold, strict=True):
        if written is None:
            published.append(0.0)
            by_match.append(0.0)
            continue
        vectors = np.asarray(embedder.embed([*written.nodes, *right.nodes]))
        vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        count = len(written.nodes)
        match = matched(vectors[:count] @ vectors[count:].T)
        published.append(edge_score(written, right, match, renumber=False))
        by_match.append(edge_score(written, right, match, renumber=True))
    readable = sum(graph is not None for graph in graphs)
    cells = [f"{sum(scores) / len(scores):.2f}" for scores in (published, by_match)]
    return f"| {name} | {len(gold)} | {readable} | {' | '.join(cells)} |"
