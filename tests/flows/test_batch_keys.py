"""A line of a batch is known again by what it says, wherever it stands."""

from __future__ import annotations

from prefect_swarm.flows.batch_line import line_keys
from prefect_swarm.flows.options import SwarmOptions

OPTIONS = SwarmOptions(model="test")


def test_a_line_that_says_the_same_has_the_same_key() -> None:
    (first,) = line_keys(['{"objective": "Greet", "options": {"seed": 1}}'], OPTIONS)
    (second,) = line_keys(['{"options":{"seed":1},"objective":"Greet"}  '], OPTIONS)
    assert first == second


def test_the_place_in_the_file_does_not_matter() -> None:
    before = line_keys(['"a"', '"b"'], OPTIONS)
    after = line_keys(['"new"', '"b"', '"a"'], OPTIONS)
    assert set(before) < set(after)


def test_equal_lines_are_counted() -> None:
    keys = line_keys(['"a"', '"a"', '"a"'], OPTIONS)
    assert len({*keys}) == 3
    assert line_keys(['"a"', '"a"'], OPTIONS) == keys[:2]


def test_another_model_is_another_commission_and_another_bound_is_none() -> None:
    (key,) = line_keys(['"a"'], OPTIONS)
    assert line_keys(['"a"'], OPTIONS.model_copy(update={"model": "demo"})) != [key]
    bounded = OPTIONS.model_copy(update={"max_usd": 2.0, "max_concurrency": 3, "pages": False})
    assert line_keys(['"a"'], bounded) == [key]


def test_what_every_line_is_given_is_in_its_key() -> None:
    assert line_keys(['"a"'], OPTIONS, "a digest") != line_keys(['"a"'], OPTIONS)


def test_what_is_no_json_has_a_key_too() -> None:
    assert len({*line_keys(["{", "[" * 100_000, "\ud800"], OPTIONS)}) == 3


def test_when_a_line_is_to_be_run_does_not_matter() -> None:
    (before,) = line_keys(['{"objective": "a"}'], OPTIONS)
    urgent = '{"priority": 3, "objective": "a", "deadline": "2026-12-24T18:00:00Z"}'
    assert line_keys([urgent], OPTIONS) == [before]
