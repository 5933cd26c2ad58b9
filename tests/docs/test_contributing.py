"""CONTRIBUTING.md leads to places that exist."""

from __future__ import annotations

import re

import pytest
from docs_pages import ROOT

PLACES = re.findall(
    r"^\| [^|]* \| `([^`]+)` \|$", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.M
)


@pytest.mark.parametrize("place", PLACES)
def test_where_to_change_something_exists(place: str) -> None:
    path = ROOT / place
    assert path.is_dir() if place.endswith("/") else path.is_file()


def test_there_are_ten_places_to_find() -> None:
    assert len(PLACES) >= 10
