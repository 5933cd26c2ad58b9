"""Nothing that a model wrote has power over a page, and it is read as it was written."""

from __future__ import annotations

import html
import re

import pytest
from markdown_it import MarkdownIt
from prefect_swarm.report.markdown import fenced, plain, table

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
@pytest.mark.attack("shown")
def test_text_can_neither_load_an_image_nor_link_nor_look_like_the_page_itself(
    hostile: str,
) -> None:
    expected = html.escape(hostile, quote=True).replace("&#x27;", "'")
    reader = MarkdownIt("commonmark").enable("table")
    assert reader.render(plain(hostile, 300)) == f"<p>{expected}</p>\n"
    rendered = reader.render(table(("A", "B"), [(plain(hostile, 300), "x")]))
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


@pytest.mark.parametrize("written", ["```\nx", "a ```` b\n```", "", "~~~\n`"])
def test_code_can_not_close_its_block(written: str) -> None:
    (token,) = MarkdownIt("commonmark").parse(fenced(written, "python"))
    assert (token.type, token.info, token.content.rstrip("\n")) == ("fence", "python", written)


def test_a_diagram_that_a_model_wrote_is_shown_and_not_drawn() -> None:
    assert fenced("graph LR", "mermaid") == "```\ngraph LR\n```"
