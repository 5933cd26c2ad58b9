"""Word files hold plain lists and records."""

from __future__ import annotations

import pytest
from prefect_swarm.errors import InputError
from prefect_swarm.parl.data.pattern import WordEntry, WordList, read_lists


def test_a_plain_list_has_an_entry_a_line() -> None:
    text = "# comment\n[towns]\nBonn\n\n  New York  \n"
    assert list(read_lists(text, "words/a.txt")) == [
        WordList("towns", (), (WordEntry(("Bonn",)), WordEntry(("New York",))))
    ]


def test_a_plain_entry_may_have_the_separator() -> None:
    (found,) = read_lists("[operators]\nstd::vector\n", "words/a.txt")
    assert isinstance(found, WordList)
    assert found.entries[0].text == "std::vector"


def test_records_have_fields() -> None:
    (found,) = read_lists("[towns: name, land]\nBonn :: Germany\n", "words/a.txt")
    assert found == WordList("towns", ("name", "land"), (WordEntry(("Bonn", "Germany")),))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Bonn\n", "words/a.txt:1: 'Bonn' is before the first list."),
        ("[a]\nx\n\n[a]\ny\n", "words/a.txt:4: List a is defined already."),
        ("[a]\nx\n# no\nx\n", "words/a.txt:4: 'x' is in the list already."),
        ("[a: b, c]\nx\n", "words/a.txt:2: 'x' has 1 fields, not 2."),
        ("[a: b, c]\nx :: \n", "words/a.txt:2: 'x ::' has an empty field."),
        ("[a: b, c]\n :: x\n", "words/a.txt:2: ':: x' has an empty field."),
    ],
)
def test_an_error_names_the_file_and_line(text: str, problem: str) -> None:
    (error,) = (item for item in read_lists(text, "words/a.txt") if isinstance(item, InputError))
    assert error.problem == problem
    assert error.fix
