"""The pages are written from data, and nothing a model wrote has power over them."""

from __future__ import annotations

import html
import re

import pytest
from markdown_it import MarkdownIt
from prefect_swarm.tasks.report.markdown import plain, table
from prefect_swarm.tasks.report.pages import DagStep, dag_markdown, mermaid


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
    assert len(re.findall(r"(?<!\\)\|", row)) == 7
    node = next(line for line in page.splitlines() if line.strip().startswith("S1["))
    assert node.count('"') == 2


HOSTILE = [
    "![x](http://far.away/?q) **[click](http://far.away)** _it_",
    "http://far.away www.far.away ftp://far.away me@far.away",
    "<a href='http://far.away'>x</a> <img src=x onerror=alert(1)>",
    "[x]: http://far.away",
    "\\[x](http://far.away) \\\\[x](http://far.away) \\<b>",
    "# Done",
    "- [x] done",
    "1. done",
    "`a` ~~b~~ &lt;b&gt; &#60;i&#62;",
]


@pytest.mark.parametrize("hostile", HOSTILE)
def test_text_can_neither_load_an_image_nor_link_nor_look_like_the_page_itself(
    hostile: str,
) -> None:
    expected = html.escape(hostile, quote=True).replace("&#x27;", "'")
    reader = MarkdownIt("commonmark").enable("table")
    assert reader.render(plain(hostile, 300)) == f"<p>{expected}</p>\n"
    rendered = reader.render(table(("A", "B"), [(hostile, "x")]))
    assert f"<td>{expected}</td>" in rendered


def as_prefect_shows(text: str) -> str:
    """Read what Prefect's pages read: backslashes, and of entities these alone."""
    shown = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", text)
    for entity, char in (("lt", "<"), ("gt", ">"), ("quot", '"'), ("amp", "&")):
        shown = shown.replace(f"&{entity};", char)
    return shown


@pytest.mark.parametrize("written", [*HOSTILE, "Q4_1", "a|b \\| c\\", 'Say "a|b" & <c> #35;'])
def test_text_is_read_as_it_was_written(written: str) -> None:
    assert as_prefect_shows(plain(written, 300)) == written
    page = dag_markdown("Much", [step("S1", prompt=written)])
    row = next(line for line in page.splitlines() if line.startswith("| S1"))
    assert as_prefect_shows(row.split(" | ")[2]) == written


def test_a_graphs_label_is_read_as_it_was_written() -> None:
    written = 'Say "a|b" & <c> #35;'
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
