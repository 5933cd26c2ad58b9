"""The doctor says what local models will take, and which of them is too large."""

from __future__ import annotations

import pytest
from prefect_swarm.cli.doctor.checks import check_model_memory, findings
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.models.llama.residency import MemoryUse, Resident
from prefect_swarm.models.llama.sizing import BUDGET_VARIABLE

GB = 10**9
LARGE = Resident("large", "large", MemoryUse(5 * GB, GB))
SMALL = Resident("small", "small", MemoryUse(2 * GB, GB))
PLANNED = {"worker": SMALL, "coder, architect": LARGE}


def test_models_that_fit_together_are_added_up() -> None:
    checks = list(findings(10 * GB, PLANNED, [SMALL]))
    assert {check.status for check in checks} == {"ok"}
    assert checks[0].detail == "worker: small takes 2.0 GB of weights and 1.0 GB of context"
    assert checks[-1].detail == "9.0 GB of 10.0 GB for all models; loaded: small (3.0 GB)"


def test_models_that_fit_singly_take_turns() -> None:
    assert "they take turns" in list(findings(7 * GB, PLANNED, []))[-1].detail


def test_a_model_that_never_fits_fails_with_what_to_set() -> None:
    (failed,) = (check for check in findings(4 * GB, PLANNED, []) if check.status == "fail")
    assert failed.detail.startswith("coder, architect: large takes")
    assert BUDGET_VARIABLE in failed.fix


@pytest.mark.model
def test_the_embedded_model_is_estimated_without_loading_it() -> None:
    first, last = check_model_memory(SwarmOptions())
    assert "worker, coder, architect, orchestrator: " in first.detail
    assert "of weights and" in first.detail
    assert last.status == "ok"


def test_a_swarm_without_local_models_needs_no_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    assert list(check_model_memory(SwarmOptions(model="openai:gpt-5"))) == []
