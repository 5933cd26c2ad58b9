"""CONTRIBUTING.md and the folders' AGENTS.md name places that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from docs_pages import ROOT, rows, sections_of

TABLE = sections_of((ROOT / "CONTRIBUTING.md").read_text("utf-8"))["Where do I change …"]
CHANGES = [(what, where) for what, where in rows(TABLE) if not what.startswith("**")]
FOLDERS = sorted(path.parent.name for path in ROOT.glob("*/__init__.py"))
PACKAGES = [name for name in FOLDERS if name not in ("benches", "tests")]


def named_in(text: str) -> list[str]:
    """Return the files and folders that a text names between backticks."""
    return re.findall(r"`([\w./-]+(?:\.py|\.md|\.toml|/))`", text)


@pytest.mark.parametrize(("what", "where"), CHANGES)
def test_where_to_change_something_exists(what: str, where: str) -> None:
    places = named_in(f"`{where}`")
    assert places, what
    assert [place for place in places if not (ROOT / place).exists()] == []


def test_a_row_may_name_several_places() -> None:
    assert named_in("`a/b.py`; elsewhere: `c/`") == ["a/b.py", "c/"]


@pytest.mark.parametrize("package", PACKAGES)
def test_a_folder_has_a_page_that_names_places_which_exist(package: str) -> None:
    folder = ROOT / package
    text = (folder / "AGENTS.md").read_text("utf-8")
    assert [place for place in named_in(text) if not is_there(place, folder)] == []


def is_there(place: str, folder: Path) -> bool:
    """Whether a place is in the folder, in the repository or, by its name, in docs/."""
    found = (folder / place, ROOT / place, *(ROOT / "docs").glob(f"*/{place}"))
    return any(path.exists() for path in found)
