"""A run as HTML: whole, bounded, and without any power of what models wrote."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.report.html import coloured, cut_pages, fragment_html, prose, report_html
from prefect_swarm.report.page import Page, Paragraph, Quoted, Ref, RunView, Section, Strong
from prefect_swarm.report.run_html import pages_of
from prefect_swarm.store.result import Recall
from report_views import (
    HOSTILE,
    attempt,
    busy_view,
    failed,
    large_view,
    pages_of_all_blocks,
    step,
    view_of_steps,
)

VOID = {"meta", "br", "hr", "img", "input", "link", "path", "rect"}
ACTIVE = {"script", "img", "iframe", "object", "embed", "form", "input", "link", "base", "textarea"}


class Read(HTMLParser):
    """The tags, attributes and ids of a document, and whether its tags are closed in order."""

    def __init__(self, document: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.feed(document)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def values(self, name: str) -> list[str]:
        return [value for found, value in self.attributes if found == name]


def texts(document: str) -> str:
    return re.sub(r"<[^>]*>", " ", re.sub(r"(?s)<style>.*?</style>", "", document))


@pytest.mark.parametrize("made", [report_html, fragment_html])
def test_nothing_that_a_model_wrote_has_any_power(
    made: Callable[[RunView, Sequence[Page]], str],
) -> None:
    view = busy_view(answer=HOSTILE)
    read = Read(made(view, pages_of_all_blocks(HOSTILE)))
    assert ACTIVE.isdisjoint(read.tags)
    assert read.wrong == []
    assert [name for name, _ in read.attributes if name.startswith("on")] == []
    assert [
        href for href in read.values("href") if not href.startswith(("#", "https://rail"))
    ] == []
    assert read.values("src") == []


def test_no_page_gives_a_text_of_a_model_any_power() -> None:
    tries = (failed(1, 0, 2, error=HOSTILE), attempt(2, 3, 4, model=HOSTILE))
    steps = [step("S1", HOSTILE, *tries, prompt=HOSTILE, output=HOSTILE, files=(HOSTILE,))]
    view = view_of_steps(*steps, answer=HOSTILE)
    read = Read(report_html(view, pages_of(view)))
    assert ACTIVE.isdisjoint(read.tags)
    assert read.wrong == []
    assert read.values("src") == []
    assert all(href.startswith("#") for href in read.values("href"))


def test_what_the_memory_knows_is_in_no_document() -> None:
    recalled = Recall(episodes=7, note="Some were left out.")
    view = replace(busy_view(), recall=recalled, taught=("Reader does letters best.",))
    document = report_html(view, pages_of(view))
    assert "Memory" not in document
    assert "Reader does letters best." not in document


def test_steps_that_failed_come_first_where_there_are_many() -> None:
    steps = [step(f"S{n}", "Reader", attempt(1, 0, 1)) for n in range(1, 200)]
    steps.append(step("S200", "Reader", failed(1, 0, 1), status="failed"))
    document = report_html(view := view_of_steps(*steps), pages_of(view))
    assert document.index('id="page-S200"') < document.index('id="page-S1"')
    plan = document[document.index('id="page-plan"') :]
    rows = plan[plan.index("<tbody>") :]
    assert rows.index(">S200<") < rows.index(">S1<")


def test_headings_of_all_pages_leave_out_no_level() -> None:
    read = Read(report_html(busy_view(), pages_of(busy_view())))
    levels = [int(tag[1]) for tag in read.tags if re.fullmatch(r"h\d", tag)]
    assert all(after <= before + 1 for before, after in pairwise(levels))


@given(st.text(max_size=80))
def test_no_text_breaks_the_document(text: str) -> None:
    read = Read(report_html(busy_view(answer=text), pages_of_all_blocks(text)))
    assert read.wrong == []
    assert ACTIVE.isdisjoint(read.tags)


def test_the_policy_forbids_everything_but_its_own_style() -> None:
    (policy,) = re.findall(
        r'http-equiv="Content-Security-Policy" content="([^"]*)"',
        report_html(busy_view(), pages_of_all_blocks()),
    )
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; img-src data:;")


def test_each_link_within_the_document_leads_somewhere() -> None:
    read = Read(report_html(busy_view(), pages_of_all_blocks()))
    inner = {href[1:] for href in read.values("href") if href.startswith("#")}
    assert inner <= set(read.values("id"))
    assert {"page-answer", "page-plan", "page-costs", "page-steps", "page-S3"} - {
        "page-costs"
    } <= inner


def test_two_results_in_a_notebook_have_places_of_their_own() -> None:
    read = Read(fragment_html(busy_view(), pages_of_all_blocks()))
    named = [name for name in read.values("id") if not name.startswith("ps-")]
    assert named
    assert all(name.startswith("run-0123abcd4567-") for name in named)


def test_what_a_run_cost_is_drawn_once() -> None:
    with_costs = report_html(busy_view(), pages_of_all_blocks())
    without = report_html(busy_view(), [Page("answer", "Answer", [], [])])
    assert with_costs.count(">By model<") == without.count(">By model<") == 1


def test_the_way_to_other_pages_stands_at_the_head_alone() -> None:
    way = Paragraph(("See also: ", Ref("plan", "Plan"), ", ", Ref("timeline", "Timeline"), "."))
    assert "See also" not in report_html(busy_view(), [Page("answer", "Answer", [way], [])])


def test_what_the_head_says_is_not_said_again() -> None:
    line = Paragraph((Strong(busy_view().status_words), " · 9 steps"))
    again = [Section("Answer", [Paragraph(("Here.",))]), Section("Objective", [Quoted("Compare")])]
    document = report_html(busy_view(), [Page("answer", "Answer", [line], again)])
    assert "· 9 steps" not in document
    assert ">Objective<" not in document
    assert document.count(">Answer</h") == 1


def test_headings_leave_out_no_level() -> None:
    read = Read(report_html(busy_view(), pages_of_all_blocks()))
    levels = [int(tag[1]) for tag in read.tags if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_a_large_run_is_a_few_megabytes_and_says_what_it_leaves_out() -> None:
    view = large_view()
    section = Section("Output", [Quoted("word " * 20_000)])
    pages = [Page(step.id, step.id, [], [section]) for step in view.steps]
    document = report_html(view, pages)
    assert len(document) < 8_000_000
    assert "more characters are left out here" in document
    assert len(fragment_html(view, pages)) < 1_500_000


@given(st.lists(st.integers(0, 3000), min_size=1, max_size=20), st.integers(500, 20_000))
def test_cut_texts_fit_and_short_ones_stay_whole(lengths: list[int], budget: int) -> None:
    pages = [Page(str(n), "", [Quoted("x" * length)], []) for n, length in enumerate(lengths)]
    cut = [block for page in cut_pages(pages, budget, 2500) for block in page.lead]
    kept = [len(block.text) for block in cut if isinstance(block, Quoted)]
    assert sum(kept) <= max(budget, 200 * len(lengths))
    assert all(
        isinstance(b, Quoted) and len(b.text) + b.left_out == n
        for b, n in zip(cut, lengths, strict=True)
    )
    longest = max(kept)
    assert all(k == min(n, longest) for k, n in zip(kept, lengths, strict=True))


def test_an_image_of_a_model_is_its_words() -> None:
    assert texts(prose("![a chart](http://far.example/a.png)", 3)).strip() == "[image: a chart]"


def test_a_link_says_where_it_leads() -> None:
    drawn = prose("[the table](https://user@rail.example/a)", 3)
    assert 'rel="noopener noreferrer nofollow"' in drawn
    assert "the table</a> (rail.example)" in drawn


@pytest.mark.parametrize(
    "address", ["javascript:alert(1)", "data:text/html,x", "/etc", "file:///a"]
)
def test_a_link_to_anything_but_the_web_is_text(address: str) -> None:
    assert "<a " not in prose(f"[words]({address})", 3)


def test_headings_of_an_answer_begin_below_those_of_the_page() -> None:
    assert re.findall(r"<(h\d)>", prose("# A\n\n### B\n\n# C", 3)) == ["h3", "h4", "h3"]


def test_lines_of_a_diff_say_what_was_done() -> None:
    assert coloured("-a\n+<b>", "diff") == (
        '<span class="removed">-a</span>\n<span class="added">+&lt;b&gt;</span>'
    )


def test_an_unknown_language_is_plain() -> None:
    assert coloured("<a>", "klingon") == "&lt;a&gt;"


def test_code_has_the_same_text_with_colours() -> None:
    code = "def f():\n    return '<b>'\n"
    assert texts(coloured(code, "python")).replace("&lt;", "<").split() != []
    assert re.sub(r"<[^>]*>", "", coloured(code, "python")).replace("&lt;", "<").replace(
        "&gt;", ">"
    ).replace("&#39;", "'") == code.rstrip("\n")
