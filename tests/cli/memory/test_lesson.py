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
    assert (result.exit_code, "Nothing is remembered of" in result.stderr) == (2, True)


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
