"""Words and numbers are found as they stand, rare ones before common ones."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.toolsets.document_library import LexicalIndex, joined_postings, postings_of
from prefect_swarm.toolsets.document_reading import word_numbers, words_of

texts = st.lists(st.text(st.sampled_from("abc "), max_size=30), max_size=12)


def index_of(*documents: list[str]) -> LexicalIndex:
    counted = [postings_of([word_numbers(text) for text in parts]) for parts in documents]
    return LexicalIndex(joined_postings(counted))


def test_numbers_and_codes_are_words_as_a_whole() -> None:
    assert words_of("Invoice INV-20391, 3.14 on 2024-05-01.")[-3:] == [
        "inv-20391",
        "3.14",
        "2024-05-01",
    ]


def test_a_rare_word_counts_more_than_common_ones() -> None:
    index = index_of(["the cost of the the", "the code is INV-20391"], ["the end", "of the day"])
    scores = index.scores(word_numbers("the code INV-20391"))
    assert scores.argmax() == 1
    assert scores[0] < 0.2 < scores[1]


@given(st.lists(texts, max_size=4), st.text(st.sampled_from("abcd "), max_size=12))
def test_scores_are_between_0_and_1_and_0_without_a_common_word(
    documents: list[list[str]], query: str
) -> None:
    parts = [text for document in documents for text in document]
    scores = index_of(*documents).scores(word_numbers(query))
    assert scores.shape == (len(parts),)
    for text, score in zip(parts, scores, strict=True):
        assert 0 <= score <= 1
        assert (score > 0) == bool(set(words_of(text)) & set(words_of(query)))


def test_a_question_without_words_finds_nothing() -> None:
    assert index_of(["a b"]).scores(Counter()).tolist() == [0.0]
