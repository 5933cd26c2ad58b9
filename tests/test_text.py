"""Texts of others steer no terminal, and JSON of them holds the same without control characters."""

from __future__ import annotations

import json
import unicodedata

import pytest
from prefect_swarm.errors import InputError
from prefect_swarm.text import clean, encoded, escaped, one_line

MAY_STAY = {"\n", "\t"}
STEERING = [
    char
    for char in map(chr, range(0x110000))
    if unicodedata.category(char) == "Cc"
    or unicodedata.bidirectional(char)
    in {*("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")}
]
MARKS = ["\u200e", "\u200f", "\u061c"]


def test_nothing_that_steers_a_terminal_or_its_direction_is_left() -> None:
    text = "".join(["a", *STEERING, *MARKS, "b"])
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
