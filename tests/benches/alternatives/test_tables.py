from __future__ import annotations

from dataclasses import replace

from alternatives.scripted import JOBS
from alternatives.stored import Stored
from alternatives.tables import section
from alternatives.trial import Row

ROW = Row(
    way="langgraph",
    job="research",
    lines=20,
    seconds=9.04,
    makespan_s=4.06,
    requests=13,
    twice=None,
    under_way=None,
    missing=0,
    bad="repaired",
    done=True,
    stored=Stored(answers=True, tokens=False, money=False),
)


def test_each_way_has_a_line_in_each_table() -> None:
    text = section([*_rows("langgraph"), *_rows("crewai")])
    assert text.count("| LangGraph |") == text.count("| CrewAI |") == 4


def test_lines_are_added_up_without_those_of_the_kill() -> None:
    assert "| LangGraph | 20 | 20 | 20 | 20 | 80 |" in section(_rows("langgraph"))


def test_what_was_paid_twice_has_its_row() -> None:
    assert "| LangGraph | 19 | 6 | 2 | yes | 2 | yes |" in section(_rows("langgraph"))


def test_a_job_that_was_not_done_says_why() -> None:
    failed = replace(ROW, job="spread", done=False, problem="Traceback\nValueError: a `word`\n")
    rows = [failed if row.job == "spread" else row for row in _rows("langgraph")]
    assert "- LangGraph, spread, was not done: `ValueError: a 'word'`" in section(rows)
    assert "4.1 s · 9.0 s, not done" in section(rows)


def test_a_busy_machine_is_named() -> None:
    assert "load average was up to 9" in section([replace(ROW, load=9.2), *_rows("langgraph")])
    assert "load average" not in section(_rows("langgraph"))


def _rows(way: str) -> list[Row]:
    ended = replace(ROW, way=way)
    stopped = replace(ended, requests=19, under_way=6, twice=2, makespan_s=None)
    rows = dict.fromkeys(JOBS, ended) | {"kill": stopped, "approval": stopped}
    return [replace(row, job=job) for job, row in rows.items()]
