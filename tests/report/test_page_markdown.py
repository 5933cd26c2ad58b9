"""A page as Markdown is bounded, drawn by both of Prefect's UIs, and linked."""

from __future__ import annotations

import base64

from markdown_it import MarkdownIt
from prefect_swarm.report.markdown import MOST_CHARS, fitted_rows, page_markdown
from prefect_swarm.report.page import (
    Block,
    Drawing,
    Page,
    Paragraph,
    Quoted,
    Ref,
    Section,
    Strong,
    Table,
)

SVG = '<svg xmlns="http://www.w3.org/2000/svg"/>'


def markdown_of(*blocks: Block) -> str:
    page = Page("plan", "Plan", [], [Section("Part", blocks)])
    text = page_markdown(page, lambda name: f"../artifact/{name}", lambda _: SVG)
    return text.removeprefix("# Plan\n\n## Part\n\n")


def test_words_are_joined_as_they_stand() -> None:
    text = markdown_of(Paragraph(("See ", Ref("S1", "S1"), " and ", Strong("all"), ".")))
    assert text == "See [S1](../artifact/S1) and **all**."


def test_a_page_that_is_nowhere_is_named_without_a_link() -> None:
    page = Page("plan", "Plan", [Paragraph((Ref("S9", "S9"),))], [])
    assert page_markdown(page, lambda _: "") == "# Plan\n\nS9"


def test_a_drawing_is_an_image_that_is_fetched_from_nowhere() -> None:
    text = markdown_of(Drawing("graph", "a ](http://far.away) b"))
    data = base64.b64encode(SVG.encode()).decode()
    assert text.endswith(f"](data:image/svg+xml;base64,{data})")
    assert r"\](http\://far.away)" in text


def test_words_stand_where_nothing_can_be_drawn() -> None:
    page = Page("plan", "Plan", [Drawing("graph", "Two steps.")], [])
    assert page_markdown(page, lambda _: "") == "# Plan\n\nTwo steps."


def test_prose_of_a_prompt_is_wrapped_and_code_is_not() -> None:
    long = "word " * 60
    assert max(map(len, markdown_of(Quoted(long)).splitlines())) <= 78
    assert long.rstrip() in markdown_of(Quoted(long, "python"))


def test_what_was_left_out_of_a_text_is_counted() -> None:
    assert markdown_of(Quoted("x", left_out=1234)).endswith("*1,234 more characters.*")


def test_a_page_is_bounded_and_says_so_without_an_open_block() -> None:
    text = markdown_of(*[Quoted("x" * 9_000, "python")] * 20)
    assert len(text) < MOST_CHARS + 200
    assert "characters of it are left out.*" in text.splitlines()[-1]
    assert MarkdownIt("commonmark").parse(text)[-1].type == "paragraph_close"


def test_half_a_character_is_replaced() -> None:
    text = markdown_of(Paragraph(("\ud800",)), Quoted("\ud800"))
    assert text == "\\\\ud800\n\n```\n\\ud800\n```"


def test_a_table_is_no_wider_than_a_page() -> None:
    header = ("Status", "Step", "Agent", "Needs", "Prompt")
    row = ("succeeded", Ref("S1", "S1"), "A clerk of a long name " * 3, "S1, S2", "words " * 90)
    (fitted,) = fitted_rows(header, [row])
    words = [cell if isinstance(cell, str) else cell.text for cell in fitted]
    assert sum(map(len, words)) <= 100
    assert words[:2] == ["succeeded", "S1"]
    assert fitted[1] == Ref("S1", "S1")
    assert fitted_rows(("A", "B"), [("a", "b")]) == [("a", "b")]


def test_rows_that_a_table_leaves_out_are_counted() -> None:
    assert markdown_of(Table(("A",), (("a",),), more=1200)).endswith("\n\n1,200 more.")
