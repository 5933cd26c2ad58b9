"""A change counts as worse only if chance doesn't explain it."""

from __future__ import annotations

from eval_results import eval_report
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.evals.report import Comparison, EvalReport, compare, spread_of

TOKENS = st.lists(st.integers(1, 10_000), min_size=1, max_size=6)
REPORTS = st.builds(eval_report, TOKENS, passes=st.integers(0, 6))


def figures(compared: Comparison) -> set[str]:
    return {worse.figure for worse in compared.worse}


def test_a_figure_is_worse_that_rose_beyond_the_spread_of_both() -> None:
    earlier = eval_report([100, 110, 120])
    worse = compare(eval_report([150, 160, 170]), earlier).worse
    assert {(each.figure, each.before, each.after) for each in worse} == {
        ("tokens", 110, 160),
        ("makespan_s", 110, 160),
    }
    assert figures(compare(eval_report([125, 150, 160]), earlier)) == set()
    assert figures(compare(eval_report([10, 11, 12]), earlier)) == set()


def test_a_share_of_passes_that_fell_is_worse_however_often_it_was_run() -> None:
    earlier = eval_report([5, 5, 5, 5], passes=2)
    assert figures(compare(eval_report([5, 5], passes=1), earlier)) == set()
    (worse,) = compare(eval_report([5, 5, 5], passes=1), earlier).worse
    assert (worse.figure, worse.before, worse.after) == ("passes", 0.5, 1 / 3)


def test_one_run_tells_nothing_of_figures() -> None:
    assert figures(compare(eval_report([900]), eval_report([1, 1, 1]))) == set()
    assert figures(compare(eval_report([900], passes=0), eval_report([1]))) == {"passes"}


def test_what_was_asked_otherwise_or_not_at_all_is_not_compared() -> None:
    earlier = eval_report([1, 1])
    changed = compare(eval_report([9, 9], passes=0, fingerprint="other"), earlier)
    new = compare(eval_report([9, 9], passes=0, name="soup"), earlier)
    assert (changed.changed, changed.new, changed.worse) == (("drinks",), (), ())
    assert (new.changed, new.new, new.worse) == ((), ("soup",), ())


@given(REPORTS)
def test_nothing_is_worse_than_itself(report: EvalReport) -> None:
    assert compare(report, report).worse == ()


@given(REPORTS, REPORTS)
def test_of_two_reports_a_figure_is_worse_in_no_more_than_a_single(
    first: EvalReport, second: EvalReport
) -> None:
    both_ways = figures(compare(first, second)) & figures(compare(second, first))
    assert both_ways == set()


@given(TOKENS, TOKENS, st.integers(0, 5_000))
def test_a_wider_spread_makes_nothing_worse(before: list[int], after: list[int], more: int) -> None:
    """Two values more, as far on both sides of the median, leave the median and widen the rest."""
    spread = spread_of(before)
    assert spread is not None
    low, high = int(spread.low) - more, int(2 * spread.median - spread.low) + more
    wider = eval_report([*before, low, high])
    if min(len(before), len(after)) >= 2 and wider.cases[0].spread("tokens") is not None:
        kept = figures(compare(eval_report(after), wider)) - {"passes"}
        assert kept <= figures(compare(eval_report(after), eval_report(before)))


@given(TOKENS, TOKENS, st.integers(2, 50))
def test_what_is_worse_is_so_in_any_unit(before: list[int], after: list[int], unit: int) -> None:
    scaled = compare(
        eval_report([value * unit for value in after]),
        eval_report([value * unit for value in before]),
    )
    assert figures(scaled) == figures(compare(eval_report(after), eval_report(before)))
