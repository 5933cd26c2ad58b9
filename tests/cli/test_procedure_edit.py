"""A procedure is edited in the user's editor, and what they save is its next version."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import WEEKLY, Invoke


@pytest.fixture
def weekly(invoke: Invoke, tmp_path: Path) -> None:
    (file := tmp_path / "weekly.yaml").write_text(WEEKLY, "utf-8")
    assert invoke("procedure", "new", file).exit_code == 0


def editor(monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", f"sed -i -e '{script}'")


@pytest.mark.usefixtures("weekly")
def test_what_is_saved_is_the_next_version(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    editor(monkeypatch, "s/read week/sum up week/")
    result = invoke("procedure", "edit", "weekly")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("weekly@2 (")
    assert "sum up week {param.week}" in invoke("procedure", "show", "weekly").stdout
    assert "read week {param.week}" in invoke("procedure", "show", "weekly@1").stdout


@pytest.mark.usefixtures("weekly")
def test_what_is_left_as_it_is_stores_nothing(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor(monkeypatch, "")
    result = invoke("procedure", "edit", "weekly")
    assert result.exit_code == 0, result.stderr
    assert "weekly@1 is as it was: nothing is stored." in result.stdout
    assert "weekly@2" not in invoke("procedure", "list").stdout


@pytest.mark.usefixtures("weekly")
def test_what_can_not_be_stored_is_opened_again_with_the_problem(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # The second time it is there, the line with the problem is: then the mistake is mended.
    script = tmp_path / "editor.sh"
    script.write_text(
        'if grep -q "^# ERROR: " "$1"\n'
        'then sed -i "s/agent: Nobody/agent: Reader/; s/read week/sum up week/" "$1"\n'
        'else sed -i "s/agent: Reader/agent: Nobody/" "$1"\n'
        "fi\n",
        "utf-8",
    )
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", f"sh {script}")
    result = invoke("procedure", "edit", "weekly")
    assert result.exit_code == 0, result.stderr
    assert "Nobody" in result.stderr
    assert result.stdout.startswith("weekly@2 (")
    assert "# ERROR" not in invoke("procedure", "show", "weekly").stdout


@pytest.mark.usefixtures("weekly")
def test_the_same_mistake_twice_ends_it_and_stores_nothing(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor(monkeypatch, "s/agent: Reader/agent: Nobody/")
    result = invoke("procedure", "edit", "weekly")
    assert result.exit_code != 0
    assert "Nobody" in result.stderr
    assert "weekly@2" not in invoke("procedure", "list").stdout


@pytest.mark.usefixtures("weekly")
def test_an_editor_that_fails_stores_nothing(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VISUAL", "false")
    result = invoke("procedure", "edit", "weekly")
    assert result.exit_code == 2
    assert "ended with 1" in result.stderr
    assert "The procedure stays." in result.stderr
