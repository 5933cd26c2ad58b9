"""`memory export` and `import` move it, all or nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from memory_commands import (
    ALL,
    FAILED,
    OTHER,
    TESTED,
    memory_json,
)
from prefect_swarm.memory.episode import Episode

from ..conftest import Invoke


def test_what_is_exported_can_be_imported_and_twice_is_once(
    filled: Path, tmp_path: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "memory.jsonl"
    assert invoke("memory", "export", file).exit_code == 0
    lines = file.read_text("utf-8").splitlines()
    assert [Episode.model_validate_json(line) for line in lines] == [*ALL]
    assert memory_json(invoke, "import", file) == {"read": 4, "imported": 0, "there_already": 4}
    monkeypatch.setenv("PREFECT_INTEGRATIONS_SWARM_HOME", str(tmp_path / "another"))
    assert memory_json(invoke, "import", file)["imported"] == 4
    assert memory_json(invoke, "import", file)["imported"] == 0
    assert memory_json(invoke, "stats")["episodes"] == 4


def test_it_goes_through_pipes_and_into_another_namespace(filled: Path, invoke: Invoke) -> None:
    text = invoke("memory", "export", "-").stdout
    done = memory_json(invoke, "import", "-", "--namespace", "ours", stdin=text)
    assert done["imported"] == 4
    assert memory_json(invoke, "stats", "--namespace", "ours")["episodes"] == 4


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("{", "line 2"),
        ("[]", "line 2"),
        (FAILED.model_copy(update={"attempt": 0}).model_dump_json(), "line 2: attempt"),
        (FAILED.model_copy(update={"schema_version": 99}).model_dump_json(), "newer than"),
        (FAILED.model_dump_json().replace('"reward":-0.5', '"reward":1e999'), "line 2"),
        (FAILED.model_dump_json().replace('"step"', '"stage"'), "line 2: s"),
    ],
)
def test_a_bad_line_is_named_and_nothing_is_imported(
    bad: str, message: str, swarm_home: Path, tmp_path: Path, invoke: Invoke
) -> None:
    file = tmp_path / "memory.jsonl"
    file.write_text("\n".join([TESTED.model_dump_json(), bad, OTHER.model_dump_json()]), "utf-8")
    result = invoke("memory", "import", file)
    assert result.exit_code == 2
    assert "Nothing was imported" in result.stderr
    assert message in result.stderr
    assert memory_json(invoke, "stats")["episodes"] == 0


def test_files_that_can_not_be_used_are_named(filled: Path, tmp_path: Path, invoke: Invoke) -> None:
    for arguments in (["import", tmp_path / "gone"], ["export", tmp_path / "gone" / "file"]):
        result = invoke("memory", *arguments)
        assert result.exit_code == 2
        assert "gone" in result.stderr
