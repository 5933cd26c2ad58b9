"""The verdict on an artifact from a run of its examples and tests. Pure."""

from __future__ import annotations

import ast
import json
import math
import re
import signal
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, NamedTuple, cast

from ...errors import Category
from ...plan.output import NOT_READ
from ...plan.task_ir import Example
from ...text import clean
from ..base import Diagnostic, Finding
from .inspection import DOCTEST
from .layout import Layout
from .run import Calls, JobRecord, JobResult, RaisedException, RunReport, Tests

__all__ = ["Trial", "same", "shown", "verdict"]


_LONGEST = 120


def same(expected: Any, found: Any) -> bool:
    """Say whether a value is the one expected.

    Numbers are equal by `math.isclose` where one is a float, and never equal to true or false. A
    tuple equals a list. A set equals a list in any order. A dictionary's keys are read as JSON
    writes them. What JSON can't express has one text, which `str` gives, and equals that.
    """
    kind, parts = _opened(found)
    if kind == "list":
        return isinstance(expected, list) and _is_list(cast("list[Any]", expected), parts)
    if kind == "set":
        ordered = sorted(parts, key=lambda part: _key(_plain(part)))
        return isinstance(expected, list) and _is_list(
            sorted(cast("list[Any]", expected), key=_key), ordered
        )
    if kind == "dict":
        return isinstance(expected, dict) and _is_dict(cast("dict[str, Any]", expected), parts)
    if kind == "other":
        return isinstance(expected, str) and parts == [expected]
    return kind == "" and _is_scalar(expected, found)


def shown(found: Any) -> str:
    """Write a value for people, in at most 120 characters."""
    kind, parts = _opened(found)
    if kind == "large":
        text = f"a value of {found['large']} characters"
    elif kind in ("other", "half"):
        text = str(parts[0]) if parts else "?"
    else:
        text = repr(_plain(found))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _opened(found: Any) -> tuple[str, list[Any]]:
    """Return a value's kind, "" for a scalar, and its parts."""
    if isinstance(found, list):
        return "?", []  # Not in the encoding above: equal to no value.
    if not isinstance(found, dict):
        return "", []
    tagged = cast("dict[str, Any]", found)
    kind = next(iter(tagged), "?")
    inner = tagged.get(kind)
    return kind, cast("list[Any]", inner) if isinstance(inner, list) else []


def _pairs(parts: list[Any]) -> dict[str, Any]:
    """Return a dictionary's values by its keys as JSON writes them."""
    pairs = [cast("list[Any]", pair) for pair in parts if isinstance(pair, list)]
    return {_as_key(pair[0]): pair[1] for pair in pairs if len(pair) == 2}


def _is_scalar(expected: Any, found: Any) -> bool:
    if isinstance(expected, bool) or isinstance(found, bool):
        return expected is found
    if isinstance(expected, int | float) and isinstance(found, int | float):
        if isinstance(expected, int) and isinstance(found, int):
            return expected == found
        return _close(expected, found)
    return type(expected) is type(found) and expected == found


def _close(expected: float, found: float) -> bool:
    try:
        return math.isclose(expected, found, rel_tol=1e-9, abs_tol=1e-12)
    except OverflowError:
        return False


def _is_list(expected: list[Any], parts: list[Any]) -> bool:
    return len(expected) == len(parts) and all(map(same, expected, parts))


def _is_dict(expected: dict[str, Any], parts: list[Any]) -> bool:
    values = _pairs(parts)
    same_keys = len(parts) == len(values) and expected.keys() == values.keys()
    return same_keys and all(same(expected[key], values[key]) for key in values)


def _as_key(key: Any) -> str:
    if isinstance(key, str):
        return key
    return shown(key) if isinstance(key, dict | list) else json.dumps(key)


def _plain(found: Any) -> Any:
    """Return a value as it would be in JSON, as far as it can be."""
    kind, parts = _opened(found)
    if kind in ("list", "set"):
        return [_plain(part) for part in parts]
    if kind == "dict":
        return {key: _plain(value) for key, value in _pairs(parts).items()}
    return found if kind == "" else str(parts[0]) if parts else "?"


def _key(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


_MOST_DIAGNOSTICS = 5
_VERDICT_LONGEST = 300
_CALL = 100
_MEDDLES = "it meddles with pytest: tests that have to fail passed"
_EMPTIED = (
    "your tests pass without your code: none fails when its functions do nothing; "
    "assert what they give"
)
_BREAK = re.compile(r"(?:(?<!\s)[^\S\r\n]++)?[\r\n]\s*+")
_OF_NETWORK = frozenset(("gaierror", "URLError", "ConnectError", "NameResolutionError"))
_NO_NETWORK = ("name resolution", "Name or service not known", "Failed to resolve", "[Errno 101]")
# What a socket gives where there is no network: the sandbox allows none but local ones.
_NOT_PERMITTED = "[Errno 1] Operation not permitted"
_WRONG = ("AssertionError", "Failed")
_CANARIES = 4
_ORDER = (Category.FORMAT, Category.TIMEOUT, Category.CODE, Category.LOGIC)


@dataclass(frozen=True, slots=True)
class Trial:
    """What was run: the files, the jobs, the examples behind the calls, the path of the canary."""

    layout: Layout
    jobs: Sequence[Calls | Tests]
    examples: Sequence[Example] = ()
    canary: str = ""


class _Problem(NamedTuple):
    category: Category
    message: str
    line: int | None = None
    code: str = ""


def verdict(trial: Trial, report: RunReport) -> Finding:
    """Say whether everything came out as it has to, else what is wrong and where."""
    problems = list(_problems(trial, report))
    if not problems:
        return Finding(status="passed")
    shown_first = sorted(problems, key=lambda problem: _ORDER.index(problem.category))
    diagnostics = [
        Diagnostic(
            message=_joined(problem.message, _VERDICT_LONGEST), line=problem.line, code=problem.code
        )
        for problem in shown_first[:_MOST_DIAGNOSTICS]
    ]
    return Finding(
        status="failed", category=shown_first[0].category, diagnostics=tuple(diagnostics)
    )


def _problems(trial: Trial, report: RunReport) -> Iterator[_Problem]:
    match report:
        case RunReport(results=None, exceeded="cpu" | "wall"):
            yield _Problem(Category.TIMEOUT, "it wasn't done within its time")
        case RunReport(results=None, exceeded="memory"):
            yield _Problem(Category.CODE, "it took more memory than it may", code="MemoryError")
        case RunReport(results=None):
            yield _Problem(Category.CODE, "it stopped what was to test it")
        case _:
            yield from _of_jobs(trial, report.results or ())


def _of_jobs(trial: Trial, results: Sequence[JobResult]) -> Iterator[_Problem]:
    well = True
    for job, result in zip_longest(trial.jobs, results):
        if isinstance(job, Calls):
            found = list(_of_calls(trial, job, result)) if result else []
        elif job.emptied:
            found = list(_of_emptied(trial.layout, job, result)) if well else []
        else:
            found = list(_of_tests(trial, job, result)) if result else []
        well = well and not found
        yield from found


def _of_emptied(layout: Layout, job: Tests, result: JobResult | None) -> Iterator[_Problem]:
    """Judge a run of tests without their code: that they ended badly is as it should be."""
    if result is None:
        yield _Problem(Category.CODE, _MEDDLES)
    elif result.done and any(record.noticed is False for record in result.records):
        tests = next(f"{path}::{test}" for path, test in _tests_in(layout, job.test_files))
        own = any(placed.path in job.emptied and placed.piece.own for placed in layout.placed)
        message = _EMPTIED if own else _EMPTIED.replace("your code", "the code they are for")
        yield _Problem(Category.CODE, message, _test_line(layout, tests))


def _of_calls(trial: Trial, job: Calls, result: JobResult) -> Iterator[_Problem]:
    explained = False
    records: dict[int, JobRecord] = {}
    for record in result.records:
        if record.module is not None and record.raised is not None:
            explained = True
            yield _raised(trial.layout, _module_shown(trial.layout, record.module), record.raised)
        elif record.call is not None:
            records[record.call] = record
    if not result.done:
        if not explained:
            yield _unfinished(job, result)
        return
    for at, example in enumerate(trial.examples):
        call = _call_shown(example.call)
        record = records.get(at)
        if record is None:
            yield _Problem(Category.CODE, f"{call} gave nothing")
        elif record.raised is not None:
            yield _raised(trial.layout, call, record.raised)
        elif not same(example.gives, record.gave):
            message = f"{call} gave {shown(record.gave)}, expected {_expected(example)}"
            yield _Problem(Category.LOGIC, message, _definition(trial.layout, call))


def _of_tests(trial: Trial, job: Tests, result: JobResult) -> Iterator[_Problem]:
    if not result.done:
        yield _unfinished(job, result)
        return
    results = [record for record in result.records if record.test is not None]
    reported = [record for record in results if not _of(record, trial.canary)]
    failed = {_id(record): record for record in reported if record.outcome == "failed"}
    # pytest says of a failure twice; once with what was raised.
    failed |= {_id(r): r for r in reported if r.outcome == "failed" and r.raised is not None}
    skipped = {_id(record): record for record in reported if record.outcome == "skipped"}
    passed = {_id(record) for record in reported if record.outcome == "passed"}
    for test, record in failed.items():
        yield _failure(trial.layout, test, record)
    expected = [f"{path}::{test}" for path, test in _tests_in(trial.layout, job.test_files, job)]
    elsewhere = _for_elsewhere(trial.layout)
    # A test of several parameters may have passed with some and been skipped with others.
    of_parameters = [test for test in skipped if "::" in test]
    unpassed = dict.fromkeys([test for test in expected if test not in passed] + of_parameters)
    missing = [
        test
        for test in unpassed
        if test not in elsewhere or not {test, test.partition("::")[0]} & skipped.keys()
    ]
    for test in missing:
        if test not in failed and not any(test.startswith(f"{other}::") for other in failed):
            yield _not_run(trial.layout, test, skipped)
    if failed or missing:
        return
    if not passed:
        yield _Problem(Category.CODE, "no test ran: all say that they are for another platform")
    if not _canary_failed(results, trial.canary):
        yield _Problem(Category.CODE, _MEDDLES)


def _tests_in(
    layout: Layout, paths: Container[str], doctests_of: Tests | None = None
) -> Iterator[tuple[str, str]]:
    """Go through the tests that can be seen in the texts of files, each with its path."""
    for placed in layout.placed:
        if placed.path in paths:
            yield from ((placed.path, test) for test in placed.piece.facts.tests)
            if doctests_of is None or placed.path in doctests_of.doctests:
                yield from ((placed.path, test.name) for test in placed.piece.facts.doctests)


def _for_elsewhere(layout: Layout) -> frozenset[str]:
    placed_tests = ((placed.path, placed.piece.facts.elsewhere) for placed in layout.placed)
    return frozenset(f"{path}::{test}" for path, tests in placed_tests for test in tests)


def _id(record: JobRecord) -> str:
    """Return the test's name without the parameters."""
    return (record.test or "").partition("[")[0]


def _of(record: JobRecord, path: str) -> bool:
    return (record.test or "").startswith(f"{path}::")


def _canary_failed(results: Sequence[JobRecord], canary: str) -> bool:
    """Return whether each test that has to fail did, by what it raises."""
    of_canary = [record for record in results if _of(record, canary)]
    failed = {record.test for record in of_canary if record.raised and record.raised.name in _WRONG}
    clean = all(record.outcome == "failed" for record in of_canary)
    return clean and len(failed) == _CANARIES


def _failure(layout: Layout, test: str, record: JobRecord) -> _Problem:
    name = _test_shown(layout, test)
    if record.raised is None:
        return _Problem(Category.LOGIC, f"{name} failed", _test_line(layout, test))
    line = _test_line(layout, test)
    is_doctest = test.partition("::")[2].startswith(DOCTEST)
    statement = "" if is_doctest else _statement(layout, record.raised)
    return _raised(layout, name, record.raised, statement, line)


def _not_run(layout: Layout, test: str, skipped: Mapping[str, JobRecord]) -> _Problem:
    name, line = _test_shown(layout, test), _test_line(layout, test)
    record = skipped.get(test) or skipped.get(test.partition("::")[0])
    if record is None:
        return _Problem(Category.CODE, f"{name} was not run, or did not end", line)
    why = f": {record.raised.message}" if record.raised else ""
    return _Problem(Category.CODE, f"{name} was skipped{why}", line)


def _raised(
    layout: Layout,
    during: str,
    raised: RaisedException,
    statement: str = "",
    line: int | None = None,
) -> _Problem:
    category = Category.LOGIC if raised.name in _WRONG else Category.CODE
    where = _elsewhere(layout, raised)
    message = f"{raised.message or raised.name}{_network(raised)}"
    if raised.name == "SystemExit":
        message = f"it ends the process (with {message})"
    parts = [during, where, statement, message]
    at = _line(layout, raised) or line
    return _Problem(category, ": ".join(filter(None, parts)), at, raised.name)


def _network(raised: RaisedException) -> str:
    """Say that there is no network, where that is what an exception is about."""
    asks = raised.name in _OF_NETWORK or any(sign in raised.message for sign in _NO_NETWORK)
    refused = raised.name == "PermissionError" and raised.message == _NOT_PERMITTED
    return "; the sandbox has no network, use a stand-in for it" if asks or refused else ""


def _line(layout: Layout, raised: RaisedException) -> int | None:
    """Return the artifact's last line in an exception's traceback."""
    own = {placed.path: placed for placed in layout.placed if placed.piece.own}
    for path, line in reversed(raised.frames):
        if path in own:
            return own[path].line(line)
    return None


def _elsewhere(layout: Layout, raised: RaisedException) -> str:
    """Say where it was raised if that is neither a test nor the artifact, which has its line."""
    if not raised.frames or _line(layout, raised) is not None:
        return ""
    path, line = raised.frames[-1]
    for placed in layout.placed:
        if placed.path == path and not placed.piece.facts.tests:
            return f"in {placed.piece.name}, line {placed.line(line)}"
    return ""


def _statement(layout: Layout, raised: RaisedException) -> str:
    """Return the line of the test that it was raised from; pytest says the rest."""
    tests = {placed.path: placed for placed in layout.placed if placed.piece.facts.tests}
    for path, line in reversed(raised.frames):
        if path in tests:
            lines = tests[path].text.split("\n")
            statement = lines[line - 1].strip() if line <= len(lines) else ""
            return (
                ""
                if raised.message.startswith(statement)
                else _joined(statement, _VERDICT_LONGEST // 3)
            )
    return ""


def _unfinished(job: Calls | Tests, result: JobResult) -> _Problem:
    starts = [record.starts for record in result.records if record.starts]
    during = f", in {_start_shown(job, starts[-1])}" if starts else ""
    if result.late:
        return _Problem(Category.TIMEOUT, f"not done within {job.wall_s:g} s{during}")
    if result.signal == signal.SIGXCPU or result.cpu_s >= job.cpu_s:
        return _Problem(Category.TIMEOUT, f"not done within {job.cpu_s} s of computing{during}")
    if result.signal is not None:
        name = signal.Signals(result.signal).name
        return _Problem(Category.CODE, f"its process was killed by {name}{during}")
    return _Problem(Category.CODE, f"it ended its own process{during}", code="SystemExit")


def _module_shown(layout: Layout, module: str) -> str:
    for placed in layout.placed:
        if placed.module == module:
            own, name = placed.piece.own, placed.piece.path or placed.piece.name
            return "when imported" if own and not placed.piece.path else f"when {name} is imported"
    return f"when {module} is imported"


def _test_shown(layout: Layout, test: str) -> str:
    path, _, name = test.partition("::")
    for placed in layout.placed:
        if placed.path == path:
            label = placed.piece.path or ("" if placed.piece.own else placed.piece.name)
            return f"{label}: {name}".strip(": ") or "the tests"
    return name or "the tests"


def _test_line(layout: Layout, test: str) -> int | None:
    path, _, name = test.partition("::")
    for placed in layout.placed:
        if placed.path == path and placed.piece.own:
            lines = {found.name: found.line for found in placed.piece.facts.doctests}
            line = lines.get(name, placed.piece.facts.lines.get(name.partition("::")[0]))
            return None if line is None else line + placed.piece.before
    return None


def _definition(layout: Layout, call: str) -> int | None:
    """Return the line of the artifact that defines what a call begins with."""
    name = call.partition("(")[0].partition(".")[0].strip()
    own = (placed.piece for placed in layout.placed if placed.piece.own)
    return next(
        (piece.facts.lines[name] + piece.before for piece in own if name in piece.facts.lines), None
    )


def _expected(example: Example) -> str:
    return _joined(repr(example.gives), 120)


def _start_shown(job: Calls | Tests, start: str) -> str:
    if isinstance(job, Tests):
        return _joined(start.rpartition("::")[2], _CALL)
    return _call_shown(start) if start in job.calls else _joined(start, _CALL)


def _call_shown(call: str) -> str:
    """Write an expression in one line."""
    text = call.strip()
    if "\n" in text:
        # As Python would write it: its strings have no line breaks then.
        with suppress(*NOT_READ):
            text = ast.unparse(ast.parse(text, mode="eval"))
    return _joined(text, _CALL)


def _joined(text: str, limit: int) -> str:
    """Write a text in one line; blanks in it stay, since a string in it may differ by them."""
    line = clean(_BREAK.sub(" ", text.strip()))
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
