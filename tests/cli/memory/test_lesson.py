"""`memory lesson` shows what a lesson is made of; `memory persona NAME` a record over time."""

from __future__ import annotations

from pathlib import Path

from memory_commands import FAILED, REPAIRED, RUN, fill, invent_persona, memory_json
from samples import episode

from ..conftest import Invoke

RUN_NAME = RUN.replace("-", "")[:12]


def test_a_step_s_lesson_is_that_of_its_last_attempt(filled: Path, invoke: Invoke) -> None:
    found = memory_json(invoke, "lesson", f"{RUN_NAME}/S1")["lesson"]
    assert found["attempt"] == f"{RUN_NAME}/S1.2"
    assert found["made_of"]["prompt"] == REPAIRED.prompt
    assert [each["outcome"] for each in found["alike"]] == ["LOGIC"]


def test_a_lesson_names_the_attempts_that_it_was_shown_to(filled: Path, invoke: Invoke) -> None:
    fill(filled, episode(9, used=(REPAIRED.key,), namespace="default"))
    text = invoke("memory", "lesson", f"{RUN_NAME}/S1.2").stdout
    assert "Succeeded with it      1 of 1 attempt" in text
    assert "run-9/S1.1" in text
    shown = memory_json(invoke, "lesson", f"{RUN_NAME}/S1.1")["lesson"]
    assert [each["attempt"] for each in shown["shown_to"]] == [f"{RUN_NAME}/S1.2"]
    assert shown["made_of"]["error"] == FAILED.error


def test_an_empty_memory_has_no_lesson(invoke: Invoke) -> None:
    assert "is empty" in invoke("memory", "lesson", "x/S1").stdout
    assert memory_json(invoke, "lesson", "x/S1")["lesson"] is None


def test_an_attempt_that_is_not_there_is_named(filled: Path, invoke: Invoke) -> None:
    result = invoke("memory", "lesson", f"{RUN_NAME}/S9")
    assert (result.exit_code, "The memory has nothing about" in result.stderr) == (2, True)


def test_a_persona_s_name_alone_shows_it(filled: Path, invoke: Invoke) -> None:
    shown = invoke("memory", "persona", "python-engineer")
    assert shown.stdout == invoke("memory", "persona", "show", "python-engineer").stdout
    assert "Success over time" in shown.stdout
    assert "●" in shown.stdout
    assert "By type of task" in shown.stdout


def test_a_persona_s_record_over_time_is_data_too(filled: Path, invoke: Invoke) -> None:
    found = memory_json(invoke, "persona", "python-engineer")
    assert [each["succeeded"] for each in found["over_time"]] == [0, 1]
    assert (found["attempts"], found["succeeded"]) == (2, 1)


def test_a_persona_without_attempts_has_no_plot(filled: Path, invoke: Invoke) -> None:
    invent_persona(filled).close()
    assert "Success over time" not in invoke("memory", "persona", "Musician Zed").stdout


def test_a_persona_s_page_is_a_file_of_its_own(
    filled: Path, invoke: Invoke, tmp_path: Path
) -> None:
    path = tmp_path / "engineer.html"
    done = invoke("memory", "persona", "python-engineer", "--html", path)
    assert done.stdout == f"Written to {path}\n"
    document = path.read_text("utf-8")
    assert "<h1>Python Engineer (python-engineer): active, shipped</h1>" in document
    assert document.count("<circle") == 2
    assert "http://" not in document.replace("http://www.w3.org/2000/svg", "")


def test_a_lesson_s_file_has_no_power_of_what_models_wrote_and_no_secret(
    swarm_home: Path, invoke: Invoke, tmp_path: Path
) -> None:
    key = "sk-proj-" + "a1B2" * 8
    fill(swarm_home, episode(1, prompt="<script>x</script>", excerpt=f"use {key}"))
    path = tmp_path / "lesson.html"
    assert invoke("memory", "lesson", "run-1/S1", "--html", path).exit_code == 0
    document = path.read_text("utf-8")
    assert "<script>" not in document
    assert key not in document


def test_a_file_in_no_folder_is_refused(filled: Path, invoke: Invoke, tmp_path: Path) -> None:
    path = tmp_path / "none" / "page.html"
    result = invoke("memory", "persona", "judge", "--html", path)
    assert (result.exit_code, "in a folder that isn't there" in result.stderr) == (2, True)
