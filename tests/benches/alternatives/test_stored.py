from __future__ import annotations

import base64
import pickle
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from alternatives.scripted import INPUT_TOKENS, OUTPUT_TOKENS
from alternatives.stored import Stored, contents, read_stored


def test_answers_tokens_and_money_are_found() -> None:
    text = f'{{"text": "a finding", "tokens": {2 * OUTPUT_TOKENS}, "money_usd": 0.012}}'
    assert read_stored([text.encode()], "a finding") == Stored(True, True, True)


def test_digits_within_a_longer_number_are_no_tokens() -> None:
    assert not read_stored([f"12.{INPUT_TOKENS} 9{OUTPUT_TOKENS}".encode()], "x").tokens


def test_money_that_is_nothing_is_no_money() -> None:
    assert not read_stored([b'{"money_usd": 0.0}', b'{"money_usd": null}'], "x").money


@pytest.mark.parametrize("write", [bytes, base64.b64encode, base64.encodebytes])
def test_pickled_tokens_are_found(write: Callable[[bytes], bytes]) -> None:
    pickled = pickle.dumps({"input_tokens": INPUT_TOKENS, "padding": "-" * 90})
    assert read_stored([write(pickled)], "x") == Stored(False, True, False)


def test_values_of_a_database_are_read_whole(tmp_path: Path) -> None:
    long = "-" * 9000 + "a finding" + "-" * 9000
    with closing(sqlite3.connect(tmp_path / "runs.db")) as database:
        database.execute("create table steps (id integer, output text)")
        database.execute("insert into steps values (?, ?)", (INPUT_TOKENS, long))
        database.commit()
    assert read_stored(contents(tmp_path), "a finding") == Stored(True, True, False)


def test_pickled_tokens_beside_other_values_are_found(tmp_path: Path) -> None:
    pickled = pickle.dumps({"input_tokens": INPUT_TOKENS, "padding": "-" * 90})
    with closing(sqlite3.connect(tmp_path / "runs.db")) as database:
        database.execute("create table steps (name text, output text)")
        database.execute(
            "insert into steps values ('S1', ?)", (base64.b64encode(pickled).decode(),)
        )
        database.commit()
    assert read_stored(contents(tmp_path), "x").tokens
