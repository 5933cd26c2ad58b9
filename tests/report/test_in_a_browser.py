"""A run in a real browser: nothing is fetched, nothing runs, everybody can read it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsers import SHOWN, browser, opened, serious
from prefect_swarm.report.html import fragment_html, report_html
from prefect_swarm.report.run_html import pages_of
from report_views import HOSTILE, busy_view, large_view, pages_of_all_blocks, pictured_view

pytestmark = pytest.mark.slow
# Elements that are wider than the window, unless something around them scrolls.
WIDER = """() => [...document.querySelectorAll('body *')].filter(each => {
    if (each.closest('svg') && each.tagName !== 'svg') return false;
    const box = each.getBoundingClientRect();
    if (box.right <= innerWidth + 1 || box.width === 0) return false;
    for (let above = each.parentElement; above; above = above.parentElement)
        if (['auto', 'scroll'].includes(getComputedStyle(above).overflowX)) return false;
    return true;
}).map(each => each.outerHTML.slice(0, 120))"""
# As a notebook's page has them, for all that stands in it.
RULES = """.jp-RenderedHTMLCommon td, .jp-RenderedHTMLCommon th { padding: 0.5em; border: none }
:not(.jp-RenderedMarkdown).jp-RenderedHTMLCommon td { text-align: right }
.jp-RenderedHTMLCommon dl dt { float: left; width: 20%; clear: both }
.jp-RenderedHTMLCommon dl dd { float: left; width: 80% }
.jp-RenderedHTMLCommon h3 { font-size: 40px; margin: 50px 0 }
.jp-RenderedHTMLCommon tbody tr:nth-child(even) { background: pink }
.jp-RenderedHTMLCommon svg { max-width: 100%; height: auto }"""
# Where each element is, from the top left of the report.
PLACES = """() => {
    const root = document.querySelector('.ps-report').getBoundingClientRect();
    return [...document.querySelectorAll('.ps-report :not(style, svg *)')].map(each => {
        const box = each.getBoundingClientRect();
        const style = getComputedStyle(each);
        return [each.tagName, box.left - root.left, box.top - root.top, box.width, box.height,
                style.color, style.backgroundColor];
    });
}"""
OPEN_ALL = "document.querySelectorAll('details').forEach(each => each.open = true)"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser() as running:
        yield running


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("documents")
    made = {
        "busy": report_html(busy_view(), pages_of_all_blocks("Some words")),
        "real": report_html(busy_view(), pages_of(busy_view())),
        "hostile": report_html(busy_view(answer=HOSTILE), pages_of_all_blocks(HOSTILE)),
        "large": report_html(large_view(), pages_of(large_view())),
        "pictures": report_html(pictured := pictured_view(), pages_of(pictured)),
        "notebook": (
            '<!DOCTYPE html><html lang="en"><title>A notebook</title><main>'
            f"{fragment_html(busy_view(), pages_of_all_blocks())}</main></html>"
        ),
        "within rules": (
            '<!DOCTYPE html><html lang="en"><title>A notebook</title>'
            f"<style>{RULES}</style><main class='jp-RenderedHTMLCommon'>"
            f"{fragment_html(busy_view(), pages_of_all_blocks())}</main></html>"
        ),
    }
    paths = {name: folder / f"{name}.html" for name in made}
    for name, path in paths.items():
        path.write_text(made[name], "utf-8")
    return paths


@pytest.mark.parametrize("name", ["busy", "real"])
@pytest.mark.parametrize(("scheme", "width"), SHOWN)
def test_axe_finds_nothing_serious(
    name: str, scheme: str, width: int, chromium: Any, documents: dict[str, Path]
) -> None:
    with opened(chromium, documents[name], scheme=scheme, width=width) as (page, _):
        page.evaluate(OPEN_ALL)
        assert serious(page) == []


def test_axe_finds_nothing_serious_in_a_notebook(chromium: Any, documents: dict[str, Path]) -> None:
    with opened(chromium, documents["notebook"]) as (page, _):
        page.evaluate(OPEN_ALL)
        assert serious(page) == []


def test_a_picture_is_drawn_and_named(chromium: Any, documents: dict[str, Path]) -> None:
    with opened(chromium, documents["pictures"], width=390) as (page, asked):
        page.evaluate(OPEN_ALL)
        [picture] = page.get_by_role("img", name="plot.png").all()
        assert picture.evaluate("each => [each.complete, each.naturalWidth]") == [True, 1200]
        assert picture.evaluate("each => each.getBoundingClientRect().width") < 390
        assert page.get_by_text("plot.png, a file that it left, 1,200 × 20 pixels").is_visible()
        assert serious(page) == []
    assert [address for address in asked if not address.startswith("data:")] == []


@pytest.mark.parametrize("name", ["busy", "real", "hostile", "large", "pictures"])
def test_nothing_runs_off_the_page_of_a_phone(
    name: str, chromium: Any, documents: dict[str, Path]
) -> None:
    with opened(chromium, documents[name], width=390) as (page, _):
        page.evaluate(OPEN_ALL)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert page.evaluate(WIDER) == []


@pytest.mark.parametrize("name", ["busy", "hostile", "large", "notebook"])
def test_no_request_leaves_the_page(name: str, chromium: Any, documents: dict[str, Path]) -> None:
    with opened(chromium, documents[name]) as (page, asked):
        page.evaluate(OPEN_ALL)
        page.wait_for_load_state("networkidle")
        assert asked == []


def test_nothing_that_a_model_wrote_runs(chromium: Any, documents: dict[str, Path]) -> None:
    with opened(chromium, documents["hostile"]) as (page, _):
        page.evaluate(OPEN_ALL)
        for link in page.query_selector_all("main a[href]"):
            assert not link.get_attribute("href").startswith("javascript")
        assert "ran" not in page.title().split()
        assert page.locator("main script, main img, main iframe").count() == 0


def test_a_link_to_a_step_opens_it(chromium: Any, documents: dict[str, Path]) -> None:
    with opened(chromium, documents["busy"]) as (page, _):
        step = page.locator("#page-S3")
        assert not step.evaluate("each => each.open")
        page.locator("#page-answer a[href='#page-S3']").first.click()
        step.locator("summary").first.press("Enter")
        assert step.evaluate("each => each.open")


def test_the_parts_of_the_document_can_be_found(chromium: Any, documents: dict[str, Path]) -> None:
    with opened(chromium, documents["busy"]) as (page, _):
        assert page.get_by_role("banner").count() == 1
        assert page.get_by_role("main").count() == 1
        assert page.get_by_role("navigation").count() == 1
        assert page.get_by_role("heading", level=1).inner_text().startswith("Compare trains")
        assert page.locator("details.step").count() == 9
        names = [each.get_attribute("aria-label") for each in page.query_selector_all("svg.ps")]
        assert names[0].startswith("The graph of 9 steps: 5 succeeded, 1 failed")
        assert names[1].startswith("The timeline of 6 steps")
        assert names[2].startswith("12,840 tokens")


def test_the_document_is_dark_where_that_is_wanted(
    chromium: Any, documents: dict[str, Path]
) -> None:
    grounds: list[str] = []
    for scheme in ("light", "dark"):
        with opened(chromium, documents["busy"], scheme=scheme) as (page, _):
            script = "getComputedStyle(document.querySelector('.ps-report')).backgroundColor"
            grounds.append(page.evaluate(script))
    assert grounds == ["rgb(255, 255, 255)", "rgb(17, 22, 31)"]


def test_the_rules_of_a_notebook_change_nothing(chromium: Any, documents: dict[str, Path]) -> None:
    found: list[Any] = []
    for name in ("notebook", "within rules"):
        with opened(chromium, documents[name]) as (page, _):
            page.evaluate(OPEN_ALL)
            found.append(page.evaluate(PLACES))
    assert found[0] == found[1]


def test_a_row_on_a_phone_is_no_higher_than_its_words(
    chromium: Any, documents: dict[str, Path]
) -> None:
    heights = "() => [...document.querySelectorAll('.rows tr')].map(row => row.offsetHeight)"
    with opened(chromium, documents["real"], width=390) as (page, _):
        page.evaluate(OPEN_ALL)
        assert max(page.evaluate(heights)) < 200
        last = "each => each.getBoundingClientRect().right"
        cells = page.locator(".rows td:last-child:not(:empty)")
        assert max(cell.evaluate(last) for cell in cells.all()) <= 390


def test_answer_graph_and_timeline_lead_and_the_rest_is_folded(
    chromium: Any, documents: dict[str, Path]
) -> None:
    with opened(chromium, documents["real"]) as (page, _):
        shown = page.locator("h3:visible").all_inner_texts()
        assert page.evaluate("document.documentElement.scrollHeight") < 3_500
    assert shown.index("Graph") < shown.index("Figures") < shown.index("Gates")
