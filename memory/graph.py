"""The graph of attempts, failures and mitigations, in Kuzu."""

from __future__ import annotations

import csv
import json
import tempfile
import threading
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import MemoryStoreError
from ..store.result import Mitigation
from ..text import count_in
from .graph_process import Database, GraphProcess
from .graph_rows import (
    EDGES,
    NODES,
    LatestAttempt,
    MitigationTally,
    Rows,
    StepKey,
    node_id,
    rows_of,
)

if TYPE_CHECKING:
    from .episode import LogEntry
    from .protocols import Graph

__all__ = [
    "KuzuGraph",
    "OutputSource",
    "mitigations",
    "provenance",
    "tallies_in",
]


_SHARED_EDGES = ("PART_OF", "DERIVED_FROM", "FOUND_BY")
"""Edges that a later attempt may bring again; the others start at the attempt itself."""

# Without NULL_STRINGS an empty text would be read as NULL.
_COPY = (
    "(HEADER=false, DELIM=',', QUOTE='\"', ESCAPE='\"', PARALLEL=false, AUTO_DETECT=false, "
    "NULL_STRINGS=['\u0001no text has this\u0001'])"
)


class KuzuGraph:
    """A `Graph` in one file: written by one process, then opened read-only by any number.

    A process of its own writes it, so that nothing of this process's memory gets into the file.

    Args:
        path: The file. It is made if need be, unless it is opened read-only.
        read_only: Refuse to add.

    Raises:
        MemoryStoreError: It can't be opened or made.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._database = Database(path, read_only=True) if read_only else GraphProcess(path)
        # In an empty graph there is nothing to look up.
        self._empty = False if read_only else self._prepare()

    def add(self, entries: Sequence[LogEntry]) -> None:
        """Add new episodes; a step's attempts come in order, in one call or several.

        Adding many in one call is much quicker.

        Raises:
            MemoryStoreError: It can't be written; nothing was added.
        """
        if not entries:
            return
        rows, _ = rows_of(entries, {} if self._empty else _latest_attempts(self, entries))
        with (
            tempfile.TemporaryDirectory(dir=self._path.parent, prefix=".copy-") as folder,
            self._transaction(),
        ):
            for kind, nodes in rows.nodes.items():
                existing = self._existing_ids(kind, nodes)
                new = [(name, *values) for name, values in nodes.items() if name not in existing]
                self._copy(kind, new, Path(folder))
            for kind, edges in rows.edges.items():
                self._copy(kind, self._new_edges(kind, edges), Path(folder))
            self._add_tallies(rows, Path(folder))
        self._empty = False

    def query(
        self, cypher: str, parameters: Mapping[str, Any] | None = None
    ) -> list[dict[str, Any]]:
        """Rows of a query's answer, by column.

        Raises:
            MemoryStoreError: It isn't Cypher that this graph can answer, or it can't be read.
        """
        with self._lock:
            return self._database.rows(cypher, parameters or {})

    def rows(self) -> dict[str, list[tuple[Any, ...]]]:
        """All its rows, sorted."""
        found: dict[str, list[tuple[Any, ...]]] = {}
        for kind, columns in NODES.items():
            names = ", ".join(f"n.{name}" for name in ("id", "namespace", *columns))
            found[kind] = self._sorted_rows(f"MATCH (n:{kind}) RETURN {names}")
        for kind, counts in {**dict.fromkeys(EDGES, ()), "TRIED": MitigationTally._fields}.items():
            names = ", ".join(("a.id", "b.id", *(f"e.{name}" for name in counts)))
            found[kind] = self._sorted_rows(f"MATCH (a)-[e:{kind}]->(b) RETURN {names}")
        return found

    def close(self) -> None:
        """Write what is still in memory, and close the file.

        Raises:
            MemoryStoreError: It can't be written.
        """
        with self._lock:
            self._database.close()

    def _prepare(self) -> bool:
        """Make the tables if there are none; return whether they were made."""
        try:
            if self.query("CALL show_tables() RETURN name LIMIT 1"):
                return False
            with self._transaction():
                self._make_tables()
        except BaseException:
            self.close()
            raise
        return True

    @contextmanager
    def _transaction(self) -> Generator[None]:
        """Write everything inside in one transaction."""
        self.query("BEGIN TRANSACTION")
        try:
            yield
        except BaseException:
            # Some failures end the transaction themselves.
            with suppress(MemoryStoreError):
                self.query("ROLLBACK")
            raise
        self.query("COMMIT")

    def _sorted_rows(self, cypher: str) -> list[tuple[Any, ...]]:
        return sorted(tuple(row.values()) for row in self.query(cypher))

    def _make_tables(self) -> None:
        for kind, columns in NODES.items():
            typed = "".join(f", {name} {type_}" for name, type_ in columns.items())
            key = "id STRING PRIMARY KEY, namespace STRING"
            self.query(f"CREATE NODE TABLE {kind}({key}{typed})")
        for kind, (source, target) in EDGES.items():
            self.query(f"CREATE REL TABLE {kind}(FROM {source} TO {target})")
        typed = "".join(f", {name} INT64" for name in MitigationTally._fields)
        self.query(f"CREATE REL TABLE TRIED(FROM Symptom TO Mitigation{typed})")

    def _existing_ids(self, kind: str, names: Iterable[str]) -> set[str]:
        wanted = list(names)
        if self._empty or not wanted or kind == "Attempt":
            return set()
        found = self.query(
            f"UNWIND $ids AS wanted MATCH (n:{kind} {{id: wanted}}) RETURN n.id AS id",
            {"ids": wanted},
        )
        return {row["id"] for row in found}

    def _new_edges(
        self, kind: str, edges: Mapping[tuple[str, str], None]
    ) -> Iterable[tuple[str, str]]:
        if self._empty or kind not in _SHARED_EDGES or not edges:
            return edges
        source, target = EDGES[kind]
        found = self.query(
            f"UNWIND $ids AS wanted MATCH (a:{source} {{id: wanted}})-[:{kind}]->(b:{target}) "
            "RETURN a.id AS source, b.id AS target",
            {"ids": sorted({source for source, _ in edges})},
        )
        existing = {(row["source"], row["target"]) for row in found}
        return [edge for edge in edges if edge not in existing]

    def _add_tallies(self, rows: Rows, folder: Path) -> None:
        if not rows.tallies:
            return
        totals = dict(rows.tallies)
        symptoms = sorted({symptom for symptom, _ in totals})
        existing = {} if self._empty else _tallies(self, _OF_SYMPTOMS, {"ids": symptoms})
        old = [pair for pair in totals if pair in existing]
        for pair in old:
            totals[pair] = totals[pair].plus(existing[pair])
        if old:
            self.query(
                "UNWIND $pairs AS pair MATCH (s:Symptom {id: pair[1]})"
                "-[e:TRIED]->(m:Mitigation {id: pair[2]}) DELETE e",
                {"pairs": [list(pair) for pair in old]},
            )
        self._copy("TRIED", [(*pair, *tally) for pair, tally in totals.items()], folder)

    def _copy(self, kind: str, rows: Iterable[Sequence[Any]], folder: Path) -> None:
        path = folder / f"{kind}.csv"
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n")
            writer.writerows([_csv_value(value) for value in row] for row in rows)
        if path.stat().st_size:
            quoted = str(path).replace("\\", "\\\\").replace("'", "\\'")
            self.query(f"COPY {kind} FROM '{quoted}' {_COPY}")


def _csv_value(value: Any) -> Any:
    # The reader of CSV ends a text at a NUL.
    return value.replace("\0", "\ufffd") if isinstance(value, str) else value


_OF_SYMPTOMS = "UNWIND $ids AS wanted MATCH (s:Symptom {id: wanted})"
_OF_NAMESPACE = "MATCH (s:Symptom {namespace: $namespace})"
_LATEST_ATTEMPTS = """
UNWIND $ids AS wanted MATCH (s:Step {id: wanted})<-[:TRY_OF]-(a:Attempt)
OPTIONAL MATCH (a)-[:HAS_SYMPTOM]->(y:Symptom)
RETURN s.id AS step, a.id AS attempt, a.number AS number, a.position AS position, y.id AS symptom
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


_Tallies = dict[tuple[str, str], MitigationTally]
"""By the ids of a symptom and a mitigation."""


def tallies_in(graph: Graph | None, namespace: str, newer: Sequence[LogEntry] = ()) -> _Tallies:
    """What the graph has of a namespace's mitigations, and what later episodes will add to that.

    Args:
        graph: None if there is none yet.
        newer: Entries of the log that the graph hasn't, of any namespace.

    Raises:
        MemoryStoreError: The graph can't be read.
    """
    found = _tallies(graph, _OF_NAMESPACE, {"namespace": namespace}) if graph else {}
    again = [entry for entry in newer if entry.episode.attempt > 1]
    rows, _ = rows_of(newer, _latest_attempts(graph, again) if graph else None)
    for pair, tally in rows.tallies.items():
        if json.loads(pair[0])[0] == namespace:
            found[pair] = found.get(pair, MitigationTally()).plus(tally)
    return found


def mitigations(tallies: _Tallies, symptom: str = "") -> list[Mitigation]:
    """The mitigations of a symptom, a text as of `symptom_text`, or of all; best first. Pure."""
    found: list[Mitigation] = []
    for (symptom_id, mitigation_id), tally in tallies.items():
        _, text = json.loads(symptom_id)
        _, action, target = json.loads(mitigation_id)
        if symptom in ("", text):
            found.append(
                Mitigation(
                    symptom=text,
                    action=action,
                    target=target,
                    tried=tally.tried,
                    worked=tally.worked,
                    recurred=tally.recurred,
                )
            )
    return sorted(found, key=lambda m: (-m.worked / m.tried, -m.tried, m.action, m.target))


def _tallies(graph: Graph, match: str, parameters: Mapping[str, Any]) -> _Tallies:
    counts = ", ".join(f"e.{name} AS {name}" for name in MitigationTally._fields)
    rows = graph.query(
        f"{match} MATCH (s)-[e:TRIED]->(m:Mitigation) "
        f"RETURN s.id AS symptom, m.id AS mitigation, {counts}",
        parameters,
    )
    return {(row.pop("symptom"), row.pop("mitigation")): MitigationTally(**row) for row in rows}


def _latest_attempts(graph: Graph, entries: Iterable[LogEntry]) -> dict[StepKey, LatestAttempt]:
    """The latest attempt of each of these steps that has one in the graph."""
    steps = (StepKey(e.namespace, e.run, e.step) for _, e in entries)
    keys = {node_id(*key): key for key in steps}
    found: dict[StepKey, LatestAttempt] = {}
    positions: dict[StepKey, int] = {}
    for row in graph.query(_LATEST_ATTEMPTS, {"ids": list(keys)}) if keys else ():
        key = keys[row["step"]]
        if row["position"] > positions.get(key, 0):
            positions[key] = row["position"]
            found[key] = LatestAttempt(row["attempt"], row["number"], row["symptom"])
    return found


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
