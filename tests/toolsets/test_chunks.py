"""Documents fall into lines and parts, and nothing of them is lost."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st
from prefect_swarm.text import clean
from prefect_swarm.toolsets.document_reading import (
    LEAST_CHUNK,
    MAX_CHUNK,
    MAX_LINE,
    chunks_of,
    lines_of,
)

words = st.text(st.characters(codec="utf-8"), max_size=30) | st.sampled_from(["word", "x" * 700])
texts = st.lists(st.sampled_from(["\n", "\n\n", " ", "\t", ""]) | words, max_size=60).map("".join)
texts |= st.text(st.sampled_from("ab \n"), max_size=5000)
unbroken = st.integers(0, 4000).map(lambda size: "x" * size)


def without_blanks(text: str) -> str:
    return "".join(text.split())


@given(texts | unbroken)
@example("a" * MAX_LINE + " b")
@example(" " * 3000)
@example("\ufeff\n\n x")
def test_lines_are_short_and_all_that_a_text_says(text: str) -> None:
    lines = lines_of(text)
    assert all(len(line) <= MAX_LINE and "\n" not in line for line in lines)
    assert without_blanks("".join(lines)) == without_blanks(clean(text))


@given(texts | unbroken)
def test_parts_are_short_and_have_each_line_once(text: str) -> None:
    lines = lines_of(text)
    chunks = chunks_of(lines)
    assert all(len(chunk.text) <= MAX_CHUNK for chunk in chunks)
    covered = [n for chunk in chunks for n in range(chunk.first_line, chunk.last_line + 1)]
    assert covered == sorted(set(covered))
    assert {n for n, line in enumerate(lines, 1) if line.strip()} <= set(covered)
    for chunk in chunks:
        assert chunk.text == "\n".join(lines[chunk.first_line - 1 : chunk.last_line])


def test_short_paragraphs_are_together_and_long_ones_alone() -> None:
    lines = ["short", "", "short too", "", "l" * LEAST_CHUNK, "", "last"]
    found = [(chunk.first_line, chunk.last_line) for chunk in chunks_of(lines)]
    assert found == [(1, 5), (7, 7)]


def test_a_long_line_is_cut_between_words() -> None:
    lines = lines_of(("word " * 300).strip())
    assert [line.count("word") for line in lines] == [200, 100]
    assert {word for line in lines for word in line.split()} == {"word"}


def test_control_characters_are_no_part_of_a_line() -> None:
    assert lines_of("a\x1b[31mred\x00\u202e") == ["a[31mred"]
