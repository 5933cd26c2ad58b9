"""The machine's setting names the model of runs that name none."""

from __future__ import annotations

from pathlib import Path

import pytest
from prefect_swarm.cli.options import options_from
from prefect_swarm.flows.options import SwarmOptions

SETTING = "PREFECT_INTEGRATIONS_SWARM_MODEL"


def test_it_is_the_embedded_model_where_nothing_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SETTING, raising=False)
    assert SwarmOptions().model == "demo"


def test_the_environment_names_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SETTING, "openai:gpt-5")
    assert SwarmOptions().model == "openai:gpt-5"
    assert SwarmOptions().model_of("orchestrator") == "openai:gpt-5"
    assert options_from({"model": None}).model_of("worker") == "openai:gpt-5"


def test_a_file_of_prefect_names_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SETTING, raising=False)
    monkeypatch.chdir(tmp_path)
    Path("prefect.toml").write_text('[integrations.swarm]\nmodel = "openai:gpt-5"\n')
    assert SwarmOptions().model == "openai:gpt-5"


def test_what_a_run_names_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SETTING, "openai:gpt-5")
    assert options_from({"model": "demo"}).model == "demo"
    assert SwarmOptions(model="openai:other").model_of("worker") == "openai:other"


def test_a_wrong_value_of_another_setting_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFECT_INTEGRATIONS_SWARM_SANDBOX", "off")
    monkeypatch.setenv(SETTING, "openai:gpt-5")
    assert SwarmOptions().model == "openai:gpt-5"
