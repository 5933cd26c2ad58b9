"""Pages have short sentences."""

from __future__ import annotations

import pytest
from docs_pages import ROOT
from sentences import long_sentences, sentences

FIRST = ["README.md", "AGENTS.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md"]
OTHERS = [*ROOT.glob("*/AGENTS.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benches/*/README.md")]
PAGES = [
    *FIRST,
    "parl/adapters/README.md",
    *sorted(str(page.relative_to(ROOT)) for page in OTHERS),
]


@pytest.mark.parametrize("page", PAGES)
def test_no_sentence_has_more_than_thirty_words(page: str) -> None:
    assert long_sentences((ROOT / page).read_text("utf-8")) == []


def test_code_tables_and_targets_of_links_are_no_prose() -> None:
    page = (
        "# Title\n\nSee [here](a/b.md). Go `x y`!\n\n```\na b.\n```\n\n| a | b |\n\n- One. Two?\n"
    )
    assert sentences(page) == ["Title", "See [here].", "Go x!", "One.", "Two?"]


def test_a_block_of_code_may_be_indented_or_hold_another() -> None:
    page = "- One.\n\n  ```sh\n  a b.\n  ```\n\n````\n```json\n{}\n```\na b.\n````\n\nTwo.\n"
    assert sentences(page) == ["One.", "Two."]


def test_quotations_and_facts_between_dots_are_no_prose() -> None:
    page = "One.\n\n> a b c.\n\n`run` · 2 cores · 24 GiB\n\nOf `S1 · gates · attempt 1`.\n"
    assert sentences(page) == ["One.", "Of x."]


def test_a_long_sentence_is_found() -> None:
    assert long_sentences("word " * 31 + "end.", most=31) != []
    assert long_sentences("word " * 31 + "end.", most=32) == []
