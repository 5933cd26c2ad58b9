"""What checks came to with a patch, compared with what they came to without it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal
from xml.etree.ElementTree import ParseError, XMLParser

from pydantic import Field

from ...data_types import Frozen
from ...text import one_line
from ...workspace.names import is_within
from ..base import Diagnostic

__all__ = ["CheckOutcome", "TestOutcome", "read_report", "regressions"]

_Result = Literal["passed", "failed", "skipped"]
_MOST_BYTES = 16 << 20
_NAMED = 20
_NAME = 300
_PRINTED = 1_500


class TestOutcome(Frozen):
    """How a test ended, and the file that it is in; "" where that isn't known."""

    __test__ = False  # pytest would take it for a test.

    result: _Result
    file: str = ""


class CheckOutcome(Frozen):
    """What a command came to.

    Attributes:
        exit_code: 0 where it says that all is well.
        printed: The last of what it printed.
        ended: Why the sandbox ended it; "" if it didn't.
        tests: How each test ended, by its name; none where it is no call of pytest.
    """

    exit_code: int
    printed: str = ""
    ended: str = ""
    tests: dict[str, TestOutcome] = Field(default_factory=dict)


def read_report(data: bytes) -> dict[str, TestOutcome]:
    """Read what pytest wrote as JUnit's XML (`junit_family=xunit1`); nothing where it is none.

    A test that ended twice counts as it ended worst.
    """
    if not data or len(data) > _MOST_BYTES:
        return {}
    cases = _Cases()
    parser = XMLParser(target=cases)  # noqa: S314 - bounded, and without a DTD
    try:
        # As a text, so that what it says of its encoding can't hide a DTD.
        text = data.decode()
        if "<!DOCTYPE" in text:
            return {}
        parser.feed(text)
        parser.close()
    except (ParseError, ValueError):
        return {}
    return cases.found


_BADNESS: Mapping[_Result, int] = {"passed": 0, "skipped": 1, "failed": 2}
_RESULTS: Mapping[str, _Result] = {"failure": "failed", "error": "failed", "skipped": "skipped"}


class _Cases:
    """Takes the parts of a report one after another; none is kept but what is found."""

    def __init__(self) -> None:
        self.found: dict[str, TestOutcome] = {}
        self._depth = 0
        self._case: tuple[int, str, str] | None = None
        self._result: _Result = "passed"

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._case is None:
            if tag == "testcase":
                name = f"{attributes.get('classname', '')}::{attributes.get('name', '')}"
                self._case = self._depth, name, attributes.get("file", "")
                self._result = "passed"
        elif self._depth == self._case[0] + 1:
            result = _RESULTS.get(tag, "passed")
            self._result = max(self._result, result, key=lambda each: _BADNESS[each])

    def end(self, _tag: str) -> None:
        if self._case is not None and self._depth == self._case[0]:
            _, name, file = self._case
            outcome = TestOutcome(result=self._result, file=file)
            known = self.found.get(name)
            if known is None or _BADNESS[outcome.result] > _BADNESS[known.result]:
                self.found[name] = outcome
            self._case = None
        self._depth -= 1

    def close(self) -> None:
        """Nothing is left to be done."""


def regressions(
    command: str,
    before: CheckOutcome,
    after: CheckOutcome,
    may_change: Sequence[str] = (),
) -> list[Diagnostic]:
    """Return what passed without a patch and doesn't with it, and new tests that fail.

    Args:
        may_change: Files whose tests the patch may take away or replace.
    """
    if after.ended:
        return [Diagnostic(message=f"`{command}` was not completed, and is without: {after.ended}")]
    results = {each.result for each in after.tests.values()}
    if results and "failed" not in results and before.tests.keys().isdisjoint(after.tests):
        # The command calls pytest several times, and these are of different calls.
        before, after = (each.model_copy(update={"tests": {}}) for each in (before, after))
    moved = {_tail(name) for name in _passed_now(before, after)}
    found = [
        f"{one_line(name, _NAME)}: it passed before, and now {_now(after.tests.get(name))}"
        for name, old in before.tests.items()
        if old.result == "passed"
        and not _is_kept(after.tests.get(name), old, may_change)
        and not (name not in after.tests and _tail(name) in moved)
    ]
    found += [
        f"{one_line(name, _NAME)}: this new test fails"
        for name, new in after.tests.items()
        if new.result == "failed" and name not in before.tests
    ]
    is_worse = before.exit_code == 0 and after.exit_code != 0
    if not found and not is_worse:
        return []
    shown = found[:_NAMED] + ([f"and {len(found) - _NAMED} more"] if len(found) > _NAMED else [])
    said = f"`{command}` ended with {after.exit_code}, and {before.exit_code} without the patch"
    last = after.printed[-_PRINTED:].strip()
    return [
        *(Diagnostic(message=each) for each in shown),
        Diagnostic(message=f"{said}: {last}" if last else said),
    ]


def _passed_now(before: CheckOutcome, after: CheckOutcome) -> list[str]:
    """Return the tests that are new by their names, and pass."""
    return [
        name
        for name, new in after.tests.items()
        if new.result == "passed" and name not in before.tests
    ]


def _tail(name: str) -> str:
    """Return a test's name without its module: in another file it is the same test.

    That it asks what it asked is for the gate `tests-kept` to say.
    """
    around, _, own = name.partition("::")
    last = around.rpartition(".")[2]
    return f"{last}::{own}" if last[:1].isupper() else own


def _is_kept(now: TestOutcome | None, old: TestOutcome, may_change: Sequence[str]) -> bool:
    if now is None:
        return bool(old.file) and is_within(old.file, may_change)
    if now.result == "skipped":
        return bool(old.file) and is_within(old.file, may_change)
    return now.result == "passed"


def _now(outcome: TestOutcome | None) -> str:
    return "it is not run" if outcome is None else f"it is {outcome.result}"
