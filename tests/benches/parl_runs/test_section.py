"""The section's tables follow from what runs have logged."""

from __future__ import annotations

from parl_runs.section import curves, search_table, sets_table


def test_curves_are_means_of_thirds() -> None:
    lines = [{"step": step, "r_parallel": step / 10} for step in range(1, 7)]
    rows = curves({"policy": lines}).splitlines()[2:]
    assert [row.split(" | ")[1] for row in rows] == ["1 to 2", "3 to 4", "5 to 6"]
    assert [row.split(" | ")[5] for row in rows] == ["0.15", "0.35", "0.55"]


def test_a_run_of_one_step_has_one_row() -> None:
    assert len(curves({"policy": [{"step": 1, "read": 1.0}]}).splitlines()) == 3


def test_what_plans_come_to_is_a_mean_over_the_questions() -> None:
    row = {
        "read": True,
        "steps": 2,
        "width": 1,
        "critical_steps": 5,
        "seconds": 10,
        "r_finish": 1.0,
        "r_perf": 0.5,
    }
    rows = [
        {**row, "model": model, "steps": steps}
        for model in ("oracle", "flawed")
        for steps in (2, 4)
    ]
    table = search_table({"policy": {"search": rows}}).splitlines()
    assert table[-1] == "| PARL | 2 of 2 | 3.0 | 1.0 | 5.0 | 10 | 1.00 | 50.0 | 50.0 |"


def test_an_adapter_without_graded_plans_has_no_row() -> None:
    graded = {"plans": 100, "exact": 80, "faithful": 70}
    table = sets_table({"policy": {"search": [], "third": graded}, "ships": {"search": []}})
    assert table.splitlines()[2:] == ["| PARL | 80, 70 of 100 |"]
