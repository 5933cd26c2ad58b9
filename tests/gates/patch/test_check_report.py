"""What checks came to with a patch, compared with what they came to without it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect_swarm.gates.patch.check_report import (
    CheckOutcome,
    TestOutcome,
    read_report,
    regressions,
)

REPORT = b"""<?xml version="1.0" encoding="utf-8"?>
<testsuites><testsuite name="pytest" errors="1" failures="1" tests="5">
<testcase classname="tests.test_a" name="test_ok" file="tests/test_a.py" line="1" time="0.1"/>
<testcase classname="tests.test_a" name="test_bad" file="tests/test_a.py">
<failure message="assert 1 == 2">error <b>in</b> text</failure></testcase>
<testcase classname="tests.test_a" name="test_broken" file="tests/test_a.py"><error/></testcase>
<testcase classname="tests.test_a" name="test_not" file="tests/test_a.py">
<skipped type="pytest.skip"/></testcase>
<testcase classname="tests.test_a" name="test_said"><system-out>x<failure/></system-out></testcase>
</testsuite></testsuites>"""


def test_each_test_is_read_with_its_result_and_file() -> None:
    found = read_report(REPORT)
    assert {name.partition("::")[2]: each.result for name, each in found.items()} == {
        "test_ok": "passed",
        "test_bad": "failed",
        "test_broken": "failed",
        "test_not": "skipped",
        "test_said": "passed",
    }
    assert found["tests.test_a::test_ok"].file == "tests/test_a.py"
    assert found["tests.test_a::test_said"].file == ""


def cases(*bodies: str) -> bytes:
    written = [f"<testcase name='a'>{body}</testcase>" for body in bodies]
    return f"<t>{''.join(written)}</t>".encode()


@pytest.mark.parametrize(
    ("bodies", "result"),
    [
        (("", ""), "passed"),
        (("", "<failure/>"), "failed"),
        (("<error/>", ""), "failed"),
        (("<skipped/>", ""), "skipped"),
        (("<failure/>", "<skipped/>"), "failed"),
        (("<skipped/><error/>",), "failed"),
        (("<testcase name='b'><failure/></testcase>",), "passed"),
    ],
)
def test_a_test_that_ended_twice_counts_as_it_ended_worst(
    bodies: tuple[str, ...], result: str
) -> None:
    assert {name: each.result for name, each in read_report(cases(*bodies)).items()} == {
        "::a": result
    }


ENTITIES = '<!DOCTYPE t [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><t><testcase name="&b;"/></t>'


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"<t>",
        b"<t/><t/>",
        b"\xff\xfe",
        b"\0" * 40,
        b"<t><testcase name='&x;'/></t>",
        b"<t><testcase name='\xff'/></t>",
        b"<t><testcase name='&#xD800;'/></t>",
        b"x" * (17 << 20),
        ENTITIES.encode(),
        ENTITIES.encode("utf-16"),
        f'<?xml version="1.0" encoding="utf-16"?>{ENTITIES}'.encode("utf-16"),
        f'<?xml version="1.0" encoding="utf-7"?>{ENTITIES.replace("<!", "+ADwAIQ-")}'.encode(),
        b'<!DOCTYPE t SYSTEM "file:///etc/passwd"><t><testcase name="a"/></t>',
    ],
)
def test_what_is_no_report_says_nothing(data: bytes) -> None:
    assert read_report(data) == {}


def test_a_report_that_is_nested_deeply_is_read() -> None:
    deep = b"<a>" * 100_000 + b"<testcase name='x'/>" + b"</a>" * 100_000
    assert [*read_report(deep)] == ["::x"]


@given(st.binary(max_size=60) | st.text("<>/testcase nam='x!&;\0", max_size=60).map(str.encode))
def test_any_bytes_are_read_without_an_error(data: bytes) -> None:
    assert isinstance(read_report(data), dict)


def outcome(tests: Mapping[str, str], exit_code: int = 0, printed: str = "") -> CheckOutcome:
    found = {
        name: TestOutcome.model_validate({"result": result, "file": f"tests/{name}.py"})
        for name, result in tests.items()
    }
    return CheckOutcome(exit_code=exit_code, printed=printed, tests=found)


def said(before: CheckOutcome, after: CheckOutcome, *may_change: str) -> list[str]:
    return [each.message for each in regressions("pytest", before, after, may_change)]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"a": "passed"}, {"a": "passed", "b": "passed"}),
        ({"a": "failed"}, {"a": "passed"}),
        ({"a": "failed", "b": "passed"}, {"a": "failed", "b": "passed"}),
        ({"a": "skipped"}, {"a": "passed"}),
        ({"a": "failed"}, {}),
        ({}, {"a": "skipped"}),
    ],
)
def test_what_gets_no_worse_is_no_regression(
    before: Mapping[str, str], after: Mapping[str, str]
) -> None:
    assert said(outcome(before, 1), outcome(after, 1)) == []


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ({"a": "passed"}, {"a": "failed"}, "a: it passed before, and now it is failed"),
        ({"a": "passed"}, {"a": "skipped"}, "a: it passed before, and now it is skipped"),
        ({"a": "passed"}, {}, "a: it passed before, and now it is not run"),
        ({}, {"a": "failed"}, "a: this new test fails"),
    ],
)
def test_what_gets_worse_is_told(
    before: Mapping[str, str], after: Mapping[str, str], words: str
) -> None:
    found = said(outcome(before), outcome(after, 1, "last words\n"))
    assert found == [words, "`pytest` ended with 1, and 0 without the patch: last words"]


def test_a_test_that_may_be_changed_may_go_or_be_skipped_but_may_not_fail() -> None:
    before = outcome({"a": "passed", "b": "passed"})
    assert said(before, outcome({"b": "skipped"}), "tests/**") == []
    assert said(before, outcome({"b": "skipped"}), "other/**")
    assert said(before, outcome({"a": "failed", "b": "passed"}), "tests/**")


def test_a_command_that_was_well_and_is_not_is_told_with_its_last_words() -> None:
    after = outcome({}, 2, f"{'x' * 5000}the end")
    (only,) = said(outcome({}), after)
    assert only.startswith("`pytest` ended with 2, and 0 without the patch: xxx")
    assert only.endswith("the end")
    assert len(only) < 1600
    assert said(outcome({}, 1), after) == []


def test_a_check_that_is_ended_with_a_patch_alone_is_told() -> None:
    before, after = CheckOutcome(exit_code=1), CheckOutcome(exit_code=-1, ended="It took 9 s.")
    (found,) = regressions("pytest", before, after)
    assert found.message == "`pytest` was not completed, and is without: It took 9 s."


def test_reports_of_different_calls_are_not_compared() -> None:
    first, second = ({f"t::{name}": TestOutcome(result="passed")} for name in ("a", "b"))
    before, after = (CheckOutcome(exit_code=0, tests=tests) for tests in (first, second))
    assert regressions("tox", before, after) == []
    failed = after.model_copy(update={"exit_code": 1})
    assert len(regressions("tox", before, failed)) == 1


def test_many_and_long_names_are_bounded() -> None:
    names = {f"{n}{'x' * 10_000}\n\x1b[2J": "passed" for n in range(500)}
    found = said(outcome(names), outcome({}))
    assert len(found) == 22
    assert "and 480 more" in found
    assert all(len(each) < 400 and each.isprintable() for each in found)
