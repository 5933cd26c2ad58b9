"""`doctor` says what is wrong and how to mend it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from adapters import write_adapter
from prefect.settings import PREFECT_API_URL, temporary_settings
from prefect_swarm.blocks.llama import adapter as adapters
from prefect_swarm.blocks.llama import demo_model_path
from prefect_swarm.blocks.llama.adapter import file_hash

from .conftest import Invoke


def checks(text: str) -> dict[str, dict[str, Any]]:
    return {check["name"]: check for check in json.loads(text)["checks"]}


def test_a_whole_installation_passes(invoke: Invoke, swarm_home: Path) -> None:
    result = invoke("doctor", "--json")
    found = checks(result.stdout)
    assert (result.exit_code, json.loads(result.stdout)["ok"]) == (0, True)
    assert {"python", "prefect", "model", "data", "disk", "prefect server"} <= set(found)
    assert str(swarm_home) in found["data"]["detail"]
    assert "SmolLM2" in found["model"]["detail"]


def test_the_table_has_a_line_for_each_check(invoke: Invoke) -> None:
    lines = invoke("doctor").stdout.splitlines()
    assert all(line[:4] in {"ok  ", "WARN", "FAIL", "    "} for line in lines)


def test_a_model_that_is_missing_fails_and_the_other_checks_go_on(invoke: Invoke) -> None:
    result = invoke("doctor", "--json", "--coder", "llamacpp:/gone.gguf")
    found = checks(result.stdout)
    assert result.exit_code == 1
    assert found["model coder"]["status"] == "fail"
    assert found["model coder"]["fix"]
    assert found["model worker, architect, orchestrator"]["status"] == "ok"
    assert found["prefect server"]["status"] == "ok"


def test_it_says_whether_the_orchestrator_plans_with_an_adapter(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "shipped.gguf"
    monkeypatch.setattr(adapters, "_SHIPPED", path)
    assert "planner" not in checks(invoke("doctor", "--json").stdout)
    write_adapter(path, swarm__base__sha256=file_hash(demo_model_path().resolve()))
    found = checks(invoke("doctor", "--json").stdout)
    assert found["planner"]["detail"] == f"plans with the adapter {path}"
    assert "planner" not in checks(invoke("doctor", "--json", "--no-adapter").stdout)
    write_adapter(path, swarm__base__sha256="ab" * 32)
    found = checks(invoke("doctor", "--json").stdout)
    assert "plans without it" in found["planner"]["detail"]


def test_a_server_that_is_down_fails(invoke: Invoke) -> None:
    with temporary_settings({PREFECT_API_URL: "http://127.0.0.1:9/api"}):
        result = invoke("doctor", "--json")
    assert result.exit_code == 1
    assert checks(result.stdout)["prefect server"]["status"] == "fail"


def test_a_folder_that_can_not_be_written_to_fails(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PREFECT_INTEGRATIONS_SWARM_HOME", str(tmp_path / "file" / "swarm"))
    result = invoke("doctor", "--json")
    assert result.exit_code == 1
    assert checks(result.stdout)["data"]["status"] == "fail"


@pytest.mark.model
def test_deep_lets_the_model_speak(invoke: Invoke) -> None:
    assert "it says" in checks(invoke("doctor", "--json", "--deep").stdout)["model"]["detail"]
