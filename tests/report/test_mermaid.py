"""A plan's graph can be drawn elsewhere."""

from __future__ import annotations

import html
import re

from prefect_swarm.report.lines import DagStep, mermaid


def step(name: str, *upstream: str, **fields: str | bool) -> DagStep:
    filled = {"agent": "Reader", "prompt": f"do {name}", "status": "waiting", **fields}
    return DagStep(id=name, upstream=upstream, **filled)  # pyright: ignore[reportArgumentType]


def test_the_graph_has_every_step_and_edge() -> None:
    drawn = mermaid([step("S1", status="succeeded"), step("S2", "S1")])
    assert 'S1["S1 · Reader<br/>do S1"]:::succeeded' in drawn
    assert "S1 --> S2" in drawn
    assert "classDef waiting" in drawn


def test_the_critical_path_is_drawn_thick() -> None:
    drawn = mermaid([step("S1", critical=True), step("S2", "S1", critical=True)])
    assert "S1 ==> S2" in drawn


def test_a_label_can_not_break_out_of_its_node() -> None:
    hostile = '"]; click S1 "javascript:x"\n```\n<script>|x|'
    drawn = mermaid([step("S1", prompt=hostile, agent=hostile)])
    node = next(line for line in drawn.splitlines() if line.strip().startswith("S1["))
    assert node.count('"') == 2
    assert "<script>" not in drawn


def test_a_graphs_label_is_read_as_it_was_written() -> None:
    written = 'Say "a|b" & <c> #35;'
    label = mermaid([step("S1", prompt=written)]).partition("<br/>")[2].partition('"]')[0]
    assert html.unescape(re.sub(r"#(\d+);", r"&#\1;", label)) == written
