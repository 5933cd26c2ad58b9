"""Pages, for the Prefect UI and as HTML, hide nothing and lead nowhere, whatever others wrote."""

from __future__ import annotations

import re
from html import unescape

import pytest
from hidden_texts import HIDDEN, LEGITIMATE, STEERING
from markdown_it import MarkdownIt
from prefect_swarm.flows.prefect_io.pages import listed_as
from prefect_swarm.report.html import prose, report_html
from prefect_swarm.report.markdown import page_markdown
from prefect_swarm.report.page import (
    Bullets,
    Figure,
    Figures,
    Page,
    Paragraph,
    Quoted,
    Ref,
    Section,
    Strong,
    Table,
)
from prefect_swarm.report.run_html import pages_of
from prefect_swarm.report.svg.graph import graph_svg
from prefect_swarm.report.svg.timeline import timeline_svg
from prefect_swarm.text import visible
from report_views import step, view_of_steps

ATTACKS = {**HIDDEN, **STEERING}
_ENTITIES = ["&#x202e;", "&#8203;", "&zwj;", "&shy;", "&lrm;", "&#xE0041;", "&#x2028;", "&#xFEFF;"]
_LANGUAGES = ("", "markdown", "json", "python", "diff", "mermaid")


def page_of(text: str) -> Page:
    """A page that has a text at each place that one may have."""
    blocks = [
        Paragraph((text, Strong(text), Ref("S1", text))),
        Bullets(((text,),)),
        Table(("Name", "What"), ((text, text),)),
        Figures((Figure(text, text, text),)),
        *(Quoted(text, language) for language in _LANGUAGES),
    ]
    return Page("S1", text, [Paragraph((text,))], [Section(text, blocks)])


def markdown_of(text: str) -> str:
    return page_markdown(page_of(text), lambda name: f"../artifact/{name}")


def html_of(text: str) -> str:
    view = view_of_steps(step("S1", text, prompt=text))
    return report_html(view, [page_of(text)])


@pytest.mark.attack("shown")
@pytest.mark.parametrize("hidden", ATTACKS.values(), ids=ATTACKS)
def test_a_page_in_the_prefect_ui_hides_nothing(hidden: str) -> None:
    shown = markdown_of(f"ap{hidden}prove")
    assert visible(shown) == shown
    assert shown.count("\\u") + shown.count("\\U") >= 12


@pytest.mark.attack("shown")
@pytest.mark.parametrize("hidden", ATTACKS.values(), ids=ATTACKS)
def test_a_report_as_html_hides_nothing(hidden: str) -> None:
    shown = html_of(f"ap{hidden}prove")
    assert visible(shown) == shown
    assert shown.count("\\u") + shown.count("\\U") >= 12


@pytest.mark.attack("shown")
@pytest.mark.parametrize(
    "entity",
    ["&#x202e;", "&#8203;", "&zwj;", "&shy;", "&lrm;", "&#xE0041;", "&#x2028;", "&#xFEFF;"],
)
def test_an_entity_of_markdown_becomes_nothing_hidden(entity: str) -> None:
    for shown in (str(prose(f"ap{entity}prove", 3)), markdown_of(f"ap{entity}prove")):
        assert visible(shown) == shown


@pytest.mark.attack("shown")
@pytest.mark.parametrize(
    "entity",
    ["&#x202e;", "&#8203;", "&zwj;", "&shy;", "&lrm;", "&#xE0041;", "&#x2028;", "&#xFEFF;"],
)
def test_a_links_words_and_place_hide_nothing_either(entity: str) -> None:
    text = f"[ap{entity}prove](https://e.example/{entity} '{entity}') ![{entity}](x{entity})"
    for shown in (str(prose(text, 3)), markdown_of(text)):
        assert visible(shown) == shown


@pytest.mark.attack("shown")
@pytest.mark.parametrize(
    "forged",
    [
        "![](https://evil.example/leak.png)",
        "![a][b]\n\n[b]: https://evil.example/leak.png",
        "<img src=https://evil.example/leak.png>",
        "# Approved\n\n---\n\n| a | b |\n|---|---|\n| c | d |",
        "```\nx\n```\n\n<script>x()</script>",
        "[approve](javascript:x())",
        "<https://evil.example>",
        "&lt;img src=https://evil.example/leak.png&gt;",
    ],
)
def test_a_page_in_the_prefect_ui_fetches_nothing_and_leads_to_its_own_pages(forged: str) -> None:
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(markdown_of(forged))
    every = [*tokens, *(child for token in tokens for child in token.children or ())]
    kinds = {token.type for token in every}
    assert kinds.isdisjoint({"image", "html_block", "html_inline"})
    targets = {token.attrs["href"] for token in every if token.type == "link_open"}
    assert targets == {"../artifact/S1"}


@pytest.mark.attack("shown")
@pytest.mark.parametrize(
    "title", ["S1 ![](https://evil.example/p.png)", "S1 <img src=//evil.example/p.png>", "a\u202eb"]
)
def test_a_list_of_pages_fetches_nothing_either(title: str) -> None:
    words = listed_as(Page("S1", title, [], []))
    kinds = [token.type for token in MarkdownIt("commonmark").parseInline(words)[0].children or ()]
    assert set(kinds) <= {"text", "text_special"}
    assert visible(words) == words


@pytest.mark.attack("shown")
@pytest.mark.parametrize("name", ["right-to-left-override", "tag", "zero-width-space", "colour"])
def test_a_drawing_hides_nothing(name: str) -> None:
    text = f"ap{ATTACKS[name]}prove"
    view = view_of_steps(step("S1", text, prompt=text))
    for drawn in (graph_svg(view), timeline_svg(view)):
        assert visible(drawn) == drawn


@pytest.mark.parametrize("text", LEGITIMATE.values(), ids=LEGITIMATE)
def test_legitimate_text_stays_in_pages(text: str) -> None:
    if not re.search(r"[\[<&#()]", text):
        assert text in markdown_of(text)
    words = unescape(re.sub(r"<[^>]+>", "", html_of(text)))
    assert words.count(text) >= 10


def test_pages_of_a_run_are_made_with_it() -> None:
    view = view_of_steps(step("S1", "Ann", prompt="a\u202eb"))
    shown = report_html(view, pages_of(view))
    assert "a\\u202eb" in shown
