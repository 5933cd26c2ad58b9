"""Without Prefect the settings are those that Prefect would give, and it is asked where it may."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from prefect_swarm.errors import InputError
from prefect_swarm.settings import SwarmSettings, home

BOTH = """
import sys
from prefect_swarm.settings import SwarmSettings, home
before = (home(), SwarmSettings().sandbox)
asked = "prefect" in sys.modules
import prefect
print(asked, before == (home(), SwarmSettings().sandbox), home(), SwarmSettings().sandbox)
"""
HOME = "PREFECT_INTEGRATIONS_SWARM_HOME"


@pytest.mark.parametrize(
    ("files", "variables", "expected"),
    [
        ({}, {}, "False True {0}/prefect/swarm strict"),
        ({"pyproject.toml": "[project]\nname='home'\n"}, {HOME: "~/x"}, "False True ~/x strict"),
        (
            {"prefect.toml": "[integrations.swarm]\nhome='there'\nsandbox='limits-only'\n"},
            {},
            "True True there limits-only",
        ),
        (
            {"prefect/profiles.toml": f"active='a'\n[profiles.a]\n{HOME}='/of/profile'\n"},
            {},
            "True True /of/profile strict",
        ),
        ({".env": f"{HOME}=/of/env\n"}, {}, "True True /of/env strict"),
        ({}, {HOME.lower(): "/lower"}, "True True /lower strict"),
    ],
    ids=["nothing", "environment", "prefect.toml", "profile", ".env", "another spelling"],
)
def test_settings_are_those_that_prefect_would_give(
    files: dict[str, str], variables: dict[str, str], expected: str, tmp_path: Path
) -> None:
    for name, text in files.items():
        (path := tmp_path / name).parent.mkdir(exist_ok=True)
        path.write_text(text)
    clean = {k: v for k, v in os.environ.items() if not k.startswith("PREFECT_")}
    done = subprocess.run(
        [sys.executable, "-c", BOTH],
        cwd=tmp_path,
        env={**clean, "PREFECT_HOME": str(tmp_path / "prefect"), **variables},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert done.stdout.strip() == expected.format(tmp_path)


def test_a_value_that_is_not_allowed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFECT_INTEGRATIONS_SWARM_SANDBOX", "off")
    with pytest.raises(InputError, match="PREFECT_INTEGRATIONS_SWARM_SANDBOX is 'off'"):
        SwarmSettings()


def test_the_folder_is_the_one_that_is_set(swarm_home: Path) -> None:
    assert home() == swarm_home
