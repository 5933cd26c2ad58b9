"""Pages that are read first have short sentences."""

from __future__ import annotations

import pytest
from docs_pages import ROOT
from sentences import long_sentences, sentences

FIRST = ["README.md", "AGENTS.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md"]
PAGES = [*FIRST, "docs/README.md", "parl/adapters/README.md"]


@pytest.mark.parametrize("page", PAGES)
def test_no_sentence_has_more_than_thirty_words(page: str) -> None:
    assert long_sentences((ROOT / page).read_text("utf-8")) == []


def test_code_tables_and_targets_of_links_are_no_prose() -> None:
    page = (
        "# Title\n\nSee [here](a/b.md). Go `x y`!\n\n```\na b.\n```\n\n| a | b |\n\n- One. Two?\n"
    )
    assert sentences(page) == ["Title", "See [here].", "Go x!", "One.", "Two?"]


def test_a_long_sentence_is_found() -> None:
    assert long_sentences("word " * 31 + "end.", most=31) != []
    assert long_sentences("word " * 31 + "end.", most=32) == []
