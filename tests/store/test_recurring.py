"""What recurs is found by objectives that differ in figures alone, and was planned anew."""

from __future__ import annotations

from prefect_swarm.store.attempt import Usage
from prefect_swarm.store.recurring import LEAST_ALIKE, find_recurring
from prefect_swarm.store.runs import ListedRun

PLANNED = Usage(requests=1, input_tokens=800, output_tokens=200, cost_usd=0.01)


def runs(
    count: int, objective: str = "Report of week {} of 2026", first: int = 40
) -> list[ListedRun]:
    return [
        ListedRun(f"{objective[0]}{n}", "completed", -n, objective.format(n), tokens=1000 + n)
        for n in range(first, first + count)
    ]


def test_five_runs_that_were_planned_anew_recur() -> None:
    [found] = find_recurring(runs(LEAST_ALIKE), lambda _: PLANNED)
    assert (found.run, found.objective) == ("R40", "Report of week 40 of 2026")
    assert (found.runs, found.tokens, found.planning_tokens) == (5, 1042, 1000)
    assert (found.usd, found.planning_usd) == (None, 0.01)


def test_the_figures_that_differ_are_its_values() -> None:
    [found] = find_recurring(runs(5), lambda _: PLANNED)
    assert found.values == ("40",)
    [same] = find_recurring([*runs(1), *runs(1), *runs(1), *runs(1), *runs(1)], lambda _: PLANNED)
    assert same.values == ()


def test_fewer_or_other_ones_do_not() -> None:
    assert find_recurring(runs(LEAST_ALIKE - 1), lambda _: PLANNED) == []
    mixed = [*runs(3), *runs(4, "Compare {} trees")]
    assert find_recurring(mixed, lambda _: PLANNED) == []


def test_a_plan_that_no_model_wrote_does_not_count() -> None:
    def planning(run: ListedRun) -> Usage | None:
        return None if run.run_id == "R42" else PLANNED

    assert find_recurring(runs(5), planning) == []
    assert find_recurring(runs(6), planning)[0].runs == 5


def test_what_planning_took_most_for_comes_first() -> None:
    def planning(run: ListedRun) -> Usage:
        return PLANNED if run.objective.startswith("Report") else Usage(requests=1, input_tokens=9)

    found = find_recurring([*runs(5, "Compare {} trees"), *runs(6)], planning)
    assert [each.objective for each in found] == ["Report of week 40 of 2026", "Compare 40 trees"]
