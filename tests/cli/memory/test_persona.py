"""`memory personas` and `persona` show and decide who there is."""

from __future__ import annotations

from pathlib import Path

import pytest
from memory_commands import (
    WORD,
    invent_persona,
    memory_json,
)

from ..conftest import Invoke


def test_personas_are_listed_with_their_record_and_evidence(filled: Path, invoke: Invoke) -> None:
    invent_persona(filled).close()
    found = {persona["name"]: persona for persona in memory_json(invoke, "personas")["personas"]}
    engineer = found["python-engineer"]
    assert (engineer["status"], engineer["origin"]) == ("active", "shipped")
    assert (engineer["attempts"], engineer["succeeded"]) == (2, 1)
    assert (found["musician-zed"]["status"], found["musician-zed"]["origin"]) == (
        "promoted",
        "invented",
    )
    assert found["musician-zed"]["evidence"]["successes"] == 2
    assert "musician-zed" in invoke("memory", "personas").stdout


def test_a_persona_is_retired_restored_and_undone(filled: Path, invoke: Invoke) -> None:
    assert (
        memory_json(invoke, "persona", "retire", "Judge", "--reason", "too strict")["after"]
        == "retired"
    )
    shown = memory_json(invoke, "persona", "show", "judge")
    assert (shown["status"], shown["held"], shown["why"]) == ("retired", True, "too strict")
    assert "judge: retired → active." in invoke("memory", "persona", "restore", "judge").stdout
    assert memory_json(invoke, "persona", "undo", "judge")["after"] == "retired"
    assert (
        memory_json(invoke, "persona", "show", "judge", "--namespace", "ours")["status"] == "active"
    )


def test_a_persona_is_shown_with_its_instructions_and_decisions(
    filled: Path, invoke: Invoke
) -> None:
    invent_persona(filled).close()
    text = invoke("memory", "persona", "show", "Musician Zed").stdout
    assert f"You play the {WORD}" in text
    assert "candidate → promoted. did well (2 of 2 attempts, 100%, surely 50% to 100%" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["retire", "nobody"], "There is no persona 'nobody'."),
        (["promote", "judge"], "only an invented one is promoted"),
        (["restore", "judge"], "is not retired"),
        (["undo", "judge"], "Nothing was decided"),
        (["show", "nobody"], "There is no persona 'nobody'."),
    ],
)
def test_what_can_not_be_decided_says_why(
    arguments: list[str], message: str, invoke: Invoke
) -> None:
    result = invoke("memory", "persona", *arguments)
    assert (result.exit_code, message in result.stderr) == (2, True)
