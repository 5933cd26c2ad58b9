"""A hook of MkDocs: the navigation has folders and pages in the order of the index."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.nav import Navigation, Section
from mkdocs.structure.pages import Page

__all__ = ["on_nav"]

_INDEX = Path(__file__).parents[1] / "README.md"
_LISTED = re.compile(r"^## Tutorials.*", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\(([^)#\s]+\.md)")


def on_nav(nav: Navigation, **_: Any) -> Navigation:
    """Sort what stands in the navigation, the index first."""
    [lists] = _LISTED.findall(_INDEX.read_text("utf-8"))
    order = {uri: number for number, uri in enumerate(dict.fromkeys(_LINK.findall(lists)))}

    def place(item: Any) -> int:
        if isinstance(item, Section):
            return min(map(place, item.children), default=len(order))
        if isinstance(item, Page):
            return order.get(item.file.src_uri, -1 if item.is_homepage else len(order))
        return len(order)

    for section in nav.items:
        if isinstance(section, Section):
            section.children.sort(key=place)
    nav.items.sort(key=place)
    _link_in_order(nav)
    return nav


def _link_in_order(nav: Navigation) -> None:
    """Have each page lead to the next one of the navigation."""
    pages = [page for item in nav.items for page in _pages(item)]
    for page, before, after in zip(pages, [None, *pages], [*pages[1:], None], strict=False):
        page.previous_page, page.next_page = before, after


def _pages(item: Any) -> list[Page]:
    if isinstance(item, Section):
        return [page for child in item.children for page in _pages(child)]
    return [item] if isinstance(item, Page) else []
