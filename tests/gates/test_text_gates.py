"""Problems of a text are found without a model."""

from __future__ import annotations

import pytest
from gate_checks import found
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.errors import Category
from prefect_swarm.gates.text_gates import repeated_text


@pytest.mark.parametrize(
    ("text", "least", "most", "passes"),
    [
        ("one two three", 3, 3, True),
        ("one two", 3, None, False),
        ("one two three four", None, 3, False),
        ("", 1, None, False),
    ],
)
def test_length_counts_words(text: str, least: int | None, most: int | None, passes: bool) -> None:
    finding = found("length", text, min_words=least, max_words=most)
    assert (finding.status == "passed") is passes


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n\t\N{NO-BREAK SPACE}",
        "\N{ZERO WIDTH SPACE}\N{ZERO WIDTH NO-BREAK SPACE}\0",
        "the best of the best of the best of the best of the best of all",
        "very very very very very very good",
        "\n".join(["- Be kind to others", *["- Drink more water"] * 5]),
    ],
)
def test_what_says_nothing_or_the_same_again_fails_on_its_format(text: str) -> None:
    finding = found("repetition", text)
    assert (finding.status, finding.category) == ("failed", Category.FORMAT)


@pytest.mark.parametrize(
    "text",
    [
        "No, no, no, no! She had had enough.",
        "Row, row, row your boat, gently down the stream. Merrily, merrily, merrily, merrily.",
        "\n".join(f"- Point {n} is about thing {n}" for n in range(12)),
        "| a | b |\n|---|---|\n| 1 | 2 |\n| 1 | 2 |",
        "x = [0, 0, 0, 0]",
    ],
)
def test_a_manner_of_speaking_passes(text: str) -> None:
    assert found("repetition", text).status == "passed"


@given(st.lists(st.sampled_from("abcdefgh"), min_size=2, max_size=8, unique=True))
def test_any_phrase_four_times_in_a_row_is_found(words: list[str]) -> None:
    phrase = " ".join(words)
    assert repeated_text(f"At first it says {' '.join([phrase] * 4)}")


@given(st.lists(st.text("abcdefghijklmnop", min_size=3, max_size=9), max_size=60, unique=True))
def test_words_that_are_all_different_never_circle(words: list[str]) -> None:
    assert repeated_text(" ".join(words)) == ""


GOOD = "## Summary\nAll is well.\n\n## Risks\n- None known\n\n**Next steps:** ship it"
WANTED = ("Summary", "Risks", "Next steps")


def test_sections_may_be_headings_bold_or_labels() -> None:
    assert found("sections", GOOD, sections=WANTED).status == "passed"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (GOOD.replace("## Risks\n- None known", ""), "'Risks' is missing"),
        (GOOD.replace("- None known", ""), "'Risks' is empty"),
        ("Risks: none\nSummary: well\nNext steps: go", "'Risks' comes too early"),
        (GOOD.replace(" ship it", ""), "'Next steps' is empty"),
    ],
)
def test_a_section_that_is_not_as_asked_is_named(text: str, why: str) -> None:
    finding = found("sections", text, sections=WANTED)
    assert (finding.status, finding.category) == ("failed", Category.FORMAT)
    assert any(why in str(diagnostic) for diagnostic in finding.diagnostics)


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("one_line", "Paris"),
        ("number", "42"),
        ("number", "about 1,200 km"),
        ("number", "−3.5 °C"),
        ("yes_no", "Yes, because it is."),
        ("yes_no", "no"),
        ("list", "- one\n- two"),
        ("list", "Here:\n1. one\n   which goes on\n2. two\n3. three"),
        ("table", "| a | b |\n|---|:-:|\n| 1 | 2 |"),
    ],
)
def test_an_answer_of_the_form_passes(form: str, text: str) -> None:
    assert found("form", text, form=form).status == "passed"


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("one_line", "Paris\nLyon"),
        ("one_line", ""),
        ("number", "between 3 and 4"),
        ("number", "The answer to all of it is 42"),
        ("number", "many"),
        ("yes_no", "Maybe"),
        ("yes_no", "Nobody knows"),
        ("list", "one, two, three"),
        ("list", "- one"),
        ("list", "It is a long story.\nIt has many parts.\nThis:\n- one\n- two"),
        ("table", "a b\n1 2"),
        ("table", "| a | b |\n|---|---|"),
        ("table", "| a | b |\n|---|---|\n| 1 |"),
    ],
)
def test_an_answer_of_another_form_fails_on_its_format(form: str, text: str) -> None:
    assert found("form", text, form=form).category is Category.FORMAT


READ = (("S1", "Paris has 2 million people"), ("notes.txt", "Lyon is smaller"))


def test_citations_of_what_was_read_pass() -> None:
    text = "Paris is large [S1], Lyon is not [notes.txt, S1]; see [the site](https://example.org)."
    assert found("citations", text, citations=True, read=READ).status == "passed"


def test_a_citation_of_anything_else_is_wrong_with_its_place() -> None:
    finding = found("citations", "Well.\nRome too [S7].", citations=True, read=READ)
    assert finding.category is Category.LOGIC
    (diagnostic,) = finding.diagnostics
    assert (diagnostic.line, diagnostic.column) == (2, 10)
    assert "[S7]" in diagnostic.message


def test_a_text_that_cites_nothing_fails_on_its_format() -> None:
    finding = found("citations", "Paris is large.", citations=True, read=READ)
    assert finding.category is Category.FORMAT
    assert "[S1], [notes.txt]" in finding.diagnostics[0].message


@pytest.mark.parametrize(
    "text",
    [
        "The item a[i] and [x], see the note.[^1]\n\n[^1]: A note.",
        "- [ ] to do\n- [x] done\n- [X] done",
        "He wrote it [sic], and more [...] and less […].",
        "Write `values[index]` or ``a`[name]`` or `[Name]`.",
        "```python\nx = values[index]\n```\nand\n~~~\n[Nobody]\n~~~",
        "As [they say][site] in [Rome](https://example.com).\n\n[site]: https://example.com",
    ],
)
def test_what_else_stands_in_square_brackets_is_no_citation(text: str) -> None:
    assert (
        found("citations", f"Paris [S1].\n\n{text}", citations=True, read=READ).status == "passed"
    )
    finding = found("citations", text, citations=True, read=READ)
    assert (finding.status, finding.category) == ("failed", Category.FORMAT)


def test_a_citation_behind_a_block_of_code_has_its_place() -> None:
    text = "```\n[S9]\n```\n`[S9]` says [S8]."
    finding = found("citations", text, citations=True, read=READ)
    assert [(d.line, d.column) for d in finding.diagnostics] == [(4, 13)]


@pytest.mark.parametrize(
    "line", ["|" + " " * 100_000 + "!", "**" + " " * 100_000 + "x", "#" * 100_000]
)
def test_a_long_line_is_no_heading_and_takes_no_time(line: str) -> None:
    # The time is the suite's own limit: this took hours.
    assert found("sections", line, sections=["Intro"]).status == "failed"


@pytest.mark.parametrize(
    "heading", ["## Intro", "Intro:", "**Intro**", "1. **Intro**:", "# _Intro_ :", "Intro: words"]
)
def test_a_heading_may_be_marked_in_several_ways(heading: str) -> None:
    assert found("sections", f"{heading}\nwords", sections=["Intro"]).status == "passed"
