"""Texts of others steer no terminal, and JSON of them holds the same without control characters."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hidden_texts import HIDDEN, LEGITIMATE, STEERING
from prefect_swarm.errors import InputError
from prefect_swarm.text import (
    clean,
    code_span,
    encoded,
    escaped,
    fenced,
    one_line,
    plain_words,
    visible,
    width_of,
)

MAY_STAY = {"\n", "\t"}
CONTROLS = [
    char
    for char in map(chr, range(0x110000))
    if unicodedata.category(char) == "Cc"
    or unicodedata.bidirectional(char)
    in {*("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")}
]
MARKS = ["\u200e", "\u200f", "\u061c"]


def test_nothing_that_steers_a_terminal_or_its_direction_is_left() -> None:
    text = "".join(["a", *CONTROLS, *MARKS, "b"])
    assert set(clean(text)) == {"a", "b", *MAY_STAY}
    assert one_line("access\u202e\u2066 if admin\u2069") == r"access\u202e\u2066 if admin\u2069"


def test_text_that_is_written_from_the_right_stays() -> None:
    assert clean("שלום and مرحبا") == "שלום and مرحبا"


@pytest.mark.parametrize("text", ["\x7f\x80\x9b31m\x9f", "\u202eab\u2066", "\ud800", "é שלום 🙂"])
def test_json_with_escapes_is_the_same_data_and_can_be_written(text: str) -> None:
    document = escaped(json.dumps({"text": text}, ensure_ascii=False))
    assert json.loads(document) == {"text": text}
    document.encode()
    assert clean(document) == document


def test_half_a_surrogate_pair_is_an_error_that_says_where() -> None:
    assert encoded("é", "prompt") == "é".encode()
    with pytest.raises(InputError, match=r"The prompt has '\\ud800' at character 2,"):
        encoded("ab\ud800", "prompt")


@pytest.mark.attack("shown")
@pytest.mark.parametrize("hidden", [*HIDDEN.values(), *STEERING.values()], ids=[*HIDDEN, *STEERING])
def test_what_hides_or_steers_is_an_escape_in_what_a_person_reads(hidden: str) -> None:
    text = f"ap{hidden}prove"
    for shown in (one_line(text), visible(text, strict=True)):
        assert "\\u" in shown or "\\U" in shown
        assert visible(shown) == shown
        assert shown.replace("\u2764\ufe0f", "").replace("\U0001f3f4", "").isascii()


@pytest.mark.parametrize("text", LEGITIMATE.values(), ids=LEGITIMATE)
def test_what_belongs_to_a_text_stays_in_it(text: str) -> None:
    assert visible(text) == text
    document = json.dumps({"text": text}, ensure_ascii=False)
    assert escaped(document) == document


@pytest.mark.parametrize(
    "name", ["family", "heart", "key", "rainbow", "coder", "england", "arabic"]
)
def test_what_is_acted_on_keeps_its_emoji_and_its_letters(name: str) -> None:
    assert visible(LEGITIMATE[name], strict=True) == LEGITIMATE[name]


@pytest.mark.attack("shown")
@pytest.mark.parametrize("name", ["persian", "devanagari", "sinhala", "ideograph"])
def test_what_is_acted_on_has_nothing_hidden_between_letters(name: str) -> None:
    assert visible(LEGITIMATE[name], strict=True) != LEGITIMATE[name]


@pytest.mark.attack("shown")
@pytest.mark.parametrize("space", [" ", "\u00a0", "\u2003", "\u3000"])
def test_no_row_of_spaces_puts_an_argument_out_of_sight(space: str) -> None:
    shown = visible(f"echo hello{space * 500}; rm -rf /", strict=True)
    assert f"{space * 33}" not in shown
    assert f"\\u{ord(space):04x}; rm -rf /" in shown


@pytest.mark.attack("shown")
def test_no_pile_of_marks_covers_the_lines_beside_it() -> None:
    assert visible("a" + "\u0300" * 60).count("\u0300") == 4


@pytest.mark.parametrize("text", ["x" * 500, "word " * 90, "", " " * 200, "a\n\nb"])
def test_a_block_breaks_lines_and_loses_nothing(text: str) -> None:
    lines = fenced(text, columns=78).split("\n")[1:-1]
    assert max(map(len, lines)) <= 78
    assert "".join(lines) == text.rstrip("\n").replace("\n", "")


@pytest.mark.attack("shown")
@pytest.mark.parametrize("text", ["あ" * 200, "か き " * 60, "a\u0301" * 200, "가" * 77 + "x"])
def test_a_line_of_wide_letters_runs_off_no_page(text: str) -> None:
    lines = fenced(text, columns=78).split("\n")[1:-1]
    assert max(map(width_of, lines)) <= 78
    assert "".join(lines) == text


@pytest.mark.attack("shown")
@pytest.mark.parametrize("text", ["```\n# Approved", "````", "a\n~~~\n```json\n```", "`" * 50])
def test_nothing_ends_a_block_of_code_early(text: str) -> None:
    first, *inside, last = fenced(text).split("\n")
    assert first == last
    assert all(not line.strip().startswith(last) for line in inside)


@pytest.mark.attack("shown")
@pytest.mark.parametrize(
    "words",
    [
        "`x`",
        "![x](http://e.example/p.png)",
        "www.e.example",
        "a\n# b",
        "<img src=x>",
        "**b**",
        "- a",
    ],
)
def test_words_in_a_line_are_code_where_they_would_mean_more(words: str) -> None:
    shown = plain_words(words)
    assert shown == code_span(words)
    assert shown[0] == shown[-1] == "`"
    assert "\n" not in shown


@pytest.mark.parametrize(
    "words", ["Reader", "Ann's cat (2), at 09:00; 1.5 h?", "Écrivain", "日本語"]
)
def test_plain_words_stay_plain(words: str) -> None:
    assert plain_words(words) == words
