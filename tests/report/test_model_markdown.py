"""Markdown that a model wrote keeps its form and has no power over the page."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode
from prefect_swarm.report.markdown import written

# What a page could be made of: all that Prefect's UIs read, links that nobody marked among it.
READER = MarkdownIt("gfm-like", {"html": True, "linkify": False})
POWER = {"link", "image", "html_block", "html_inline"}
PARTS = st.sampled_from(
    [
        "[a](http://far.away)",
        "![b](http://far.away/i.png)",
        "<img src=x onerror=alert(1)>",
        "<script>\n",
        "http://far.away ",
        "www.far.away ",
        "[x]: http://far.away\n",
        "[x]",
        "\\",
        "`",
        "```\n",
        "~~~\n",
        "\n",
        "\n\n",
        "- ",
        "1. ",
        "> ",
        "# ",
        "    ",
        "| a | b |\n|---|---|\n",
        "|",
        "*",
        "**",
        "_",
        "~~",
        "&lt;",
        "a",
        " ",
        "===\n",
        "---\n",
        "<!--",
        "-->",
        "</details>",
    ]
)


def kinds(text: str) -> set[str]:
    return {node.type for node in SyntaxTreeNode(READER.parse(text)).walk()}


@given(st.lists(PARTS, max_size=25).map("".join))
def test_nothing_in_it_is_fetched_led_to_or_run(text: str) -> None:
    assert not kinds(written(text)) & POWER


@given(st.text(alphabet="ab*_`[]()<>!#-|\\\n &;:/.~1", max_size=60))
def test_no_characters_make_a_link_an_image_or_html(text: str) -> None:
    assert not kinds(written(text)) & POWER


def test_its_form_stays() -> None:
    text = (
        "## T\n\nA **b** *c* `d`.\n\n- one\n- two\n  1. three\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
    )
    shown = written(text)
    assert kinds(shown) >= {"heading", "strong", "em", "code_inline", "bullet_list", "table"}
    assert "  1. three" in shown


def test_its_headings_are_below_those_of_the_page() -> None:
    assert written("# Top") == "##### Top"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[click](http://far.away)", r"click (http\://far.away)"),
        ("![x](http://far.away/i.png)", r"\[image: x\] (http\://far.away/i.png)"),
        ("<b>x</b>", "&lt;b&gt;x&lt;/b&gt;"),
        ("http://far.away", r"http\://far.away"),
    ],
)
def test_what_would_lead_away_is_shown_as_text(text: str, shown: str) -> None:
    assert written(text) == shown
