"""Tables are scored by rows and items, as WideSearch scores them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wide_search.scoring import (
    Column,
    Score,
    avg_at,
    is_right,
    max_at,
    read_table,
    score_table,
)

COLUMNS = (Column("town"), Column("staff", "number_near"))
PERFECT = Score(1.0, 1.0, 1.0)

words = st.text("abcdefghij", min_size=1, max_size=6)


def named(rows: dict[str, tuple[str, int]]) -> list[dict[str, str]]:
    """Return rows with their names."""
    return [
        {"name": name, "town": town, "staff": str(staff)} for name, (town, staff) in rows.items()
    ]


tables = st.dictionaries(words, st.tuples(words, st.integers(1, 99)), min_size=1, max_size=8).map(
    named
)
shares = st.floats(0, 1)
scores = st.lists(st.builds(Score, shares, shares, shares), min_size=1, max_size=5)


@given(tables)
def test_the_right_table_scores_one_in_any_order(table: list[dict[str, str]]) -> None:
    assert score_table(table[::-1], table, COLUMNS) == PERFECT


@given(tables, tables)
def test_scores_are_shares(answered: list[dict[str, str]], right: list[dict[str, str]]) -> None:
    score = score_table(answered, right, COLUMNS)
    assert 0 <= score.row_f1 <= score.item_f1 <= 1 or score.row_f1 <= 1 >= score.item_f1 >= 0
    assert (score.success == 1) == (score == PERFECT)


@given(tables, st.data())
def test_a_row_less_never_raises_a_score(table: list[dict[str, str]], data: st.DataObject) -> None:
    gone = data.draw(st.integers(0, len(table) - 1))
    fewer = score_table(table[:gone] + table[gone + 1 :], table, COLUMNS)
    assert fewer.item_f1 < 1
    assert fewer.row_f1 < 1
    assert fewer.success == 0


@given(tables, st.data())
def test_a_wrong_cell_costs_its_item_and_its_row(
    table: list[dict[str, str]], data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(table) - 1))
    wrong = [{**row} for row in table]
    wrong[place]["town"] += "!"
    score = score_table(wrong, table, COLUMNS)
    assert score.item_f1 == pytest.approx(1 - 1 / (3 * len(table)))
    assert score.row_f1 == pytest.approx(1 - 1 / len(table))


@given(tables)
def test_nothing_answered_scores_nothing(table: list[dict[str, str]]) -> None:
    assert score_table([], table, COLUMNS) == Score(0.0, 0.0, 0.0)


@given(tables)
def test_rows_that_are_not_wanted_cost_precision(table: list[dict[str, str]]) -> None:
    more = [*table, {"name": "not wanted", "town": "x", "staff": "1"}]
    score = score_table(more, table, COLUMNS)
    assert score.item_f1 < 1
    assert score.success == 0


def test_a_row_twice_counts_once() -> None:
    row = {"name": "a", "town": "b", "staff": "1"}
    assert score_table([row, row], [row], COLUMNS).row_f1 == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("value", "right", "comparison", "expected"),
    [
        (" Torvik ", "torvik", "exact", True),
        ("Torvik", "Torvig", "exact", False),
        ("1,009", "1000", "number_near", True),
        ("1011", "1000", "number_near", False),
        ("unknown", "1000", "number_near", False),
        ("unknown", "unknown", "number_near", True),
        ("b", "a | B", "in", True),
        ("", "a|", "in", False),
        ("2024-03-01", "2024-03-31", "date_near", True),
        ("2024-03-01", "2024-05-01", "date_near", False),
        ("March", "2024-03-31", "date_near", False),
    ],
)
def test_cells_are_compared_as_their_column_says(
    value: str, right: str, comparison: str, *, expected: bool
) -> None:
    assert is_right(value, right, comparison) is expected  # pyright: ignore[reportArgumentType]


@given(words, st.sampled_from(["exact", "number_near", "in", "date_near"]))
def test_a_value_equals_itself(value: str, comparison: str) -> None:
    assert is_right(value, value, comparison)  # pyright: ignore[reportArgumentType]


@given(scores)
def test_the_best_of_trials_is_at_least_their_mean(trials: Sequence[Score]) -> None:
    mean, best = avg_at(trials), max_at(trials)
    assert best.item_f1 >= mean.item_f1 - 1e-9
    assert best.row_f1 >= mean.row_f1 - 1e-9
    assert best.success >= mean.success - 1e-9


@given(tables)
def test_a_table_is_read_from_json_and_from_csv(table: list[dict[str, str]]) -> None:
    text = io.StringIO()
    writer = csv.DictWriter(text, ["name", "town", "staff"])
    writer.writeheader()
    writer.writerows(table)
    assert read_table(json.dumps(table)) == table
    assert read_table(json.dumps([table[:1], *table[1:]])) == table
    assert read_table(text.getvalue()) == table


def test_a_later_row_of_a_name_replaces_an_earlier_one() -> None:
    rows = [[{"name": "a", "town": "b"}, {"name": "c"}], {"name": "A", "town": "d"}]
    assert read_table(json.dumps(rows)) == [{"name": "A", "town": "d"}, {"name": "c"}]


def test_an_answer_without_a_table_has_no_rows() -> None:
    assert read_table("I could not find any.") == []
