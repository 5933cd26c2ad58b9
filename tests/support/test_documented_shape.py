"""An output has the shape that a page shows, whatever its figures and ids are."""

from __future__ import annotations

import pytest
from documented.shape import differences, ids_in

A, B, C, D = "aaaaaaaaaaa1", "bbbbbbbbbbb2", "ccccccccccc3", "ddddddddddd4"


@pytest.mark.parametrize(
    ("shown", "written"),
    [
        ("It took 1.5 s of 3:20.", "It took 12 s of 1,000."),
        ("On 2026-01-02", "On 2031-11-22"),
        ("a   b\n\nc", "a b\nc\n"),
        ("Figure\n──────\n", "Figure\n───\n"),
        ("S1 |███ | 2 s", "S1 | ░░░░ | 4 s"),
        ("costs $0.01", "costs price not known"),
        ("call S1.1-6ac02ff4.1", "call S1.2-0bd17ee5.3"),
    ],
)
def test_figures_spaces_and_lines_of_tables_may_differ(shown: str, written: str) -> None:
    assert differences(shown, written) == []


@pytest.mark.parametrize(
    ("shown", "written"),
    [("a 1", "b 1"), ("a 1", "a"), ("a 1", "a one"), ("S1 began", "S1 ended")],
)
def test_words_may_not(shown: str, written: str) -> None:
    assert differences(shown, written) == [f"not written: {shown}"]


def test_ids_are_bound_where_they_are_first_seen() -> None:
    ids: dict[str, str] = {}
    assert differences(f"Run {A}\nfork of {A} is {B}", f"Run {C}\nfork of {C} is {D}", ids) == []
    assert ids == {A: C, B: D}
    assert differences(f"again {A}", f"again {C}", ids) == []
    assert differences(f"again {A}", f"again {D}", ids) == [f"not written: again {A}"]


def test_an_id_stands_for_the_same_twice_in_a_line() -> None:
    assert differences(f"{A} and {A}", f"{C} and {C}") == []
    assert differences(f"{A} and {A}", f"{C} and {D}") == [f"not written: {A} and {A}"]


def test_a_line_that_differs_binds_nothing() -> None:
    ids: dict[str, str] = {}
    assert differences(f"Run {A} begins", f"Run {C} ends", ids) != []
    assert ids == {}


def test_a_flow_run_is_bound_with_its_run() -> None:
    shown, written = (f"{i[:8]}-{i[8:]}-4aaa-8bbb-123456789abc" for i in (A, C))
    other = written.replace(C[:8], D[:8])
    assert differences(f"flow {shown}\nrun {A}", f"flow {written}\nrun {C}") == []
    assert differences(f"run {A}\nflow {shown}", f"run {C}\nflow {written}") == []
    assert differences(f"run {A}\nflow {shown}", f"run {C}\nflow {other}") != []


@pytest.mark.parametrize("written", ["a b c d", "a … d"])
def test_what_is_left_out_of_a_line_may_be_any_words(written: str) -> None:
    assert differences("a … d", written) == []


def test_the_words_around_what_is_left_out_are_compared() -> None:
    assert differences("a … d", "a b c") == ["not written: a … d"]


@pytest.mark.parametrize(
    ("shown", "written"),
    [
        ("a\n…\nb", "a\nx\ny\nb"),
        ("a\n…\nb", "a\nb"),
        ("…\nb", "x\nb"),
        ("a\n…", "a\nx\ny"),
        ("…", ""),
    ],
)
def test_a_line_of_its_own_leaves_out_any_lines(shown: str, written: str) -> None:
    assert differences(shown, written) == []


def test_lines_come_in_their_order_after_what_is_left_out() -> None:
    assert differences("…\nb\na", "a\nb") == ["not written: a"]
    assert differences("…\nb\nc", "a\nb\nx\nc") == ["not written: c"]


def test_a_line_too_many_is_named() -> None:
    assert differences("a", "a\nb\nc") == ["not on the page: b"]
    assert differences("", "a") == ["not on the page: a"]
    assert differences("…\na", "x\na\nb") == ["not on the page: b"]


def test_a_line_that_is_missing_is_named() -> None:
    assert differences("a\nb", "a") == ["not written: b"]
    assert differences("a\nb\nc", "a\nc") == ["not written: b"]


def test_lines_of_progress_may_come_in_any_order() -> None:
    shown = "0.1 s  S1 began\n0.2 s  S2 began\n3 s  S1 ended\nDone."
    assert differences(shown, "0.1 s  S2 began\n0.4 s  S1 began\n1.0 s  S1 ended\nDone.") == []
    assert differences(shown, "Done.\n0.1 s  S2 began\n0.4 s  S1 began\n1.0 s  S1 ended") == []


def test_no_line_of_progress_is_missing_or_too_many() -> None:
    shown = "0.1 s  S1 began\n0.2 s  S2 began\nDone."
    assert differences(shown, "0.1 s  S1 began\nDone.") == ["not written: 0.2 s S2 began"]
    written = "0.1 s  S1 began\n0.1 s  S2 began\n0.2 s  S3 began\nDone."
    assert differences(shown, written) == ["not on the page: 0.2 s S3 began"]
    assert differences("0.1 s  S1 began\n…\nDone.", written) == []


def test_what_depends_on_the_machine_alone_is_not_compared() -> None:
    shown = "Time: model 80 %\ndone in 3 s and 2 s of waiting"
    written = "Starting a temporary Prefect server\nTime: start 90 %\ndone in 4 s"
    assert differences(shown, written) == []


def test_the_ids_of_runs_are_found() -> None:
    assert ids_in(f"Run {A}, like {B}; no 1.5 and no {A}0") == [A, B]
