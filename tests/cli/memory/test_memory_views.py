"""`memory stats`, `search` and `show` tell what is remembered."""

from __future__ import annotations

from pathlib import Path

import pytest
from memory_commands import (
    OTHER,
    RUN,
    fill,
    memory_json,
)
from prefect_swarm.memory.episode import Episode
from samples import episode

from ..conftest import Invoke, loaded_by


def test_help_waits_for_nothing_of_the_memorys() -> None:
    heavy = ("numpy", "faiss", "kuzu", "wordllama", "psycopg")
    assert loaded_by("memory", "--help", of=heavy) == "[]"


@pytest.mark.parametrize(
    "arguments",
    [
        ["stats"],
        ["search", "anything"],
        ["show", "0123abcd0000"],
        ["export", "-"],
        ["vacuum"],
        ["forget", "--everything", "--yes"],
    ],
)
def test_an_empty_memory_is_no_error(arguments: list[str], invoke: Invoke) -> None:
    result = invoke("memory", *arguments)
    assert result.exit_code == 0
    if arguments[0] in ("stats", "search", "show"):
        assert "is empty: nothing has been remembered yet." in result.stdout


def test_an_empty_memory_as_json_has_no_episodes(invoke: Invoke) -> None:
    assert memory_json(invoke, "stats")["episodes"] == 0
    assert memory_json(invoke, "search", "x")["matches"] == []
    assert memory_json(invoke, "show", "x")["episodes"] == []


def test_stats_count_by_namespace_and_type(filled: Path, invoke: Invoke) -> None:
    fill(filled, episode(9, namespace="ours", task_type="doc/text"))
    whole = memory_json(invoke, "stats")
    assert (whole["episodes"], whole["runs"], whole["success_rate"]) == (5, 3, 0.8)
    assert whole["by_namespace"]["ours"] == {"episodes": 1, "succeeded": 1}
    assert whole["by_task_type"]["chat/text"] == {"episodes": 4, "succeeded": 3}
    assert whole["bytes"]["log"] > 0
    assert memory_json(invoke, "stats", "--namespace", "ours")["episodes"] == 1
    assert "5 episodes of 3 runs" in invoke("memory", "stats").stdout


def test_stats_say_what_the_index_stands_at(filled: Path, invoke: Invoke) -> None:
    assert memory_json(invoke, "stats")["index"]["newer"] == 4
    assert memory_json(invoke, "rebuild")["episodes"] == 4
    fill(filled, episode(8))
    index = memory_json(invoke, "stats")["index"]
    assert (index["generation"], index["position"], index["newer"]) == (1, 4, 1)
    assert index["embedder"].startswith("wordllama/")
    assert (index["damage"], index["void"]) == (None, None)


def test_damage_is_said_and_a_rebuild_mends_it(filled: Path, invoke: Invoke) -> None:
    memory_json(invoke, "rebuild")
    (filled / "memory" / "current").write_text("1 nonsense\n")
    assert "current" in memory_json(invoke, "stats")["index"]["damage"]
    output = invoke("memory", "stats").stdout
    assert "Index: damaged" in output
    assert "prefect-swarm memory rebuild" in output
    assert "current" in memory_json(invoke, "rebuild")["damage"]
    assert memory_json(invoke, "stats")["index"]["damage"] is None


def test_search_finds_the_most_similar_first(filled: Path, invoke: Invoke) -> None:
    found = memory_json(invoke, "search", "the sound of a xylophone", "--limit", 2)["matches"]
    assert len(found) == 2
    assert (found[0]["run"], found[0]["persona"]) == (OTHER.run, "teacher")
    assert found[0]["similarity"] > found[1]["similarity"]
    assert "teacher" in invoke("memory", "search", "xylophone").stdout


def test_nothing_is_searched_across_namespaces(filled: Path, invoke: Invoke) -> None:
    assert memory_json(invoke, "search", "slug", "--namespace", "ours")["matches"] == []
    assert invoke("memory", "show", RUN, "--namespace", "ours").exit_code == 0
    assert memory_json(invoke, "show", RUN, "--namespace", "ours")["episodes"] == []


def test_search_for_nothing_is_refused(invoke: Invoke) -> None:
    result = invoke("memory", "search", " ")
    assert (result.exit_code, "The text is empty." in result.stderr) == (2, True)


def test_a_name_that_is_no_embedder_is_refused(invoke: Invoke) -> None:
    result = invoke("memory", "search", "x", "--embedder", "nonsense")
    assert (result.exit_code, "There is no embedder" in result.stderr) == (2, True)


@pytest.mark.parametrize("run", [RUN, "0192f0c47a41", RUN.replace("-", "")])
def test_a_run_is_shown_by_either_name(run: str, filled: Path, invoke: Invoke) -> None:
    assert len(memory_json(invoke, "show", run)["episodes"]) == 3


@pytest.mark.parametrize(
    ("name", "attempts"), [("S1", 2), ("s1", 2), ("S1.2", 1), ("S2", 1), ("S2.1", 1)]
)
def test_a_step_or_an_attempt_is_shown(
    name: str, attempts: int, filled: Path, invoke: Invoke
) -> None:
    assert len(memory_json(invoke, "show", f"{RUN}/{name}")["episodes"]) == attempts


def test_show_has_every_field_what_was_used_and_what_repaired_it(
    filled: Path, invoke: Invoke
) -> None:
    memory_json(invoke, "rebuild")
    found = memory_json(invoke, "show", RUN)
    failed, repaired, _ = found["episodes"]
    assert set(Episode.model_fields) <= set(failed)
    assert (failed["repaired_by"]["cause"], failed["repaired_by"]["outcome"]) == (
        "RETRY",
        "succeeded",
    )
    assert failed["known_mitigations"][0]["worked"] == 1
    assert (repaired["used"][0]["name"], repaired["used"][0]["outcome"]) == (
        "0192f0c47a41/S1.1",
        "LOGIC",
    )
    assert found["derived_from"]["S1"] == []
    assert [source["step"] for source in found["derived_from"]["S2"]] == ["S1"]


def test_show_as_text_tells_the_same(filled: Path, invoke: Invoke) -> None:
    memory_json(invoke, "rebuild")
    lines = invoke("memory", "show", RUN).stdout.splitlines()
    assert "0192f0c47a41/S1.1 python-engineer: LOGIC" in lines
    assert "repaired by  RETRY, in 0192f0c47a41/S1.2" in lines
    assert "known        RETRY has repaired such a failure 1 of 1 times" in lines
    assert "S2: S1 by python-engineer" in lines


def test_without_a_graph_show_says_how_to_get_one(filled: Path, invoke: Invoke) -> None:
    assert memory_json(invoke, "show", RUN)["derived_from"] is None
    assert "prefect-swarm memory rebuild" in invoke("memory", "show", RUN).stdout


@pytest.mark.parametrize("name", ["nobody", f"{RUN}/S9", f"{RUN}/S1.9", f"{RUN}/S1.x"])
def test_what_is_not_there_is_named(name: str, filled: Path, invoke: Invoke) -> None:
    result = invoke("memory", "show", name)
    assert result.exit_code == 2
    assert "Error:" in result.stderr


def test_a_damaged_log_is_named(swarm_home: Path, invoke: Invoke) -> None:
    (swarm_home / "memory").mkdir(parents=True)
    (swarm_home / "memory" / "episodes.sqlite").write_text("no database\n" * 400)
    result = invoke("memory", "stats")
    assert result.exit_code == 1
    assert "episodes.sqlite is damaged" in result.stderr


def test_logs_longer_than_a_portion_are_counted_whole(swarm_home: Path, invoke: Invoke) -> None:
    fill(swarm_home, *(episode(number) for number in range(2001)))
    assert memory_json(invoke, "stats")["episodes"] == 2001
