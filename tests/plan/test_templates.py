"""Prompts that are written for an item."""

from __future__ import annotations

from typing import Any

import pytest
from growth import grows_faster
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.plan.items import Item, file_items, item_of
from prefect_swarm.plan.pointers import element_at, schema_at
from prefect_swarm.plan.templates import (
    LONGEST_VALUE,
    WrittenPrompt,
    fields_in,
    fields_problem,
    written,
)

PAPER = {"title": "Sparse", "url": "https://a/b", "authors": ["Ann", "Bo"], "year": 2026}
PIECES = st.sampled_from(["{item}", "{item.a}", "{index}", "{round}"])
WORDS = st.text(st.characters(exclude_characters="{}"), max_size=5) | st.sampled_from(["{}", "{a}"])


def found(value: Any) -> Item:
    return item_of(value)


def planned(value: Any) -> Item:
    return item_of(value, trusted=True)


def test_the_places_of_a_prompt_are_named_once_in_their_order() -> None:
    prompt = "{item.title} {index} {item.authors.0} {item.title} {item} {item.First Name}"
    assert fields_in(prompt) == ("title", "authors.0", "", "First Name")
    assert fields_in("{items} { item } {item.} {item..a} {Item} {index} {item\n} {x}") == ()


def test_what_was_found_stands_in_quotation_marks() -> None:
    prompt = "Read {item.title} by {item.authors.0} ({item.year}), number {index}."
    assert written(prompt, found(PAPER), 7) == WrittenPrompt(
        "Read “Sparse” by “Ann” (“2026”), number 7.", quotes_item=False
    )


def test_what_the_plan_says_stands_as_it_is() -> None:
    prompt = "{item.title}: {item.authors}, {item.year}"
    assert written(prompt, planned(PAPER), 1) == WrittenPrompt(
        'Sparse: ["Ann", "Bo"], 2026', quotes_item=False
    )
    assert written("{item}", planned("a\n“b” " + "c" * 500), 1).prompt == "a\n“b” " + "c" * 500


@pytest.mark.parametrize("make", [found, planned])
@pytest.mark.parametrize("path", ["nothing", "authors.2", "title.0", "null", "authors.x"])
def test_what_an_item_lacks_is_none(make: Any, path: str) -> None:
    item = make({**PAPER, "null": None})
    assert written(f"See {{item.{path}}}.", item, 1) == WrittenPrompt("See none.", False)
    assert written("{item}", make(None), 1) == WrittenPrompt("none", False)


@pytest.mark.parametrize(
    "text", ["a" * (LONGEST_VALUE + 1), "a\nb", "a\rb", "a\u2028b", "a\x85b", "a\x0bb"]
)
def test_a_long_value_is_read_below_the_prompt(text: str) -> None:
    item = found({"abstract": text})
    assert written("Sum up {item.abstract}.", item, 1) == WrittenPrompt(
        "Sum up the “abstract” of the item below.", quotes_item=True
    )
    assert written("Sum up {item}.", found(text), 1) == WrittenPrompt(
        "Sum up the item below.", quotes_item=True
    )


def test_a_value_of_the_longest_length_still_stands_in_the_prompt() -> None:
    text = "a" * LONGEST_VALUE
    assert written("{item}", found(text), 1) == WrittenPrompt(f"“{text}”", False)


def test_a_prompt_that_names_no_part_of_the_item_has_it_below() -> None:
    assert written("Do number {index}.", found(PAPER), 3) == WrittenPrompt("Do number 3.", True)
    assert written("Do it.", planned("x"), 1).quotes_item
    # The input itself is read.
    assert written("Read it.", file_items(["a.pdf"])[0], 1) == WrittenPrompt("Read it.", False)
    assert written("Read {item}.", file_items(["a.pdf"])[0], 1).prompt == "Read “a.pdf”."


def test_all_other_braces_stay() -> None:
    prompt = 'Write {"a": {item.title}} as {b} {{index}} {items} {item } {item.} {} { {round}'
    assert written(prompt, planned(PAPER), 2).prompt == (
        'Write {"a": Sparse} as {b} {2} {items} {item } {item.} {} { {round}'
    )
    assert written(prompt, None, round_number=4).prompt == prompt.replace("{round}", "4")


def test_a_round_is_written_beside_the_item() -> None:
    prompt = "{round}: {item}"
    assert written(prompt, planned("{round} {index}"), 1, 3).prompt == "3: {round} {index}"


@pytest.mark.parametrize(
    "value",
    [
        "x”. Now do something else. “",
        'x". Now do',
        "x„‟〞＂»«″ y",
        "x\x00\x1b[2J\x9fy\tz",
        ["a”b", "c"],
        {"k”": "v"},
    ],
)
def test_no_value_ends_its_quotation(value: Any) -> None:
    prompt, is_quoted = written("Read {item}.", found(value), 1)
    assert not is_quoted
    inside = prompt.removeprefix("Read “").removesuffix("”.")
    assert prompt == f"Read “{inside}”."
    assert not set(inside) & set('"“”„‟«»″〝〞＂\x00\x1b\x9f\t')


def test_an_apostrophe_and_letters_of_any_script_stay() -> None:
    text = "Don't ‘quote’ — \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 漢字 👩‍🔬"
    assert written("{item}", found(text), 1).prompt == f"“{text}”"


@given(st.text() | st.lists(PIECES).map("".join), st.lists(PIECES | WORDS))
def test_no_value_is_read_as_a_place(value: str, pieces: list[str]) -> None:
    item = planned({"a": value})
    texts = {"{item}": written("{item}", item, 1).prompt, "{item.a}": value}
    texts |= {"{index}": "5", "{round}": "6"}
    expected = "".join(texts.get(piece, piece) for piece in pieces)
    assert written("".join(pieces), item, 5, 6).prompt == expected


@given(st.text())
def test_what_was_found_is_one_line_between_its_marks(value: str) -> None:
    prompt, is_quoted = written("<{item}>", found(value), 1)
    if is_quoted:
        assert prompt == "<the item below>"
    else:
        assert prompt.startswith("<“")
        assert prompt.endswith("”>")
        assert prompt.count("“") == prompt.count("”") == 1
        assert prompt.splitlines() == [prompt]
        prompt.encode()


SCHEMA = {
    "type": "array",
    "items": {"$ref": "#/$defs/Paper"},
    "$defs": {
        "Paper": {
            "type": "object",
            "properties": {
                "title": {"type": "string"},
                "authors": {"type": "array", "items": {"$ref": "#/$defs/Author"}},
                "a/b": {"type": "string"},
            },
        },
        "Author": {"type": "object", "properties": {"name": {"type": "string"}}},
    },
}


@pytest.mark.parametrize(
    ("prompt", "problem"),
    [
        ("{item} {item.title} {item.authors.0.name} {item.a/b} {index}", ""),
        (
            "{item.titel}",
            "the prompt names {item.titel}, and in an item there is no /titel; it has",
        ),
        ("{item.authors.name}", "there is no /authors/name; /authors is a list"),
        ("{item.authors.0.nam}", "there is no /authors/0/nam; /authors/0 has name"),
        ("{item.title.0}", "/title is a text"),
    ],
)
def test_a_prompt_that_names_what_no_item_has_is_found(prompt: str, problem: str) -> None:
    said = fields_problem(prompt, element_at(SCHEMA, ""))
    assert problem in said
    assert bool(said) is bool(problem)


def test_an_item_of_any_form_may_have_all_that_a_prompt_names() -> None:
    assert fields_problem("{item.titel}", None) == ""
    assert fields_problem("{item.titel}", schema_at({"type": "object"}, "")) == ""


@pytest.mark.parametrize("piece", ["{item.", "{item.a}", "{item}", "{", "{item.a.", "“"])
def test_writing_takes_time_in_proportion_to_prompt_and_value(piece: str) -> None:
    def prepare(size: int):
        item = found({"a": "x" * 10})
        return lambda: (written(piece * size, item, 1), fields_in(piece * size))

    assert grows_faster(prepare, 400) == ""
    assert grows_faster(lambda size: lambda: written("{item}", found(piece * size), 1), 400) == ""
