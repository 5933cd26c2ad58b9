"""An episode is a row and comes back, whatever database it was in."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.memory.episode import Episode
from prefect_swarm.memory.log.postgres_database import escape_nul, restore_nul
from prefect_swarm.memory.log.rows import COLUMNS, as_json, episode_of, values_of
from prefect_swarm.memory.log.sqlite import SqliteLog
from samples import episodes, full_episode

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda part: st.lists(part) | st.dictionaries(st.text(), part),
    max_leaves=8,
)


def test_every_field_of_an_episode_has_a_column() -> None:
    assert {*COLUMNS} == {*Episode.model_fields, "digest"}


def test_the_table_has_these_columns_and_a_position(quick_folder: Path) -> None:
    SqliteLog(quick_folder / "log").close()
    db = sqlite3.connect(quick_folder / "log")
    named = [row[1] for row in db.execute("PRAGMA table_info(episodes)")]
    db.close()
    assert named == ["position", *COLUMNS]


@given(episodes)
def test_a_row_is_read_as_the_episode_it_was_written_of(written: Episode) -> None:
    assert episode_of(1, [as_json(value) for value in values_of(written)]) == written
    assert episode_of(1, values_of(written)) == written


def texts_in(value: object) -> list[str]:
    if isinstance(value, dict):
        return [text for pair in value.items() for part in pair for text in texts_in(part)]
    if isinstance(value, list):
        return [text for part in value for text in texts_in(part)]
    return [value] if isinstance(value, str) else []


@given(JSON)
def test_any_text_can_be_written_without_nul(value: object) -> None:
    written = escape_nul(value)
    assert not any("\x00" in text for text in texts_in(written))
    assert restore_nul(written) == value


def test_a_usual_text_is_written_as_it_is() -> None:
    assert escape_nul(full_episode().excerpt) == full_episode().excerpt


def test_columns_can_be_asked_in_plain_sql(quick_folder: Path) -> None:
    log = SqliteLog(quick_folder / "log")
    log.append(full_episode(number, succeeded=number % 2 == 0) for number in range(10))
    log.close()
    db = sqlite3.connect(quick_folder / "log")
    failed = db.execute(
        "SELECT persona, category, count(*) FROM episodes WHERE NOT succeeded GROUP BY 1, 2"
    ).fetchall()
    gates = db.execute(
        "SELECT json_extract(value, '$.gate'), count(*) FROM episodes, json_each(gates) "
        "WHERE json_extract(value, '$.status') = 'failed' GROUP BY 1"
    ).fetchall()
    db.close()
    assert failed == [("python-engineer", "CODE", 5)]
    assert gates == [("ruff", 10)]
