"""The items that a step is done for."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from growth import grows_faster
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.errors import Category, ItemsError
from prefect_swarm.plan.conditions import are_equal
from prefect_swarm.plan.items import (
    MOST_ITEMS,
    Item,
    canonical_json,
    count_rows,
    digest_of,
    file_items,
    full_text,
    has_rows,
    is_pattern,
    item_of,
    items_in,
    key_of,
    names_matching,
    pattern_of,
    rows_of,
    select_items,
)
from prefect_swarm.plan.program import ForEach

NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
CLOSE = st.sampled_from([0, 1, 1.0, -0.0, True, False, None, "1", 1e20, 10**20, [1], [1.0], {}, ""])


def for_each(**fields: Any) -> ForEach:
    return ForEach.model_validate({"items": "S1", **fields})


def items(*values: Any) -> list[Item]:
    return [item_of(value) for value in values]


def values_of(chosen: tuple[Item, ...]) -> list[Any]:
    return [item.value for item in chosen]


# Items of an output.


def test_the_items_of_an_output_are_the_elements_of_the_list_that_at_points_to() -> None:
    text = '{"papers": [{"title": "a"}, 2, null]}'
    assert items_in(text, "/papers") == [{"title": "a"}, 2, None]
    assert items_in("[]", "") == []
    assert items_in("\ufeff[1]", "") == [1]
    assert items_in('["\\ud800"]', "") == ["\ud800"]


@pytest.mark.parametrize(
    ("text", "at", "problem"),
    [
        ("no JSON", "", "The output of S1 is not JSON, so there are no items in it: Expecting"),
        ("", "", "is not JSON"),
        ("[1] and more", "", "is not JSON"),
        ('[{"a": 1, "a": 2}]', "", 'the key "a" is there twice'),
        ("[NaN]", "", "NaN is not a number"),
        ("[" * 200 + "]" * 200, "", "nested over 100 levels"),
        ('{"title": 1}', "/papers", "has no list at /papers: there is no /papers; it has title"),
        ('"x"', "", "The output of S1 has no list: it is a text, not a list."),
        ('{"a": {}}', "/a", "/a is an object, not a list"),
        ("null", "", "it is null, not a list"),
    ],
)
def test_what_is_no_list_is_an_error_that_says_what_is_there(
    text: str, at: str, problem: str
) -> None:
    with pytest.raises(ItemsError) as caught:
        items_in(text, at, "output of S1")
    assert problem in caught.value.problem
    assert caught.value.fix
    assert caught.value.category is Category.LOGIC


@given(VALUES, st.sampled_from(["", "/a", "/0", "/a/b"]))
def test_what_is_no_list_is_never_an_empty_one(value: Any, at: str) -> None:
    text = json.dumps(value)
    try:
        found = items_in(text, at)
    except ItemsError:
        return
    assert isinstance(found, list)
    assert json.dumps(found) in text


# Rows of an input.


def test_rows_of_csv_are_objects_by_the_first_row() -> None:
    assert rows_of("a.csv", "name,age\nAnn,3\nBo,4\n") == [
        {"name": "Ann", "age": "3"},
        {"name": "Bo", "age": "4"},
    ]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "\ufeffa,b\r\n1,2\r\n"),
        ("a.CSV", " a , b \n1,2"),
        ("a.csv", "\n\na,b\n\n1,2\n\n"),
        ("a.csv", "a;b\n1;2\n"),
        ("a.csv", "a\tb\n1\t2\n"),
        ("a.csv", "a,b\r1,2\r"),
        ("a.csv", '"a","b"\n"1","2"\n'),
        ("a.tsv", "a\tb\n1\t2\n"),
        ("a.jsonl", '{"a": "1", "b": "2"}\n'),
        ("a.ndjson", '\ufeff\n{"a": "1", "b": "2"}\r\n\n'),
        ("a.json", '[{"a": "1", "b": "2"}]'),
        ("rows", ' [{"a": "1", "b": "2"}]'),
    ],
)
def test_the_same_rows_are_found_however_they_are_written(name: str, text: str) -> None:
    assert rows_of(name, text) == [{"a": "1", "b": "2"}]


def test_a_field_in_quotation_marks_may_hold_line_breaks_separators_and_marks() -> None:
    rows = rows_of("a.csv", 'a,b\n"1\n2,""3""",4\n"x;y",5\n')
    assert rows == [{"a": '1\n2,"3"', "b": "4"}, {"a": "x;y", "b": "5"}]
    assert rows_of("a.csv", '"x,y";b\n1;2\n') == [{"x,y": "1", "b": "2"}]


def test_a_first_row_alone_has_no_rows_behind_it() -> None:
    assert rows_of("a.csv", "a,b\n") == []
    assert rows_of("a.jsonl", "\n") == []
    assert rows_of("a.json", "[]") == []


def test_a_pointer_leads_to_the_list_in_a_json_input() -> None:
    assert rows_of("a.json", '{"rows": [1, 2]}', "/rows") == [1, 2]
    assert rows_of("data", '{"rows": [1, 2]}', "/rows") == [1, 2]


@pytest.mark.parametrize(
    ("name", "text", "at", "problem"),
    [
        ("a.csv", "a,b\n1,2\n1,2,3\n", "", "in line 3 of the input a.csv has 3 fields, and the"),
        ("a.csv", 'a,b\n"1\n2",2\n1\n', "", "in line 4 of the input a.csv has 1 field, and the"),
        ("a.csv", "a,b,a\n", "", "Column 3 of the input a.csv has the name of an earlier one, 'a'"),
        ("a.csv", "a,,b\n", "", "Column 2 of the input a.csv has no name"),
        ("a.csv", 'a,b\n"1,2\n', "", "in line 2: unexpected end of data"),
        ("a.csv", 'a,b\n"1"2,3\n', "", "in line 2: ',' expected after"),
        ("a.csv", "\n \n"[:1], "", "has no rows: it is blank"),
        ("a.csv", f"a\n{'x' * 140_000}\n", "", "field larger than field limit"),
        ("a.csv", "a\n1\n", "/a", "nothing in them is at /a"),
        ("a.jsonl", "[1]\n\n[2\n", "", "Line 3 of the input a.jsonl is not JSON"),
        ("a.jsonl", '{"a": 1, "a": 2}\n', "", "is there twice"),
        ("a.json", '{"a": 1}', "", "The input a.json has no list: it is an object, not a list"),
        ("a.json", "a,b", "", "The input a.json is not JSON"),
        ("notes.txt", "a\nb\n", "", "has no rows: by its name it is neither"),
        ("notes.md", "- a\n- b\n", "", "has no rows: by its name it is neither"),
        ("paper.pdf", "[page 1]", "", "has no list|is not JSON|has no rows"),
    ],
)
def test_an_input_that_has_no_rows_is_an_error_that_says_where(
    name: str, text: str, at: str, problem: str
) -> None:
    with pytest.raises(ItemsError) as caught:
        rows_of(name, text, at)
    assert any(part in caught.value.problem for part in problem.split("|"))
    assert caught.value.fix


NAMES = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=5)
CELLS = st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n"))


@given(st.lists(NAMES, min_size=2, max_size=4, unique=True), st.data())
def test_rows_are_read_as_they_were_written(names: list[str], data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.fixed_dictionaries(dict.fromkeys(names, CELLS)), max_size=4))
    file = io.StringIO()
    writer = csv.DictWriter(file, names, quoting=csv.QUOTE_ALL)
    writer.writeheader()
    writer.writerows(rows)
    assert rows_of("a.csv", file.getvalue()) == rows


# Inputs as items.


def test_a_pattern_picks_inputs_by_their_names() -> None:
    names = ["a.pdf", "b.PDF", "notes/c.pdf", "d.txt"]
    assert names_matching("*.pdf", names) == ["a.pdf", "notes/c.pdf"]
    assert names_matching("*", names) == names
    assert names_matching("?.txt", names) == ["d.txt"]
    assert [is_pattern(each) for each in ("*.pdf", "?", "[ab]", "S1", "a.csv")] == [
        True,
        True,
        True,
        False,
        False,
    ]


def test_an_input_that_is_an_item_says_which_it_is() -> None:
    assert file_items(["a.pdf"]) == [Item("a.pdf", "a.pdf", source="a.pdf")]


# Labels, texts and digests.


@pytest.mark.parametrize(
    ("value", "label"),
    [
        ("  a\n b ", "a b"),
        ("x" * 100, "x" * 59 + "…"),
        ({"url": "u", "title": "t"}, "t"),
        ({"n": 1, "what": "w"}, "w"),
        ({"n": 1}, '{"n": 1}'),
        ({"title": " ", "n": 1}, '{"title": " ", "n": 1}'),
        ([1, 2], "[1, 2]"),
        (None, "null"),
        ("", "a text"),
        (3, "3"),
        ("a\u202eb", "a\\u202eb"),
    ],
)
def test_a_label_says_which_item_it_is(value: Any, label: str) -> None:
    assert item_of(value).label == label


@given(VALUES)
def test_a_label_is_one_short_line(value: Any) -> None:
    label = item_of(value).label
    assert label
    assert len(label) <= 60
    assert label.splitlines() == [label]


def test_an_item_is_quoted_as_its_text_or_as_json() -> None:
    assert full_text(item_of("a\nb \ud800")) == "a\nb \ufffd"
    assert json.loads(full_text(item_of({"é": [1]}))) == {"é": [1]}
    assert "é" in full_text(item_of({"é": [1]}))


@given(VALUES | CLOSE, VALUES | CLOSE)
def test_the_canonical_json_of_values_is_the_same_where_they_are_equal(
    one: Any, other: Any
) -> None:
    assert are_equal(json.loads(canonical_json(one)), one)
    assert (canonical_json(one) == canonical_json(other)) is are_equal(one, other)
    assert (digest_of(item_of(one)) == digest_of(item_of(other))) is are_equal(one, other)


def test_the_order_of_fields_and_half_of_a_character_make_no_trouble() -> None:
    assert canonical_json({"b": 1.0, "a": "\ud800"}) == '{"a":"\\ud800","b":1}'
    assert len(digest_of(item_of("\ud800"))) == 64
    assert digest_of(item_of("\ud800")) != digest_of(item_of("\ud801"))
    assert digest_of(item_of("1.0")) != digest_of(item_of("1"))


# Choosing.


def test_items_for_which_where_does_not_hold_are_left_out() -> None:
    chosen = select_items(
        for_each(where={"at": "/n", "over": 1}), items({"n": 1}, {"n": 2}, {}, {"n": 3})
    )
    assert values_of(chosen.items) == [{"n": 2}, {"n": 3}]
    assert (chosen.unmet, chosen.repeated, chosen.rest, chosen.asks) == (2, 0, (), False)


def test_items_with_the_same_key_count_once_and_those_without_stay() -> None:
    given_items = items(
        {"url": "a", "n": 1}, {"n": 2}, {"url": "a", "n": 3}, {"url": None}, {"url": None}, "x"
    )
    chosen = select_items(for_each(key="/url"), given_items)
    assert values_of(chosen.items) == [
        {"url": "a", "n": 1},
        {"n": 2},
        {"url": None},
        {"url": None},
        "x",
    ]
    assert chosen.repeated == 1


def test_by_default_the_whole_item_is_its_key() -> None:
    chosen = select_items(for_each(), items(1, 1.0, True, "1", {"a": 1}, {"a": 1.0}, None, None))
    assert values_of(chosen.items) == [1, True, "1", {"a": 1}, None]
    assert chosen.repeated == 3


def test_the_key_of_a_value_that_has_nothing_there_is_none() -> None:
    assert key_of({"a": 1}, "/b") is None
    assert key_of({"a": None}, "/a") is None
    assert key_of({"a": 1}, "/a") == key_of({"a": 1.0, "b": 2}, "/a")
    assert key_of(None, "") is not None


def test_more_items_than_the_most_fail_by_default() -> None:
    assert len(select_items(for_each(max_items=3), items(1, 2, 3, 3)).items) == 3
    with pytest.raises(ItemsError, match=r"There are 4 items, and max_items is 3\. Raise"):
        select_items(for_each(max_items=3), items(1, 2, 3, 4))


@pytest.mark.parametrize("too_many", ["first", "ask"])
def test_more_items_than_the_most_are_apart_where_the_plan_says_so(too_many: str) -> None:
    chosen = select_items(for_each(max_items=2, too_many=too_many), items(1, 2, 3, 4))
    assert values_of(chosen.items) == [1, 2]
    assert values_of(chosen.rest) == [3, 4]
    assert chosen.asks is (too_many == "ask")
    assert not select_items(for_each(max_items=4, too_many=too_many), items(1, 2)).asks


def test_nobody_is_asked_about_more_items_than_a_step_may_have() -> None:
    many = items(*range(MOST_ITEMS + 1))
    assert len(select_items(for_each(max_items=2, too_many="ask"), many[:-1]).rest) == 9_998
    with pytest.raises(ItemsError, match="There are 10,001 items, and a step is done for at most"):
        select_items(for_each(max_items=2, too_many="ask"), many)
    assert len(select_items(for_each(max_items=2, too_many="first"), many).rest) == 9_999


@given(st.lists(CLOSE), st.integers(1, 5), st.sampled_from(["", "/a"]))
def test_each_item_is_chosen_left_over_or_counted(values: list[Any], most: int, key: str) -> None:
    given_items = items(*values, *({"a": value} for value in values))
    chosen = select_items(
        for_each(max_items=most, too_many="first", key=key, where={"is_not": 1}), given_items
    )
    kept = [*chosen.items, *chosen.rest]
    assert len(chosen.items) <= most
    assert len(kept) + chosen.unmet + chosen.repeated == len(given_items)
    places = [next(n for n, each in enumerate(given_items) if each is item) for item in kept]
    assert places == sorted(places)
    keys = [found for item in kept if (found := key_of(item.value, key)) is not None]
    assert len(set(keys)) == len(keys)


def test_an_empty_list_is_no_error() -> None:
    assert select_items(for_each(), []).items == ()


# Time.


def choose(text: str) -> Any:
    found = [item_of(value) for value in items_in(text, "")]
    plan = for_each(key="/k", where={"at": "/t", "matches": "a*b"}, max_items=1, too_many="first")
    return [digest_of(item) for item in select_items(plan, found).rest]


@pytest.mark.parametrize("shape", ["many", "long", "wide"])
def test_choosing_items_takes_time_in_proportion_to_their_text(shape: str) -> None:
    def prepare(size: int):
        text = {
            "many": lambda: json.dumps([{"k": n, "t": "ab"} for n in range(size)]),
            "long": lambda: json.dumps([{"k": n, "t": "b" + "ac\n" * size} for n in range(20)]),
            "wide": lambda: json.dumps([{"t": "b", **{f"k{n}": 1.0 for n in range(size)}}] * 20),
        }[shape]()
        return lambda: choose(text)

    assert grows_faster(prepare, 400) == ""


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.json"])
def test_reading_rows_takes_time_in_proportion_to_the_text(name: str) -> None:
    def prepare(size: int):
        text = {
            "a.csv": lambda: "a,b\n" + '"x\n""y""",2\n' * size,
            "a.jsonl": lambda: '{"a": [1]}\n' * size,
            "a.json": lambda: json.dumps([{"a": [n]} for n in range(size)]),
        }[name]()
        return lambda: rows_of(name, text)

    assert grows_faster(prepare, 400) == ""


def test_a_header_of_thousands_of_columns_is_read() -> None:
    names = [f"c{n}" for n in range(20_000)]
    text = f"{','.join(names)}\n{','.join(names)}\n"
    assert rows_of("a.csv", text) == [dict(zip(names, names, strict=True))]


OF_INPUTS = st.lists(
    st.sampled_from(["a.pdf", "b.pdf", "x/a.pdf", "x/b.md", "y/a.pdf", "n.md", "Makefile", "x/*"]),
    unique=True,
)


@given(OF_INPUTS, OF_INPUTS)
def test_a_pattern_of_names_fits_them_and_no_other(names: list[str], others: list[str]) -> None:
    rest = [name for name in others if name not in names]
    if names and (pattern := pattern_of(names, rest)):
        assert names_matching(pattern, [*names, *rest]) == names


@pytest.mark.parametrize(
    ("names", "others", "pattern"),
    [
        (["a.pdf", "x/b.md"], [], "*"),
        (["a.pdf", "x/b.pdf"], ["n.md"], "*.pdf"),
        (["x/a.pdf", "x/b.md"], ["n.md", "a.pdf"], "x/*"),
        (["a.pdf"], ["b.pdf"], None),
        (["a.pdf", "b.md"], ["c.md"], None),
    ],
)
def test_a_pattern_of_names_is_the_shortest_that_tells_them_apart(
    names: list[str], others: list[str], pattern: str | None
) -> None:
    assert pattern_of(names, others) == pattern


@pytest.mark.parametrize(
    ("name", "text", "has", "count"),
    [
        ("a.csv", "n\n1\n2\n", True, 2),
        ("a.tsv", "n\tm\n1\n", True, 0),
        ("a.jsonl", "1\n2\n3", True, 3),
        ("a.json", " [1, 2]", True, 2),
        ("a.json", '{"a": 1}', False, 0),
        ("a.md", "[1]", False, 0),
    ],
)
def test_an_input_has_rows_by_its_name_and_beginning(
    name: str, text: str, has: bool, count: int
) -> None:
    assert (has_rows(name, text), count_rows(name, text)) == (has, count)
