"""`doctor` says which weights are computed with, and offers faster ones."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from prefect_swarm.models.llama import prepared
from prefect_swarm.models.llama.gguf import SHIPPED_ADAPTER, demo_model_path
from prefect_swarm.models.llama.merged import find_merged
from prefect_swarm.models.llama.prepared import weights_of
from prefect_swarm.models.llama.requantised import Processor

from ..conftest import Invoke

_SETTING = "PREFECT_INTEGRATIONS_SWARM_REQUANTISE"


@pytest.fixture(autouse=True)
def _x86(monkeypatch: pytest.MonkeyPatch) -> None:
    def x86() -> Processor:
        return "x86-avx512"

    monkeypatch.setattr(prepared, "processor", x86)


def weights(invoke: Invoke, *options: str, name: str = "weights") -> dict[str, Any]:
    found = json.loads(invoke("doctor", "--json", *options).stdout)["checks"]
    return next(check for check in found if check["name"] == name)


@pytest.mark.usefixtures("swarm_home")
def test_before_the_first_use_it_says_what_that_will_make(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(_SETTING, "auto")
    found = weights(invoke)
    assert found["status"] == "ok"
    assert "Q4_1 (210 matrices); the first use makes Q8_0 of it, about 143 MB" in found["detail"]


@pytest.mark.model
def test_after_it_the_prepared_file_and_its_size_are_named(
    invoke: Invoke, swarm_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(_SETTING, "auto")
    path = weights_of(demo_model_path().resolve())
    found = weights(invoke)["detail"]
    assert found == f"Q4_1 (210 matrices) requantised to Q8_0, 145 MB at {path}"
    path.unlink()
    assert path.is_relative_to(swarm_home)


def test_where_it_is_off_it_says_what_is_missed(invoke: Invoke) -> None:
    found = weights(invoke)
    assert "no fast kernel for Q4_1 (210 matrices)" in found["detail"]
    assert _SETTING in found["fix"]


def test_for_a_file_of_the_users_it_is_an_offer(invoke: Invoke, tmp_path: Path) -> None:
    mine = tmp_path / "mine.gguf"
    mine.write_bytes(demo_model_path().read_bytes())
    found = weights(invoke, "--coder", f"llamacpp:{mine}", name="weights coder")
    assert found["status"] == "ok"
    assert f"about 143 MB, run: prefect-swarm requantise {mine}" in found["fix"]


def test_where_all_is_fast_nothing_is_offered(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    def other() -> Processor:
        return "other"

    monkeypatch.setattr(prepared, "processor", other)
    found = weights(invoke)
    assert found["detail"].startswith("as in the file: ")
    assert not found["fix"]


@pytest.mark.usefixtures("swarm_home")
def test_before_the_first_plan_it_says_what_that_will_add(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(_SETTING, "auto")
    found = weights(invoke, name="planner")
    assert "; the first plan adds it to the model's weights, about 143 MB at " in found["detail"]


def test_where_it_is_off_the_adapter_is_named_alone(invoke: Invoke) -> None:
    assert weights(invoke, name="planner")["detail"].endswith(".gguf")


@pytest.mark.model
def test_after_it_the_file_with_the_adapter_is_named(
    invoke: Invoke, swarm_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(_SETTING, "auto")
    source = demo_model_path().resolve()
    merged = find_merged(source, SHIPPED_ADAPTER.resolve())
    assert merged is not None
    # What it holds is looked at by its header alone.
    merged.path.hardlink_to(weights_of(source))
    found = weights(invoke, name="planner")["detail"]
    assert found.endswith(f", added to the model's weights: 145 MB at {merged.path}")
    shutil.rmtree(swarm_home)
