"""The pages are written from data, and nothing a model wrote has power over them."""

from __future__ import annotations

import html
import re

from prefect_swarm.tasks.report import DagStep, dag_markdown, mermaid


def step(name: str, *upstream: str, status: str = "waiting", **fields: object) -> DagStep:
    filled = {"agent": "Reader", "prompt": f"do {name}", "why": "", **fields}
    return DagStep(id=name, upstream=upstream, status=status, **filled)  # pyright: ignore[reportArgumentType]


def test_the_graph_has_every_step_and_edge() -> None:
    drawn = mermaid([step("S1", status="succeeded"), step("S2", "S1")])
    assert 'S1["S1 · Reader<br/>do S1"]:::succeeded' in drawn
    assert "S1 --> S2" in drawn
    assert "classDef waiting" in drawn


def test_the_critical_path_is_drawn_thick() -> None:
    drawn = mermaid([step("S1", critical=True), step("S2", "S1", critical=True)])
    assert "S1 ==> S2" in drawn


def test_text_cannot_break_out_of_its_place() -> None:
    hostile = '"]; click S1 "javascript:x"\n```\n<script>|x|'
    page = dag_markdown(hostile, [step("S1", prompt=hostile, agent=hostile, why=hostile)])
    assert "<script>" not in page
    assert page.count("```") == 2
    row = next(line for line in page.splitlines() if line.startswith("| S1"))
    assert row.count("|") == 7
    node = next(line for line in page.splitlines() if line.strip().startswith("S1["))
    assert node.count('"') == 2


def test_text_can_neither_load_an_image_nor_link_nor_look_like_the_page_itself() -> None:
    hostile = "![x](http://far.away/?q) **[click](http://far.away)** _it_"
    page = dag_markdown(hostile, [step("S1", agent=hostile, why=hostile)])
    outside = page.replace(mermaid([step("S1", agent=hostile, why=hostile)]), "")
    assert "](" not in outside
    assert "**" not in outside.removeprefix("**").replace("**\n", "\n", 1)


def test_text_is_read_as_it_was_written() -> None:
    written = 'Say "a|b" & <c> #35;'
    page = dag_markdown("Much", [step("S1", prompt=written)])
    row = next(line for line in page.splitlines() if line.startswith("| S1"))
    assert html.unescape(row.split(" | ")[2]) == written
    label = mermaid([step("S1", prompt=written)]).partition("<br/>")[2].partition('"]')[0]
    assert html.unescape(re.sub(r"#(\d+);", r"&#\1;", label)) == written


def test_a_plan_too_large_to_draw_is_a_table() -> None:
    steps = [step(f"S{n}") for n in range(1, 200)]
    page = dag_markdown("Much", steps)
    assert "mermaid" not in page
    assert "| S199 | Reader |" in page
    assert "199 steps: 199 waiting." in page


def test_many_dependencies_are_counted_not_listed() -> None:
    above = [step(f"S{n}") for n in range(1, 20)]
    page = dag_markdown("Much", [*above, step("S20", *(s.id for s in above))])
    assert "| 19 steps |" in page
