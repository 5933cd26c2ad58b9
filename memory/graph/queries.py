"""Queries to the graph: Cypher, and typed answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...result import Mitigation
from ...text import count_in
from ..protocols import Graph
from .rows import node_id

__all__ = [
    "OutputSource",
    "all_mitigations",
    "latest_repairs",
    "mitigations",
    "provenance",
]

_COUNTS = "m.action AS action, m.target AS target, e.tried AS tried, e.worked AS worked"
_MITIGATIONS = f"""
MATCH (s:Symptom {{id: $symptom}})-[e:TRIED]->(m:Mitigation)
RETURN s.text AS symptom, {_COUNTS}, e.recurred AS recurred
"""
_ALL_MITIGATIONS = f"""
MATCH (s:Symptom {{namespace: $namespace}})-[e:TRIED]->(m:Mitigation)
RETURN s.text AS symptom, {_COUNTS}, e.recurred AS recurred
"""
_REPAIRS = """
UNWIND $symptoms AS wanted
MATCH (s:Symptom {id: wanted})<-[:HAS_SYMPTOM]-(:Attempt)<-[:PRECEDED_BY]-
      (a:Attempt {succeeded: true})
RETURN s.text AS symptom, a.cause AS action, max(a.position) AS position
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


class OutputSource(NamedTuple):
    """A step that an output was made from.

    Attributes:
        step: Its id.
        distance: Length of the shortest path to the output; 1 is read directly.
        attempt, succeeded, persona, model: Its last attempt; 0, False and "" if none is known.
    """

    step: str
    distance: int
    attempt: int
    succeeded: bool
    persona: str
    model: str


def mitigations(graph: Graph, namespace: str, symptom: str) -> list[Mitigation]:
    """The mitigations of a symptom, given as by `rows.symptom_text`; best first.

    Raises:
        MemoryStoreError: The graph can't be read.
    """
    rows = graph.query(_MITIGATIONS, {"symptom": node_id(namespace, symptom)})
    found = (Mitigation(**row) for row in rows)
    return sorted(found, key=lambda m: (-m.worked / m.tried, -m.tried, m.action, m.target))


def all_mitigations(graph: Graph, namespace: str) -> list[Mitigation]:
    """The mitigations of all symptoms, in no order.

    Raises:
        MemoryStoreError: The graph can't be read.
    """
    return [Mitigation(**row) for row in graph.query(_ALL_MITIGATIONS, {"namespace": namespace})]


def latest_repairs(
    graph: Graph, namespace: str, symptoms: Sequence[str]
) -> dict[tuple[str, str], int]:
    """Positions of the latest attempts that succeeded after a symptom, for each action.

    Returns:
        Positions by symptom and action.

    Raises:
        MemoryStoreError: The graph can't be read.
    """
    parameters = {"symptoms": [node_id(namespace, symptom) for symptom in symptoms]}
    rows = graph.query(_REPAIRS, parameters) if symptoms else []
    return {(row["symptom"], row["action"]): row["position"] for row in rows}


def provenance(graph: Graph, namespace: str, run: str, step: str) -> list[OutputSource]:
    """All steps that a step's output was derived from, nearest first.

    Raises:
        MemoryStoreError: The graph can't be read.
    """
    parameters = {"run": node_id(namespace, run)}
    reads: dict[str, set[str]] = {}
    for row in graph.query(_EDGES, parameters):
        reads.setdefault(row["step"], set()).add(row["source"])
    last = {row.pop("step"): row for row in graph.query(_TRIES, parameters)}
    distances, near, distance = {step: 0}, {step}, 0
    while near:
        distance += 1
        near = {source for reader in near for source in reads.get(reader, ())} - distances.keys()
        distances.update(dict.fromkeys(near, distance))
    del distances[step]
    unknown: dict[str, Any] = {"attempt": 0, "succeeded": False, "persona": "", "model": ""}
    return [
        OutputSource(name, far, **(last.get(name) or unknown))
        for name, far in sorted(distances.items(), key=lambda pair: (pair[1], _number(pair[0])))
    ]


def _number(step: str) -> tuple[int, str]:
    return (count_in(step[1:]) or 0, step)
