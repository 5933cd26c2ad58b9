"""The graph holds what the episodes say, in whatever portions they came."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from dict_log import DictLog, episode
from prefect_swarm.errors import Category, MemoryStoreError
from prefect_swarm.memory.episode import Entry, Episode, GateOutcome
from prefect_swarm.memory.graph_rows import Tally, node_id, rows_of, symptom_text
from prefect_swarm.memory.kuzu_graph import KuzuGraph
from prefect_swarm.memory.questions import (
    Failing,
    Source,
    failures_of,
    mended,
    mitigations,
    provenance,
    tried,
)
from prefect_swarm.result import Action, Mitigation

LINT: dict[str, Any] = {
    "category": Category.CODE,
    "error": "gate lint: line 3: F821 undefined name 'x'",
    "gates": (GateOutcome(gate="lint", status="failed"),),
    "task_type": "code/python",
}
UNIT: dict[str, Any] = {
    "category": Category.LOGIC,
    "error": "gate unit: line 1: f('a') gave 'b', expected 'c'",
    "gates": (GateOutcome(gate="lint", status="passed"), GateOutcome(gate="unit", status="failed")),
    "task_type": "code/python",
}
FINE: dict[str, Any] = {
    "task_type": "code/python",
    "gates": (GateOutcome(gate="lint", status="passed"),),
}

STORY = (
    episode("r1", "S1", 1, **LINT),
    episode("r1", "S1", 2, cause="RETRY", **LINT),
    episode("r1", "S1", 3, cause="ESCALATE", tier="coder", **FINE),
    episode("r1", "S2", 1, upstream=("S1",), **UNIT),
    episode("r1", "S2", 2, upstream=("S1",), cause="RETRY", **LINT),
    episode("r1", "S2", 3, upstream=("S1",), cause="DELEGATE", persona="Engineer", **FINE),
    episode("r1", "S3", 1, upstream=("S2", "S1")),
    episode("r2", "S1", 1, namespace="theirs", **LINT),
    episode("r2", "S1", 2, namespace="theirs", cause="RETRY", **FINE),
)
SYMPTOM = symptom_text(STORY[0])


def done(
    action: Action, target: str = "", *, symptom: str = SYMPTOM, worked: int = 0, recurred: int = 0
) -> Mitigation:
    """What was tried once."""
    return Mitigation(
        symptom=symptom, action=action, target=target, tried=1, worked=worked, recurred=recurred
    )


def entries(episodes: Sequence[Episode]) -> list[Entry]:
    return DictLog(episodes).since(0)


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[KuzuGraph]:
    made = KuzuGraph(tmp_path / "g.kuzu")
    made.add(entries(STORY))
    yield made
    made.close()


def test_only_a_mitigation_that_was_followed_by_success_worked(graph: KuzuGraph) -> None:
    assert mitigations(graph, "default", SYMPTOM) == [
        done("DELEGATE", "Engineer", worked=1),
        done("ESCALATE", "coder", worked=1),
        done("RETRY", recurred=1),
    ]


def test_to_fail_otherwise_is_not_to_work(graph: KuzuGraph) -> None:
    assert mitigations(graph, "default", symptom_text(STORY[3])) == [
        done("RETRY", symptom=symptom_text(STORY[3]))
    ]


def test_all_that_was_tried_is_told_with_what_for(graph: KuzuGraph) -> None:
    found = tried(graph, "default")
    assert {one.symptom for one in found} == {SYMPTOM, symptom_text(STORY[3])}
    assert len(found) == 4
    assert tried(graph, "nobody") == []


def test_what_passed_after_a_symptom_is_found_at_its_latest(graph: KuzuGraph) -> None:
    graph.add([Entry(50, episode("r9", "S1", 1, **LINT))])
    graph.add([Entry(51, episode("r9", "S1", 2, cause="ESCALATE", tier="coder", **FINE))])
    found = mended(graph, "default", [SYMPTOM, symptom_text(STORY[3])])
    assert found == {(SYMPTOM, "ESCALATE"): 51, (SYMPTOM, "DELEGATE"): 6}
    assert mended(graph, "default", []) == {}


def test_what_never_worked_mitigates_nothing(graph: KuzuGraph) -> None:
    rows = graph.rows()
    assert [row[1] for row in rows["MITIGATED_BY"]] == [
        '["default","DELEGATE","Engineer"]',
        '["default","ESCALATE","coder"]',
        '["theirs","RETRY",""]',
    ]
    assert [row[1:] for row in rows["RECURRED_AFTER"]] == [('["default","RETRY",""]', 1)]


def test_namespaces_are_kept_apart(graph: KuzuGraph) -> None:
    assert mitigations(graph, "theirs", SYMPTOM) == [done("RETRY", worked=1)]
    assert mitigations(graph, "nobody", SYMPTOM) == []
    assert provenance(graph, "theirs", "r1", "S3") == []
    assert [one.times for one in failures_of(graph, "theirs", "code/python")] == [1]
    crossing = [
        row
        for kind, rows in graph.rows().items()
        for row in rows
        if kind.isupper() and row[0].split(",")[0] != row[1].split(",")[0]
    ]
    assert crossing == []


def test_which_personas_failed_and_how(graph: KuzuGraph) -> None:
    assert failures_of(graph, "default", "code/python") == [
        Failing("Writer", "CODE", "lint", times=3, attempts=5, symptom=SYMPTOM),
        Failing("Writer", "LOGIC", "unit", 1, 5, symptom_text(STORY[3])),
    ]


def test_where_an_output_came_from(graph: KuzuGraph) -> None:
    assert provenance(graph, "default", "r1", "S3") == [
        Source("S1", 1, 3, True, "Writer", "small"),
        Source("S2", 1, 3, True, "Engineer", "small"),
    ]
    assert [one.step for one in provenance(graph, "default", "r1", "S1")] == []


def test_distance_is_counted_along_a_chain_of_any_length(tmp_path: Path) -> None:
    chain = [episode("r", f"S{n}", upstream=(f"S{n - 1}",) if n > 1 else ()) for n in range(1, 61)]
    graph = KuzuGraph(tmp_path / "g.kuzu")
    graph.add(entries(chain))
    assert [s.distance for s in provenance(graph, "default", "r", "S60")] == list(range(1, 60))
    graph.close()


def test_a_source_of_which_nothing_is_known_is_still_told(tmp_path: Path) -> None:
    graph = KuzuGraph(tmp_path / "g.kuzu")
    graph.add(entries([episode("r", "S2", upstream=("S1",))]))
    assert provenance(graph, "default", "r", "S2") == [Source("S1", 1, 0, False, "", "")]
    graph.close()


@pytest.mark.parametrize("size", [1, 4])
def test_in_portions_it_becomes_the_same(size: int, graph: KuzuGraph, tmp_path: Path) -> None:
    other = KuzuGraph(tmp_path / "other.kuzu")
    all_of_them = entries(STORY)
    for start in range(0, len(all_of_them), size):
        other.add(all_of_them[start : start + size])
    assert other.rows() == graph.rows()
    other.close()


def test_reopened_it_is_the_same_and_read_only(graph: KuzuGraph, tmp_path: Path) -> None:
    before = graph.rows()
    graph.close()
    again = KuzuGraph(tmp_path / "g.kuzu", read_only=True)
    assert again.rows() == before
    with pytest.raises(MemoryStoreError, match="read-only"):
        again.query("CREATE (:Run {id: 'x'})")
    again.close()


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


@pytest.mark.parametrize("text", HARD)
def test_texts_come_back_as_they_were(text: str, tmp_path: Path) -> None:
    graph = KuzuGraph(tmp_path / "it's.kuzu")
    graph.add(entries([episode(persona=text, model=text)]))
    asked = graph.query("MATCH (p:Persona), (m:Model) RETURN p.name AS p, m.name AS m")
    assert asked == [{"p": text, "m": text}]
    graph.close()


def test_a_nul_in_a_text_cuts_nothing_off(tmp_path: Path) -> None:
    graph = KuzuGraph(tmp_path / "g.kuzu")
    graph.add(entries([episode("a\0b", persona="x\0y"), episode("a\0c", persona="x\0y")]))
    assert graph.query("MATCH (p:Persona) RETURN p.name AS name") == [{"name": "x\ufffdy"}]
    assert len(graph.query("MATCH (r:Run) RETURN r.id")) == 2
    graph.close()


def test_a_file_that_is_no_graph_is_said(tmp_path: Path) -> None:
    with pytest.raises(MemoryStoreError, match="can't be opened"):
        KuzuGraph(tmp_path / "nowhere.kuzu", read_only=True)


def test_a_question_that_is_no_cypher_is_said(graph: KuzuGraph) -> None:
    with pytest.raises(MemoryStoreError, match="could not answer"):
        graph.query("SELECT 1")


def test_an_action_that_ended_a_step_mitigates_nothing() -> None:
    rows, _ = rows_of(entries([episode(**LINT), episode(attempt=2, cause="SKIP", **LINT)]))
    assert rows.tallies == {}


def test_a_failure_of_which_nothing_was_said_has_its_category_for_a_symptom() -> None:
    silent: dict[str, Any] = {**LINT, "error": ""}
    assert symptom_text(episode(**silent)) == "CODE lint"


def test_tallies_are_of_one_symptom_and_one_mitigation() -> None:
    rows, _ = rows_of(entries(STORY[:3]))
    had = node_id("default", SYMPTOM)
    assert rows.tallies == {
        (had, node_id("default", "RETRY", "")): Tally(1, 0, 1),
        (had, node_id("default", "ESCALATE", "coder")): Tally(1, 1, 0),
    }
