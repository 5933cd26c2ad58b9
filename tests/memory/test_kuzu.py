"""The graph in Kuzu does what a graph has to do, in whatever portions the episodes came."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from conformance.graph import GraphConformance, GraphOpener
from dict_log import episode
from graph_story import STORY, entries
from prefect_swarm.errors import MemoryStoreError
from prefect_swarm.memory.graph import KuzuGraph


class TestKuzuGraph(GraphConformance):
    @pytest.fixture
    def open_graph(self) -> GraphOpener:
        return lambda path, read_only: KuzuGraph(path, read_only=read_only)


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[KuzuGraph]:
    made = KuzuGraph(tmp_path / "g.kuzu")
    made.add(entries(STORY))
    yield made
    made.close()


def test_what_never_worked_mitigates_nothing(graph: KuzuGraph) -> None:
    rows = graph.rows()["TRIED"]
    assert [mitigation for _, mitigation, _, worked, _, _ in rows if worked] == [
        '["default","DELEGATE","Engineer"]',
        '["default","ESCALATE","coder"]',
        '["theirs","RETRY",""]',
    ]
    assert [(row[1], row[4]) for row in rows if row[4]] == [('["default","RETRY",""]', 1)]


def test_no_edge_leads_from_one_namespace_to_another(graph: KuzuGraph) -> None:
    crossing = [
        row
        for kind, rows in graph.rows().items()
        for row in rows
        if kind.isupper() and row[0].split(",")[0] != row[1].split(",")[0]
    ]
    assert crossing == []


@pytest.mark.parametrize("size", [1, 4])
def test_in_portions_it_becomes_the_same(size: int, graph: KuzuGraph, tmp_path: Path) -> None:
    other = KuzuGraph(tmp_path / "other.kuzu")
    story = entries(STORY)
    for start in range(0, len(story), size):
        other.add(story[start : start + size])
    assert other.rows() == graph.rows()
    other.close()


def test_a_nul_in_a_text_cuts_nothing_off(tmp_path: Path) -> None:
    graph = KuzuGraph(tmp_path / "g.kuzu")
    graph.add(entries([episode("a\0b", persona="x\0y"), episode("a\0c", persona="x\0y")]))
    assert graph.query("MATCH (p:Persona) RETURN p.name AS name") == [{"name": "x\ufffdy"}]
    assert len(graph.query("MATCH (r:Run) RETURN r.id")) == 2
    graph.close()


def test_a_file_that_is_no_graph_is_said(tmp_path: Path) -> None:
    with pytest.raises(MemoryStoreError, match="can't be opened"):
        KuzuGraph(tmp_path / "nowhere.kuzu", read_only=True)
