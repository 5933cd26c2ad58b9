"""The same mistake has the same symptom, and another mistake another."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.memory.graph_rows import SYMPTOM_CHARS, symptom_of

SAME = [
    (
        "gate unit: line 2: TypeError slugify('Hello, World!'): str.join() takes exactly one "
        "argument (2 given); line 2: TypeError slugify(''): str.join() takes exactly one argument "
        "(2 given)",
        "gate unit: line 14: TypeError title('a'): str.join() takes exactly one argument (3 given)",
    ),
    (
        "gate schema: $.n: 'one' is not of type 'integer'",
        "gate schema: $.rows[3].price: 'it\\'s; dear' is not of type 'number'",
    ),
    (
        "gate lint: line 3: F401 `os` imported but unused; line 9: F821 undefined name 'x'",
        "gate lint: line 1: F821 undefined name 'prices'; line 7: F401 `re` imported but unused",
    ),
    (
        "No such file: /tmp/a1/report.txt",
        "No such file: ./out/summary.md",
    ),
    (
        "S1 was not answered within 0.01 s by gpt. Raise its timeout_s.",
        "S12 was not answered within 30 s by llama. Raise its timeout_s.",
    ),
    (
        "gate unit: line 1: f('a') gave 'very lon…, expected 'b'",
        "gate unit: line 8: slug(' x ') gave 'y', expected 'z'",
    ),
    ("object at 0x7f00aa", "object at 0x12"),
    ("\x1b[31mexpected 3 rows, got 2\x1b[0m", "expected 1,204 rows,  got -7"),
    (
        "run 428e8c31-e867-4a4e-9d0c-8e2a7a2cf6a1 ended",
        "run 00000000-0000-4000-8000-000000000000 ended",
    ),
]
OTHERS = [
    "gate lint: line 3: F401 `os` imported but unused",
    "gate lint: line 3: F821 undefined name 'os'",
    "gate lint: line 3: S101 use of assert",
    "gate unit: line 2: TypeError f('a'): str.join() takes no keyword arguments",
    "gate unit: line 2: TypeError f('a'): str.split() takes no keyword arguments",
    "gate schema: line 1, column 1: not JSON: Expecting value",
    "the run's time ended and the model's didn't",
    "the run's budget ended",
]


@pytest.mark.parametrize(("first", "second"), SAME)
def test_the_same_mistake_has_the_same_symptom(first: str, second: str) -> None:
    assert symptom_of(first, ["gpt"]) == symptom_of(second, ["llama"]) != ""


def test_other_mistakes_have_other_symptoms() -> None:
    assert len({symptom_of(error) for error in OTHERS}) == len(OTHERS)


def test_what_it_reads_like() -> None:
    assert symptom_of(SAME[1][0]) == "gate schema: <path>: '…' is not of type '…'"


def test_an_apostrophe_is_no_quote() -> None:
    assert symptom_of("the run's time ended, the model's didn't") == (
        "the run's time ended, the model's didn't"
    )


def test_nothing_said_is_no_symptom() -> None:
    assert symptom_of("  \n ") == ""


@given(st.text(alphabet=st.sampled_from("a1 '\"`;:./$[]()S…\\\n,"), max_size=300))
def test_it_is_one_bounded_line_and_normal_already(error: str) -> None:
    symptom = symptom_of(error)
    assert len(symptom) <= SYMPTOM_CHARS
    assert "\n" not in symptom
    assert symptom == symptom.strip()


@pytest.mark.parametrize("piece", ["'", "a/", "/", "$[", "f(", "1.", "'a ", "\\", "a.", "`"])
def test_a_hostile_message_takes_no_time(piece: str) -> None:
    before = time.process_time()
    symptom_of(piece * 50_000)
    assert time.process_time() - before < 2


def test_a_name_is_replaced_only_where_it_stands_alone() -> None:
    assert symptom_of("m refused the form", ["m"]) == "<name> refused the form"
