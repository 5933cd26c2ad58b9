"""The verdict on an artifact is reported unchanged: in one line, and blank for blank."""

from __future__ import annotations

from typing import Any

import pytest
from prefect_swarm.gates.python.inspection import Facts, read
from prefect_swarm.gates.python.layout import Piece, lay_out
from prefect_swarm.gates.python.run import (
    Calls,
    JobRecord,
    JobResult,
    RaisedException,
    RunReport,
    Tests,
)
from prefect_swarm.gates.python.verdict import Trial, verdict
from prefect_swarm.plan.task_ir import Example

TEXT = "def f(text):\n    return text\n"


def reported(record: JobRecord, *, done: bool = True, example: Example) -> str:
    facts = read(TEXT)
    assert isinstance(facts, Facts)
    layout = lay_out([Piece("artifact", TEXT, facts, own=True)])
    job = Calls(("solution",), (example.call,))
    result = JobResult(
        runner="calls",
        done=done,
        late=not done,
        exit_code=0,
        signal=None,
        cpu_s=0,
        records=(record,),
    )
    finding = verdict(Trial(layout, [job], [example]), RunReport((result,)))
    (found,) = finding.diagnostics
    return found.message


def gave(value: Any, call: str, gives: Any = "") -> str:
    return reported(JobRecord(call=0, gave=value), example=Example(call=call, gives=gives))


def test_blanks_in_the_strings_of_a_call_are_kept() -> None:
    assert gave("a b", "f('a  b\tc')") == "f('a  b\tc') gave 'a b', expected ''"


def test_values_that_differ_by_blanks_are_told_apart() -> None:
    assert gave("a b", "f('x')", "a  b") == "f('x') gave 'a b', expected 'a  b'"


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        ('f("""a  b\n\n  c""")', "f('a  b\\n\\n  c')"),
        ("f(\n    'a  b',\n    2,\n)", "f('a  b', 2)"),
    ],
)
def test_a_call_of_many_lines_is_reported_in_one(call: str, shown: str) -> None:
    assert gave("x", call) == f"{shown} gave 'x', expected ''"


def test_a_long_call_is_cut() -> None:
    message = gave("x", f"f('{'a' * 200}')")
    assert message.startswith("f('aaa")
    assert "a… gave 'x'" in message
    assert len(message) < 150


def test_a_message_of_many_lines_is_reported_in_one() -> None:
    raised = RaisedException(name="ValueError", message="not\n   this\r\n'a  b'")
    record = JobRecord(call=0, raised=raised)
    example = Example(call="f('x')", gives="")
    assert reported(record, example=example) == "f('x'): not this 'a  b'"


def test_what_was_running_is_reported_whole() -> None:
    example = Example(call="f('a::b  c')", gives="")
    message = reported(JobRecord(starts=example.call), done=False, example=example)
    assert message == "not done within 30 s, in f('a::b  c')"


def passed(*, noticed: bool | None) -> list[str]:
    """Return what is said of a test that passed, and of its run without the code, if any."""
    text = f"{TEXT}\n\ndef test_f():\n    f(1)\n"
    facts = read(text)
    assert isinstance(facts, Facts)
    layout = lay_out([Piece("artifact", text, facts, own=True)])
    files = {"solution.py": ("solution", text)}
    jobs = [Tests(files), Tests(files, emptied={"solution.py": ""}, canary="c.py")]
    records = [JobRecord(test="solution.py::test_f", outcome="passed")]
    records += [
        JobRecord(test=f"c.py::{n}", outcome="failed", raised=RaisedException(name="Failed"))
        for n in range(4)
    ]
    ended: dict[str, Any] = {
        "done": True,
        "late": False,
        "exit_code": 0,
        "signal": None,
        "cpu_s": 0,
    }
    results = [JobResult(runner="tests", records=tuple(records), **ended)]
    if noticed is not None:
        results.append(JobResult(runner="tests", records=(JobRecord(noticed=noticed),), **ended))
    finding = verdict(Trial(layout, jobs, canary="c.py"), RunReport(tuple(results)))
    return [found.message for found in finding.diagnostics]


def test_a_test_that_noticed_has_passed() -> None:
    assert passed(noticed=True) == []


def test_tests_that_pass_without_the_code_are_said_to() -> None:
    (said_of_it,) = passed(noticed=False)
    assert said_of_it.startswith("your tests pass without your code")


def test_a_run_without_the_code_that_is_missing_was_kept_from_running() -> None:
    assert passed(noticed=None) == ["it meddles with pytest: tests that have to fail passed"]
