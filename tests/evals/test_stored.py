"""Reports are kept by name and time."""

from __future__ import annotations

from pathlib import Path

import pytest
from eval_results import eval_report
from prefect_swarm.errors import InputError
from prefect_swarm.evals.report import last_report, load_report, report_path, save_report


def test_the_last_report_is_the_newest_that_is_finished(swarm_home: Path) -> None:
    assert last_report("cases") is None
    first, second = eval_report([1], started_at=1e9), eval_report([2], started_at=1e9 + 0.5)
    left = eval_report([3], started_at=2e9).model_copy(update={"finished": False})
    paths = [save_report(report) for report in (second, first, left)]
    assert last_report("cases") == (paths[0], second)
    assert paths[1].relative_to(swarm_home) == Path("evals/cases/2001-09-09T01-46-40.000000Z.json")
    assert load_report(paths[2]) == left


def test_a_report_that_grows_stays_one_file(swarm_home: Path) -> None:
    report = eval_report([1])
    assert save_report(report) == save_report(report) == report_path(report)
    assert len([*(swarm_home / "evals" / "cases").iterdir()]) == 1


def test_what_is_no_report_is_named(tmp_path: Path) -> None:
    (path := tmp_path / "report.json").write_text("{}", "utf-8")
    with pytest.raises(InputError, match=r"is none of an evaluation: name: Field required"):
        load_report(path)
    with pytest.raises(InputError, match="can't be read"):
        load_report(tmp_path / "gone.json")
