"""Conformance of every `Graph`. Its tests say how to open one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from dict_log import episode
from graph_story import FINE, LINT, STORY, SYMPTOM, entries, tried_once
from prefect_swarm.errors import MemoryStoreError
from prefect_swarm.memory.episode import LogEntry
from prefect_swarm.memory.graph import (
    OutputSource,
    mitigations,
    provenance,
    tallies_in,
)
from prefect_swarm.memory.graph_rows import MitigationTally, node_id, symptom_text
from prefect_swarm.memory.protocols import Graph

__all__ = ["GraphConformance", "GraphOpener"]

GraphOpener = Callable[[Path, bool], Graph]
"""Opens the graph at a path, read-only or not."""

HARD = [
    "",
    '"',
    'a,"b"\n\r\nc',
    "\\",
    "\\N",
    "null",
    "[1]",
    "ä 🙂 \u2028",
    "'; MATCH",
    "{a: 1}",
    " ",
]


class GraphConformance:
    """The whole suite."""

    @pytest.fixture
    def open_graph(self) -> GraphOpener:
        """Opens graphs."""
        raise NotImplementedError

    @pytest.fixture
    def graph(self, open_graph: GraphOpener, tmp_path: Path) -> Iterator[Graph]:
        """A graph of the story."""
        made = open_graph(tmp_path / "graph", False)
        made.add(entries(STORY))
        yield made
        made.close()

    def test_only_a_mitigation_that_was_followed_by_success_worked(self, graph: Graph) -> None:
        assert mitigations(tallies_in(graph, "default"), SYMPTOM) == [
            tried_once("DELEGATE", "Engineer", worked=1),
            tried_once("ESCALATE", "coder", worked=1),
            tried_once("RETRY", recurred=1),
        ]

    def test_to_fail_otherwise_is_not_to_work(self, graph: Graph) -> None:
        assert mitigations(tallies_in(graph, "default"), symptom_text(STORY[3])) == [
            tried_once("RETRY", symptom=symptom_text(STORY[3]))
        ]

    def test_all_that_was_tried_is_told_with_what_for(self, graph: Graph) -> None:
        found = mitigations(tallies_in(graph, "default"))
        assert {tried.symptom for tried in found} == {SYMPTOM, symptom_text(STORY[3])}
        assert len(found) == 4
        assert mitigations(tallies_in(graph, "nobody")) == []

    def test_what_passed_after_a_symptom_is_found_at_its_latest(self, graph: Graph) -> None:
        graph.add([LogEntry(50, episode("r9", "S1", 1, **LINT))])
        graph.add([LogEntry(51, episode("r9", "S1", 2, cause="ESCALATE", tier="coder", **FINE))])
        found = {pair: tally.repaired_at for pair, tally in tallies_in(graph, "default").items()}
        lint, unit = (node_id("default", text) for text in (SYMPTOM, symptom_text(STORY[3])))
        assert found == {
            (lint, node_id("default", "ESCALATE", "coder")): 51,
            (lint, node_id("default", "DELEGATE", "Engineer")): 6,
            (lint, node_id("default", "RETRY", "")): 0,
            (unit, node_id("default", "RETRY", "")): 0,
        }

    @pytest.mark.parametrize("size", range(len(STORY) + 1))
    def test_what_is_newer_counts_as_if_it_were_in_the_graph(
        self, size: int, graph: Graph, open_graph: GraphOpener, tmp_path: Path
    ) -> None:
        older = open_graph(tmp_path / "older", False)
        story = entries(STORY)
        older.add(story[:size])
        for namespace in ("default", "theirs"):
            whole = tallies_in(graph, namespace)
            assert tallies_in(older, namespace, story[size:]) == whole
            assert tallies_in(None, namespace, story) == whole
        older.close()

    def test_what_is_tried_again_later_is_added_up(self, graph: Graph) -> None:
        newer = [
            LogEntry(60, episode("r9", "S1", 1, **LINT)),
            LogEntry(61, episode("r9", "S1", 2, cause="RETRY", **FINE)),
        ]
        retried = (node_id("default", SYMPTOM), node_id("default", "RETRY", ""))
        assert tallies_in(graph, "default", newer)[retried] == MitigationTally(2, 1, 1, 61)

    def test_where_an_output_came_from(self, graph: Graph) -> None:
        assert provenance(graph, "default", "r1", "S3") == [
            OutputSource("S1", 1, 3, True, "Writer", "small"),
            OutputSource("S2", 1, 3, True, "Engineer", "small"),
        ]
        assert [source.step for source in provenance(graph, "default", "r1", "S1")] == []

    def test_distance_is_counted_along_a_chain_of_any_length(
        self, open_graph: GraphOpener, tmp_path: Path
    ) -> None:
        chain = [
            episode("r", f"S{n}", upstream=(f"S{n - 1}",) if n > 1 else ()) for n in range(1, 61)
        ]
        graph = open_graph(tmp_path / "graph", False)
        graph.add(entries(chain))
        assert [s.distance for s in provenance(graph, "default", "r", "S60")] == list(range(1, 60))
        graph.close()

    def test_a_source_of_which_nothing_is_known_is_still_told(
        self, open_graph: GraphOpener, tmp_path: Path
    ) -> None:
        graph = open_graph(tmp_path / "graph", False)
        graph.add(entries([episode("r", "S2", upstream=("S1",))]))
        assert provenance(graph, "default", "r", "S2") == [OutputSource("S1", 1, 0, False, "", "")]
        graph.close()

    def test_reopened_it_is_the_same_and_read_only(
        self, graph: Graph, open_graph: GraphOpener, tmp_path: Path
    ) -> None:
        before = provenance(graph, "default", "r1", "S3")
        graph.close()
        reopened = open_graph(tmp_path / "graph", True)
        assert provenance(reopened, "default", "r1", "S3") == before
        with pytest.raises(MemoryStoreError, match="read-only"):
            reopened.query("CREATE (:Run {id: 'x'})")
        reopened.close()

    @pytest.mark.parametrize("text", HARD)
    def test_texts_come_back_as_they_were(
        self, text: str, open_graph: GraphOpener, tmp_path: Path
    ) -> None:
        graph = open_graph(tmp_path / "it's", False)
        graph.add(entries([episode(persona=text, model=text)]))
        rows = graph.query("MATCH (p:Persona), (m:Model) RETURN p.name AS p, m.name AS m")
        assert rows == [{"p": text, "m": text}]
        graph.close()

    def test_a_question_that_is_no_cypher_is_said(self, graph: Graph) -> None:
        with pytest.raises(MemoryStoreError, match="could not answer"):
            graph.query("SELECT 1")

    def test_a_namespace_is_told_nothing_of_another(self, graph: Graph) -> None:
        assert mitigations(tallies_in(graph, "theirs"), SYMPTOM) == [tried_once("RETRY", worked=1)]
        assert mitigations(tallies_in(graph, "nobody"), SYMPTOM) == []
        assert provenance(graph, "theirs", "r1", "S3") == []
