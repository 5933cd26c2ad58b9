"""docs/how-to/report.md has the program's bounds, and its pictures are there."""

from __future__ import annotations

import re

from docs_pages import page_path
from prefect_swarm.report.html import MOST_CHARS
from prefect_swarm.report.svg.graph import LEAST_ALIKE, MOST_BOXES

PATH = page_path("report.md")
PAGE = PATH.read_text("utf-8")
NUMBERS = {5: "Five"}


def test_its_pictures_are_there() -> None:
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", PAGE)
    assert pictures
    assert [name for name in pictures if not (PATH.parent / name).is_file()] == []


def test_its_bounds_are_those_of_the_program() -> None:
    words = " ".join(PAGE.split())
    assert f"more than {MOST_BOXES} cards" in words
    assert f"at most {MOST_CHARS:,} characters" in words
    assert f"{NUMBERS[LEAST_ALIKE]} or more steps that need the same steps" in words
