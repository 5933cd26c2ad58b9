"""A procedure is checked without storing it, and a dry run says what it would do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from ledger import Ledger
from prefect_swarm import override_toolsets

from .conftest import Invoke

PAY = """\
name: pay
purpose: Pay a supplier
parameters:
  amount: {type: integer, default: 5}
plan:
  objective: Pay {param.amount}
  steps:
    - id: S1
      output: {kind: json}
      call: {toolset: ledger, tool: post, arguments: {amount: "{param.amount}"}}
      undo: {toolset: ledger, tool: reverse, arguments: {booking: {$output: S1/id}}}
    - id: S2
      depends_on: [S1]
      call: {toolset: ledger, tool: post, arguments: {amount: 1, note: {$output: S1/id}}}
"""


@pytest.fixture
def pay(tmp_path: Path) -> Path:
    (path := tmp_path / "pay.yaml").write_text(PAY, "utf-8")
    return path


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    made = Ledger()
    with override_toolsets(ledger=made.toolset()):
        yield made


def test_a_file_that_can_be_stored_is_said_to_be_one(invoke: Invoke, pay: Path) -> None:
    result = invoke("procedure", "check", pay)
    assert result.exit_code == 0, result.stderr
    assert "pay can be stored: 2 steps, 1 parameter." in result.stdout
    assert "There are no procedures." in invoke("procedure", "list").stdout


@pytest.mark.usefixtures("prefect_server")
def test_a_dry_run_shows_each_call_and_makes_none(
    invoke: Invoke, pay: Path, ledger: Ledger
) -> None:
    options = ("--param", "amount=7", "--run-options", '{"max_attempts": 1}')
    result = invoke("procedure", "check", pay, "--dry-run", *options)
    assert result.exit_code == 0, result.stderr
    assert ledger.calls == []
    said = " ".join(result.stdout.split())
    assert "2 calls that were not made" in said
    assert 'S1 ledger.post {"amount": 7}' in said
    assert "nothing" in said


@pytest.mark.usefixtures("prefect_server")
def test_a_stored_procedure_is_tried_by_its_name(invoke: Invoke, pay: Path, ledger: Ledger) -> None:
    assert invoke("procedure", "new", pay).exit_code == 0
    result = invoke("procedure", "check", "pay@1", "--dry-run")
    assert result.exit_code == 0, result.stderr
    assert ledger.calls == []
    assert 'ledger.post {"amount": 5}' in " ".join(result.stdout.split())


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--param", "amount=7"], "Add --dry-run"),
        (["--dry-run", "--param", "amount=much"], "--param amount"),
        (["--dry-run", "--param", "sum=1"], "no parameter 'sum'"),
        (["--dry-run", "--run-options", "[]"], "--run-options is no object"),
        (["--dry-run", "--run-options", '{"max_money": 1}'], "max_money"),
    ],
)
def test_what_can_not_be_tried_is_said(
    invoke: Invoke, pay: Path, arguments: list[str], says: str
) -> None:
    result = invoke("procedure", "check", pay, *arguments)
    assert result.exit_code == 2, result.output
    assert says in " ".join(result.stderr.split())


def test_what_is_neither_a_file_nor_a_procedure_is_said(invoke: Invoke) -> None:
    result = invoke("procedure", "check", "nothing-here")
    assert result.exit_code == 2
    assert "nothing-here" in result.stderr
