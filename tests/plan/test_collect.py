"""Outputs joined without a model: what each way makes, and what holds for any outputs."""

import csv
import io
import json
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.gates.python.layout import file_blocks, path_problem
from prefect_swarm.plan.collect import (
    COLLECTED_KINDS,
    MAX_COLUMNS,
    Collected,
    Joined,
    collect,
    collected_output,
    collected_output_problem,
)
from prefect_swarm.plan.output import Output, OutputKind
from prefect_swarm.plan.program import Collect
from prefect_swarm.text import whole_characters


def of_json(*values: object) -> list[Joined]:
    return [
        Joined(f"S1[{n}]", kind="json", text=json.dumps(value)) for n, value in enumerate(values, 1)
    ]


def rows(collected: Collected) -> list[list[str]]:
    assert collected.problem == ""
    return [*csv.reader(io.StringIO(collected.text, newline=""), strict=True)]


def cells(*values: object) -> list[str]:
    table = rows(collect("table", of_json(*({"value": value} for value in values))))
    assert table[0] == ["value"]
    return [row[0] for row in table[1:]]


FAILED = Joined("S1[2]", "beta", "json", failed="it was not JSON")


def test_objects_are_rows_with_the_columns_in_the_order_of_their_first_appearance() -> None:
    outputs = of_json({"title": "A", "year": 2020}, {"year": 2021, "pages": 3})
    assert collect("table", outputs).text == "title,year,pages\nA,2020,\n,2021,3\n"


def test_a_list_of_objects_gives_a_row_each() -> None:
    outputs = of_json([{"a": 1}, {"a": 2}], [], {"a": 3})
    assert rows(collect("table", outputs)) == [["a"], ["1"], ["2"], ["3"]]


def test_texts_are_rows_of_item_and_text() -> None:
    outputs = [Joined("S1[1]", "alpha", text="one"), Joined("S2", text="two, three")]
    assert collect("table", outputs).text == 'item,text\nalpha,one\nS2,"two, three"\n'


def test_elements_of_a_list_that_are_no_objects_are_rows_of_item_and_text() -> None:
    outputs = [Joined("S1[1]", "alpha", "json", '["x", 3, [1, null]]')]
    table = [["item", "text"], ["alpha", "x"], ["alpha", "3"], ["alpha", "[1, null]"]]
    assert rows(collect("table", outputs)) == table


def test_a_cell_holds_a_nested_value_as_json_and_nothing_for_null() -> None:
    assert cells({"à": [1, "b"]}, [True], None, True, 1.5) == [
        '{"à": [1, "b"]}',
        "[true]",
        "",
        "true",
        "1.5",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "=1+1",
        "+cmd|' /C calc'!A0",
        "-2+3+cmd|' /C calc'!A0",
        "@SUM(A1)",
        "\t=1+1",
        "\r=1",
        "\ntext",
        "  =1+1",
        "＝1+1",
        "-",
        "- a point of a list",
    ],
)
def test_a_text_that_a_spreadsheet_would_run_begins_with_an_apostrophe(text: str) -> None:
    assert cells(text) == [f"'{text}"]


@pytest.mark.parametrize("text", ["-5", "-3.25", "+1,000.50", "-1e-5", "-12%", "a-b", "x=1", "'=1"])
def test_a_text_that_is_a_number_or_no_formula_stays_as_it_is(text: str) -> None:
    assert cells(text) == [text]


def test_negative_numbers_stay_as_they_are() -> None:
    assert cells(-5, -0.25, -1e300) == ["-5", "-0.25", "-1e+300"]


def test_a_column_and_an_item_are_made_harmless_too() -> None:
    outputs = [*of_json({"=A1": 1}), Joined("S1[2]", "=2+3", text="x")]
    assert rows(collect("table", outputs)) == [
        ["'=A1", "item", "text"],
        ["1", "", ""],
        ["", "'=2+3", "x"],
    ]


def test_a_table_of_nothing_is_empty() -> None:
    assert collect("table", ()) == Collected()
    assert collect("table", of_json([], {})) == Collected()


def test_a_table_of_too_many_columns_names_the_step_that_brings_them() -> None:
    wide = {f"c{n}": n for n in range(MAX_COLUMNS)}
    problem = collect("table", of_json(wide, {"one": 1, "more": 2})).problem
    assert problem == ("the table is too large with the output of S1[2]: 2 rows of 1,002 columns")


def test_a_table_of_too_many_cells_is_a_problem_and_takes_no_memory() -> None:
    wide = {f"c{n}": n for n in range(MAX_COLUMNS)}
    problem = collect("table", of_json(wide, [{}] * 10_000)).problem
    assert problem == (
        "the table is too large with the output of S1[2]: 5,001 rows of 1,000 columns"
    )


def test_a_list_has_json_as_it_is_and_other_texts_as_texts() -> None:
    outputs = [*of_json({"à": [1]}, [2]), Joined("S2", text='{"a": 1}')]
    found = collect("list", outputs)
    assert json.loads(found.text) == [{"à": [1]}, [2], '{"a": 1}']
    assert "à" in found.text
    assert collect("list", ()).text == "[]"


def test_a_list_has_json_that_is_none_as_a_text_and_a_note_names_it() -> None:
    found = collect("list", [*of_json(1), Joined("S2", kind="json", text="{oh")])
    assert json.loads(found.text) == [1, "{oh"]
    assert found.notes == ("1 of kind json are not JSON, and stand as texts: S2",)


@pytest.mark.parametrize("how", ["table", "json"])
def test_json_that_is_none_is_a_problem_that_names_the_step(how: Collect) -> None:
    found = collect(how, [*of_json(1), Joined("S2", kind="json", text="{oh")])
    assert found.text == ""
    assert found.problem.startswith("the output of S2 is of kind json, and is not JSON: Expecting")
    assert found.problem.endswith("at line 1, column 2")


def test_objects_are_merged_and_a_field_of_several_is_a_list_of_their_values() -> None:
    outputs = of_json({"a": 1, "b": [1]}, {"b": [2], "c": None}, {"a": 3})
    assert json.loads(collect("json", outputs).text) == {"a": [1, 3], "b": [[1], [2]], "c": None}
    assert collect("json", ()).text == "{}"


def test_json_of_anything_but_objects_is_a_list() -> None:
    outputs = [*of_json({"a": 1}), Joined("S2", text="two")]
    assert json.loads(collect("json", outputs).text) == [{"a": 1}, "two"]


@pytest.mark.parametrize("how", get_args(Collect))
def test_what_failed_is_missing_and_a_note_counts_it(how: Collect) -> None:
    found = collect(how, [*of_json({"a": 1}), FAILED])
    assert found.text == collect(how, of_json({"a": 1})).text
    assert found.notes == ("1 of 2 failed and are missing: S1[2]",)


def test_a_note_names_the_first_of_many_that_failed() -> None:
    outputs = [Joined(f"S1[{n}]", failed="no") for n in range(1, 13)]
    note = "12 of 12 failed and are missing: S1[1], S1[2], S1[3], S1[4], S1[5] and 7 more"
    assert collect("list", outputs) == Collected("[]", notes=(note,))


def paths(*outputs: Joined) -> list[str]:
    return [block.path for block in file_blocks(collect("files", outputs).text).files]


def test_files_are_named_by_their_items_or_steps_and_end_by_their_kinds() -> None:
    assert paths(
        Joined("S1", text="a"),
        Joined("S2[7.3]r2.S1", kind="json", text="[]"),
        Joined("S3[1]", "src/old parser.py", "python", "x = 1"),
        Joined("S4[1]", "report.pdf", "shell", "ls"),
        Joined("S5[1]", "Zürich: Café?", "files", "a.py\n```\nx\n```"),
    ) == ["S1.md", "S2-7.3-r2.S1.json", "src-old-parser.py", "report.pdf.sh", "Zürich-Café.md"]


def test_files_of_equal_names_are_numbered_in_any_case_of_letters() -> None:
    labels = ["Paper", "paper", "paper-2", "PAPER", "../paper"]
    outputs = [Joined(f"S1[{n}]", label, text="x") for n, label in enumerate(labels, 1)]
    assert paths(*outputs) == ["Paper.md", "paper-2.md", "paper-2-2.md", "PAPER-3.md", "paper-4.md"]


@pytest.mark.parametrize(
    ("label", "path"),
    [
        ("../../etc/passwd", "etc-passwd.md"),
        (".bashrc", "bashrc.md"),
        ("CON", "CON_.md"),
        ("com1.x", "com1.x_.md"),
        ("???", "S1-1.md"),
        ("a" * 5_000_000, "a" * 50 + ".md"),
    ],
)
def test_a_name_leads_out_of_no_folder_and_is_no_device(label: str, path: str) -> None:
    assert paths(Joined("S1[1]", label, text="x")) == [path]


def test_blocks_of_code_within_a_file_close_nothing() -> None:
    text = "# A\n\n```python\nx = 1\n```\n\n````\n```\n````\n"
    blocks = file_blocks(collect("files", [Joined("S1", text=text), Joined("S2")]).text)
    assert [(block.path, block.text) for block in blocks.files] == [("S1.md", text), ("S2.md", "")]
    assert not blocks.problems


@pytest.mark.parametrize("how", get_args(Collect))
def test_a_step_that_joins_has_the_kind_that_it_makes_where_it_says_none(how: Collect) -> None:
    kind = COLLECTED_KINDS[how]
    assert collected_output_problem(how, Output()) == ""
    assert collected_output_problem(how, Output(kind=kind)) == ""
    assert collected_output(how, Output()).kind == kind


@pytest.mark.parametrize(
    ("how", "kind"), [("table", "json"), ("list", "python"), ("json", "files"), ("files", "json")]
)
def test_another_kind_than_a_way_makes_is_a_problem(how: Collect, kind: OutputKind) -> None:
    problem = f"collect {how} makes an output of kind {COLLECTED_KINDS[how]}, not {kind}"
    assert collected_output_problem(how, Output(kind=kind)) == problem
    assert collect(how, [], Output(kind=kind)).problem == problem


def test_bounds_of_a_text_are_a_problem_where_something_else_is_made() -> None:
    output = Output(min_words=3, sections=("A",))
    assert collected_output_problem("table", output) == ""
    assert collected_output_problem("list", output) == (
        "collect list makes an output of kind json, and min_words and sections is for text"
    )


def test_the_schema_of_a_list_stays() -> None:
    output = Output(kind="json", schema={"type": "array"})
    assert collected_output("list", output) == output


TEXTS = st.text(max_size=12)
PLAIN = st.text(st.characters(categories=["Lu", "Ll", "Nd"]), max_size=12)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
NAMES = st.integers(1, 9).map("S{}".format)


def joined(kind: OutputKind, texts: st.SearchStrategy[str]) -> st.SearchStrategy[Joined]:
    failed = st.sampled_from(["", "", "", "it failed"])
    return st.builds(Joined, NAMES, TEXTS, st.just(kind), texts, failed)


JSON = joined("json", VALUES.map(json.dumps))
ANY = JSON | joined("text", TEXTS) | joined("python", TEXTS) | joined("json", TEXTS)


@given(st.sampled_from(get_args(Collect)), st.lists(ANY, max_size=5))
def test_any_outputs_are_joined_or_named_in_a_problem(how: Collect, outputs: list[Joined]) -> None:
    found = collect(how, outputs)
    assert not (found.text and found.problem)
    assert any(each.name in found.problem for each in outputs) or not found.problem
    if COLLECTED_KINDS[how] == "json" and not found.problem:
        json.loads(found.text)
    failed = sum(bool(each.failed) for each in outputs)
    assert (f"{failed} of {len(outputs)} failed" in "".join(found.notes)) == bool(failed)


@given(st.lists(JSON, max_size=5))
def test_a_list_is_what_its_outputs_are(outputs: list[Joined]) -> None:
    values = [json.loads(each.text) for each in outputs if not each.failed]
    assert json.loads(collect("list", outputs).text) == values


@given(st.lists(st.dictionaries(TEXTS, VALUES, max_size=4), max_size=5))
def test_merging_objects_loses_no_value(objects: list[dict[str, Any]]) -> None:
    merged = json.loads(collect("json", of_json(*objects)).text)
    for name in {name for each in objects for name in each}:
        values = [each[name] for each in objects if name in each]
        assert merged[name] == (values[0] if len(values) == 1 else values)


@given(st.lists(st.dictionaries(PLAIN, TEXTS, max_size=4), max_size=5))
def test_a_table_has_each_text_at_its_row_and_column(objects: list[dict[str, str]]) -> None:
    found = collect("table", of_json(*objects))
    names = [*dict.fromkeys(name for each in objects for name in each)]
    if not names:
        assert found.text == ""
        return
    table = rows(found)
    assert table[0] == names
    assert len(table) == len(objects) + 1
    for each, row in zip(objects, table[1:], strict=True):
        assert all(
            cell in (text, f"'{text}")
            for cell, text in zip(row, (each.get(name, "") for name in names), strict=True)
        )


@given(st.text(max_size=20))
def test_no_text_becomes_a_formula_and_no_other_changes(text: str) -> None:
    cell = cells(text)[0]
    assert cell[:1] not in ("=", "@", "\t", "\r")
    assert cell == text or cell[:1] == "'"
    if text[:1].isalnum():
        assert cell == text


@given(st.integers() | st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_is_a_number_in_its_cell(number: float) -> None:
    assert json.loads(cells(number)[0]) == number


@given(st.lists(ANY, max_size=6))
def test_files_come_back_as_they_were_under_safe_and_distinct_paths(outputs: list[Joined]) -> None:
    found = [each for each in outputs if not each.failed]
    blocks = file_blocks(collect("files", outputs).text)
    if not found:
        return
    assert not blocks.problems
    assert [block.text.rstrip("\n") for block in blocks.files] == [
        each.text.replace("\r\n", "\n").rstrip("\n") for each in found
    ]
    names = [block.path for block in blocks.files]
    assert not any(map(path_problem, names))
    assert len({name.casefold() for name in names}) == len(names)
    assert all(whole_characters(name) == name for name in names)
