"""Every link between pages leads to a file and a heading that are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from docs_pages import FENCE, ROOT

_LINK = re.compile(r"!?\[[^\]]*\]\(([^)#\s]*)(?:#([^)\s]+))?\)")
PAGES = [
    *ROOT.glob("*.md"),
    *ROOT.glob("*/AGENTS.md"),
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / "benches").rglob("*.md"),
    *(ROOT / "parl" / "adapters").glob("*.md"),
]


def prose(page: Path) -> str:
    return FENCE.sub("", page.read_text("utf-8"))


def anchors(page: Path) -> set[str]:
    """What headings are called in links: as in a forge's rendering of Markdown."""
    titles = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def broken(page: Path) -> list[str]:
    found: list[str] = []
    for target, anchor in _LINK.findall(re.sub(r"`[^`]*`", "", prose(page))):
        if ":" in target:
            continue
        path = (page.parent / target).resolve() if target else page
        has_headings = anchor and path.suffix == ".md" and path.is_file()
        if not path.exists() or (has_headings and anchor not in anchors(path)):
            found.append(f"{target}#{anchor}" if anchor else target)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_no_link_is_broken(page: Path) -> None:
    assert broken(page) == []


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs" / "README.md").read_text("utf-8")
    pages = {
        page.relative_to(ROOT / "docs").as_posix()
        for page in (ROOT / "docs").rglob("*.md")
        if page.name != "README.md"
    }
    assert pages <= {target for target, _ in _LINK.findall(index)}


def test_a_broken_link_would_be_found(tmp_path: Path) -> None:
    (page := tmp_path / "page.md").write_text(
        "# Title\n\n[a](page.md#title), [b](no.md), [c](#no)\n"
    )
    assert broken(page) == ["no.md", "#no"]
