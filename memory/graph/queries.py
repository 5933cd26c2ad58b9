"""What the graph is asked: Cypher, and answers with types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...result import Mitigation
from ..protocols import Graph
from .rows import node_id

__all__ = ["Failing", "Source", "failures_of", "mended", "mitigations", "provenance", "tried"]

_COUNTS = "m.action AS action, m.target AS target, e.tried AS tried, e.worked AS worked"
_MITIGATIONS = f"""
MATCH (s:Symptom {{id: $symptom}})-[e:TRIED]->(m:Mitigation)
RETURN s.text AS symptom, {_COUNTS}, e.recurred AS recurred
"""
_TRIED = f"""
MATCH (s:Symptom {{namespace: $namespace}})-[e:TRIED]->(m:Mitigation)
RETURN s.text AS symptom, {_COUNTS}, e.recurred AS recurred
"""
_MENDED = """
UNWIND $symptoms AS wanted
MATCH (s:Symptom {id: wanted})<-[:HAS_SYMPTOM]-(:Attempt)<-[:PRECEDED_BY]-
      (a:Attempt {succeeded: true})
RETURN s.text AS symptom, a.cause AS action, max(a.position) AS position
"""
_ATTEMPTS = """
MATCH (a:Attempt {namespace: $namespace, task_type: $task_type})-[:TRIED_BY]->(p:Persona)
RETURN p.name AS persona, count(*) AS attempts
"""
_FAILURES = """
MATCH (f:FailureMode)<-[:FAILED_BY]-
      (a:Attempt {namespace: $namespace, task_type: $task_type})-[:TRIED_BY]->(p:Persona),
      (a)-[:HAS_SYMPTOM]->(s:Symptom)
RETURN p.name AS persona, f.category AS category, f.gate AS gate, s.text AS symptom,
       count(*) AS times
"""
_EDGES = """
MATCH (r:Run {id: $run})<-[:PART_OF]-(a:Step)-[:DERIVED_FROM]->(b:Step)
RETURN a.step AS step, b.step AS source
"""
_TRIES = """
MATCH (r:Run {id: $run})<-[:PART_OF]-(s:Step)<-[:TRY_OF]-(a:Attempt),
      (a)-[:TRIED_BY]->(p:Persona), (a)-[:RAN_ON]->(m:Model)
RETURN s.step AS step, a.number AS attempt, a.succeeded AS succeeded,
       p.name AS persona, m.name AS model
ORDER BY a.position
"""


class Failing(NamedTuple):
    """How one persona failed on one type of task.

    Attributes:
        persona: Who.
        category, gate: How; `gate` is "" where no gate found it.
        times: Attempts that failed so.
        attempts: All its attempts at such tasks.
        symptom: What that looked like most often.
    """

    persona: str
    category: str
    gate: str
    times: int
    attempts: int
    symptom: str


class Source(NamedTuple):
    """A step that an output was made from.

    Attributes:
        step: Its id.
        distance: Steps between it and the output, at the nearest; 1 is read directly.
        attempt, succeeded, persona, model: Its last attempt; 0, False and "" if none is known.
    """

    step: str
    distance: int
    attempt: int
    succeeded: bool
    persona: str
    model: str


def mitigations(graph: Graph, namespace: str, symptom: str) -> list[Mitigation]:
    """What has been done about a symptom, as `graph_rows.symptom_text` words it; best first.

    Raises:
        MemoryStoreError: The graph can't be read.
    """
    rows = graph.query(_MITIGATIONS, {"symptom": node_id(namespace, symptom)})
    found = (Mitigation(**row) for row in rows)
    return sorted(found, key=lambda m: (-m.worked / m.tried, -m.tried, m.action, m.target))


def tried(graph: Graph, namespace: str) -> list[Mitigation]:
    """All that has been done about any symptom, in no order.

    Raises:
        MemoryStoreError: The graph can't be read.
    """
    return [Mitigation(**row) for row in graph.query(_TRIED, {"namespace": namespace})]


def mended(graph: Graph, namespace: str, symptoms: Sequence[str]) -> dict[tuple[str, str], int]:
    """The position of the latest attempt that an action led to, and that succeeded after a symptom.

    Returns:
        Positions by symptom and action.

    Raises:
        MemoryStoreError: The graph can't be read.
    """
    asked = {"symptoms": [node_id(namespace, one) for one in symptoms]}
    rows = graph.query(_MENDED, asked) if symptoms else []
    return {(row["symptom"], row["action"]): row["position"] for row in rows}


def failures_of(graph: Graph, namespace: str, task_type: str) -> list[Failing]:
    """Which personas failed on tasks of a type, and how; the most frequent first.

    Raises:
        MemoryStoreError: The graph can't be read.
    """
    asked = {"namespace": namespace, "task_type": task_type}
    attempts = {row["persona"]: row["attempts"] for row in graph.query(_ATTEMPTS, asked)}
    symptoms: dict[tuple[str, str, str], dict[str, int]] = {}
    for row in graph.query(_FAILURES, asked):
        counts = symptoms.setdefault((row["persona"], row["category"], row["gate"]), {})
        counts[row["symptom"]] = row["times"]
    found = (
        Failing(
            *mode,
            times=sum(counts.values()),
            attempts=attempts[mode[0]],
            symptom=min(counts, key=lambda text: (-counts[text], text)),
        )
        for mode, counts in symptoms.items()
    )
    return sorted(found, key=lambda one: (-one.times, one.persona, one.category, one.gate))


def provenance(graph: Graph, namespace: str, run: str, step: str) -> list[Source]:
    """Everything that a step's output was derived from, the nearest first.

    Raises:
        MemoryStoreError: The graph can't be read.
    """
    asked = {"run": node_id(namespace, run)}
    reads: dict[str, set[str]] = {}
    for row in graph.query(_EDGES, asked):
        reads.setdefault(row["step"], set()).add(row["source"])
    last = {row.pop("step"): row for row in graph.query(_TRIES, asked)}
    distances, near, distance = {step: 0}, {step}, 0
    while near:
        distance += 1
        near = {source for one in near for source in reads.get(one, ())} - distances.keys()
        distances.update(dict.fromkeys(near, distance))
    del distances[step]
    unknown: dict[str, Any] = {"attempt": 0, "succeeded": False, "persona": "", "model": ""}
    return [
        Source(name, far, **(last.get(name) or unknown))
        for name, far in sorted(distances.items(), key=lambda pair: (pair[1], _number(pair[0])))
    ]


def _number(step: str) -> tuple[int, str]:
    digits = step[1:]
    return (int(digits) if digits.isdecimal() else 0, step)
