"""A headless Chromium for documents of ours, without a network."""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

__all__ = ["NAMES", "SHOWN", "browser", "opened", "serious"]

SHOWN = [(scheme, width) for scheme in ("light", "dark") for width in (390, 1280)]
"""Colour schemes and widths in pixels that a document has to be readable in."""

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
"""Programs that are looked for, first those of Debian."""
_ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking")


@contextmanager
def browser() -> Generator[Any]:
    """Start a Chromium of this machine; whoever asks is skipped where there is none."""
    playwright = pytest.importorskip("playwright.sync_api")
    named = os.environ.get("CHROMIUM", "")
    path = named or next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip("there is no Chromium on this machine; CHROMIUM names one")
    with playwright.sync_playwright() as started:
        running = started.chromium.launch(executable_path=path, args=[*_ARGUMENTS])
        try:
            yield running
        finally:
            running.close()


@contextmanager
def opened(
    running: Any, document: Path, *, scheme: str = "light", width: int = 1280
) -> Generator[tuple[Any, list[str]]]:
    """Open a file; yield the page, and the addresses that it asks for besides, which grow."""
    viewport = {"width": width, "height": 900}
    context = running.new_context(color_scheme=scheme, viewport=viewport, reduced_motion="reduce")
    asked: list[str] = []
    page = context.new_page()

    def note(request: Any) -> None:
        asked.append(request.url)

    page.on("request", note)
    page.goto(document.as_uri())
    asked.remove(document.as_uri())
    try:
        yield page, asked
    finally:
        context.close()


def serious(page: Any) -> list[str]:
    """What axe finds on a page that keeps somebody from reading it: rules and where."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [
        f"{each['id']}: {node['html'][:160]} {node.get('failureSummary', '')[:300]}"
        for each in found
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"][:3]
    ]
