"""`memory forget` removes what its options name."""

from __future__ import annotations

from pathlib import Path

import pytest
from memory_commands import (
    ALL,
    FAILED,
    OTHER,
    REPAIRED,
    RUN,
    TESTED,
    WORD,
    bytes_below,
    fill,
    invent_persona,
    memory_json,
)
from prefect_swarm.memory.episode import Episode
from prefect_swarm.memory.index.generation_store import consolidation_lock
from prefect_swarm.memory.store import Place, Store

from ..conftest import Invoke


@pytest.mark.parametrize(
    ("conditions", "left"),
    [
        (["--run", "0192f0c47a41"], [OTHER]),
        (["--run", RUN, "--step", "S2"], [FAILED, REPAIRED, OTHER]),
        (["--persona", "teacher"], [FAILED, REPAIRED, TESTED]),
        (["--before", "1970-01-02T00:00Z"], []),
        (["--before", "1960-01-02"], [*ALL]),
        (["--containing", WORD.upper()], [FAILED, REPAIRED, TESTED]),
        (["--everything"], []),
    ],
)
def test_what_is_meant_is_forgotten_and_no_more(
    conditions: list[str], left: list[Episode], filled: Path, invoke: Invoke
) -> None:
    done = memory_json(invoke, "forget", *conditions, "--yes")
    assert done["forgotten"] == len(ALL) - len(left)
    lines = invoke("memory", "export", "-").stdout.splitlines()
    assert [Episode.model_validate_json(line) for line in lines] == left


def test_forgotten_texts_are_in_no_file_and_no_answer(filled: Path, invoke: Invoke) -> None:
    failed = FAILED.model_copy(update={"run": "z", "error": f"there is no {WORD} here"})
    fill(filled, failed)
    memory_json(invoke, "rebuild")
    assert WORD.encode() in bytes_below(filled / "memory")
    done = memory_json(invoke, "forget", "--containing", WORD, "--yes")
    assert (done["forgotten"], done["generation"]) == (2, 2)
    assert WORD.encode() not in bytes_below(filled / "memory")
    index = memory_json(invoke, "stats")["index"]
    assert (index["newer"], index["void"]) == (0, None)
    assert len(memory_json(invoke, "search", WORD)["matches"]) == 3


def test_another_namespace_keeps_what_it_has(filled: Path, invoke: Invoke) -> None:
    fill(filled, FAILED.model_copy(update={"namespace": "ours"}))
    memory_json(invoke, "forget", "--everything", "--yes")
    assert memory_json(invoke, "stats")["by_namespace"] == {"ours": {"episodes": 1, "succeeded": 0}}


def test_nobody_asked_is_nothing_removed(filled: Path, invoke: Invoke) -> None:
    result = invoke("memory", "forget", "--everything")
    assert result.exit_code == 2
    assert "4 episodes would be forgotten" in result.stderr
    assert memory_json(invoke, "stats")["episodes"] == 4


@pytest.mark.parametrize(("answer", "left"), [("n\n", 4), ("", 4), ("y\n", 1)])
def test_on_a_terminal_it_shows_how_many_and_asks(
    answer: str, left: int, filled: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prefect_swarm.cli.memory.transfer.asks", lambda: True)
    result = invoke("memory", "forget", "--run", RUN, stdin=answer)
    assert "3 episodes will be forgotten for good." in result.stdout
    assert result.exit_code == (0 if left == 1 else 1)
    assert memory_json(invoke, "stats")["episodes"] == left


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        ([], "Nothing says what to forget."),
        (["--before", "soon"], "which is not a date"),
        (["--run", " "], "--run is empty"),
        (["--everything", "--step", "S1"], "--everything was given with a condition"),
    ],
)
def test_what_is_unclear_is_refused(
    conditions: list[str], message: str, filled: Path, invoke: Invoke
) -> None:
    result = invoke("memory", "forget", *conditions, "--yes")
    assert (result.exit_code, message in result.stderr) == (2, True)
    assert memory_json(invoke, "stats")["episodes"] == 4


def test_evidence_loses_the_forgotten_keys_and_nothing_else(filled: Path, invoke: Invoke) -> None:
    store = invent_persona(filled)
    before = store.changes("default")
    assert memory_json(invoke, "forget", "--run", RUN, "--yes")["decisions"] == 1
    after = store.changes("default")
    store.close()
    kept = before[1].evidence
    assert kept is not None
    scrubbed = kept.model_copy(update={"episodes": (OTHER.key,)})
    assert after == (before[0], before[1].model_copy(update={"evidence": scrubbed}))
    assert RUN.encode() not in bytes_below(filled / "memory")


@pytest.mark.parametrize(
    "conditions", [["--containing", WORD], ["--persona", "musician-zed"], ["--everything"]]
)
def test_an_invented_persona_goes_with_its_prompt(
    conditions: list[str], filled: Path, invoke: Invoke
) -> None:
    invent_persona(filled).close()
    assert memory_json(invoke, "forget", *conditions, "--yes")["personas"] == ["musician-zed"]
    names = {persona["name"] for persona in memory_json(invoke, "personas")["personas"]}
    assert "musician-zed" not in names
    assert b"You play the" not in bytes_below(filled / "memory")


def test_vacuum_says_what_is_left(filled: Path, invoke: Invoke) -> None:
    sizes = memory_json(invoke, "vacuum")
    assert 0 < sizes["bytes"] <= sizes["bytes_before"]


def test_what_was_learned_of_the_forgotten_is_gone_too(filled: Path, invoke: Invoke) -> None:
    store = Store(Place(filled / "memory"))
    store.keep_beliefs("default")
    store.close()
    assert [*(filled / "memory" / "beliefs").iterdir()]
    memory_json(invoke, "forget", "--persona", "teacher", "--yes")
    assert not [*(filled / "memory" / "beliefs").iterdir()]


def test_while_another_process_builds_the_index_it_waits_and_then_says_so(
    filled: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prefect_swarm.memory.store._PATIENCE_S", 0.0)
    with consolidation_lock(filled / "memory") as ours:
        assert ours
        result = invoke("memory", "rebuild")
    assert result.exit_code == 1
    assert "Another process is building the index" in result.stderr


def test_forgetting_that_leaves_the_index_says_so_and_can_be_finished(
    filled: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory_json(invoke, "rebuild")
    monkeypatch.setattr("prefect_swarm.memory.store._PATIENCE_S", 0.0)
    with consolidation_lock(filled / "memory"):
        result = invoke("memory", "forget", "--containing", WORD, "--yes")
    assert result.exit_code == 1
    assert "still on the disk" in result.stderr
    assert memory_json(invoke, "forget", "--containing", WORD, "--yes")["forgotten"] == 0
    assert memory_json(invoke, "stats")["index"]["void"] is None
    assert WORD.encode() not in bytes_below(filled / "memory")
