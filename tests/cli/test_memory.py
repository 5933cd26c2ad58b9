"""`memory` tells what is remembered, and what it is told to forget is gone."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from prefect_swarm.errors import Category
from prefect_swarm.memory.episode import Episode
from prefect_swarm.memory.persona_store import PersonaStore
from prefect_swarm.memory.registry import Evidence
from prefect_swarm.memory.registry_acts import invent, promote
from prefect_swarm.memory.sqlite_log import SqliteLog
from samples import episode

from .conftest import Invoke

RUN = "0192f0c4-7a41-4d3e-9b1c-aaaaaaaaaaaa"
WORD = "xylophone"
FAILED = episode(
    run=RUN,
    prompt="Write a function that makes a slug of a title",
    objective="A slug",
    succeeded=False,
    category=Category.LOGIC,
    error="gate unit: line 1: slugify('x') gave 'y'",
    decision="RETRY",
    rule="LOGIC",
    reward=-0.5,
    downstream=("S2",),
)
MENDED = FAILED.model_copy(
    update={"attempt": 2, "succeeded": True, "category": None, "error": "", "decision": None}
    | {"cause": "RETRY", "used": (FAILED.key,), "reward": 1.0}
)
TESTED = episode(
    run=RUN, step="S2", prompt="Test the slug", persona="test-engineer", upstream=("S1",)
)
OTHER = episode(7, prompt=f"Describe how a {WORD} sounds", persona="teacher")
ALL = (FAILED, MENDED, TESTED, OTHER)


def fill(home: Path, *episodes: Episode) -> None:
    log = SqliteLog(home / "memory" / "episodes.sqlite")
    log.append(episodes)
    log.close()


@pytest.fixture
def filled(swarm_home: Path) -> Path:
    """A memory of two runs."""
    fill(swarm_home, *ALL)
    return swarm_home


def told(invoke: Invoke, *arguments: object, **more: Any) -> dict[str, Any]:
    result = invoke("memory", *arguments, "--json", **more)
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def bytes_below(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_help_waits_for_nothing_of_the_memorys() -> None:
    heavy = ("numpy", "faiss", "kuzu", "wordllama", "psycopg")
    code = f"""
import sys
from prefect_swarm.cli import main
sys.argv = ["prefect-swarm", "memory", "--help"]
try:
    main()
except SystemExit as left:
    assert not left.code
print(sorted(set({heavy!r}) & set(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.splitlines()[-1] == "[]"


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
    assert told(invoke, "stats")["episodes"] == 0
    assert told(invoke, "search", "x")["matches"] == []
    assert told(invoke, "show", "x")["episodes"] == []


def test_stats_count_by_namespace_and_type(filled: Path, invoke: Invoke) -> None:
    fill(filled, episode(9, namespace="ours", task_type="doc/text"))
    whole = told(invoke, "stats")
    assert (whole["episodes"], whole["runs"], whole["success_rate"]) == (5, 3, 0.8)
    assert whole["by_namespace"]["ours"] == {"episodes": 1, "succeeded": 1}
    assert whole["by_task_type"]["chat/text"] == {"episodes": 4, "succeeded": 3}
    assert whole["bytes"]["log"] > 0
    assert told(invoke, "stats", "--namespace", "ours")["episodes"] == 1
    assert "5 episodes of 3 runs" in invoke("memory", "stats").stdout


def test_stats_say_what_the_index_stands_at(filled: Path, invoke: Invoke) -> None:
    assert told(invoke, "stats")["index"]["newer"] == 4
    assert told(invoke, "rebuild")["episodes"] == 4
    fill(filled, episode(8))
    index = told(invoke, "stats")["index"]
    assert (index["generation"], index["position"], index["newer"]) == (1, 4, 1)
    assert index["embedder"].startswith("wordllama/")
    assert (index["damage"], index["void"]) == (None, None)


def test_damage_is_said_and_a_rebuild_mends_it(filled: Path, invoke: Invoke) -> None:
    told(invoke, "rebuild")
    (filled / "memory" / "current").write_text("1 nonsense\n")
    assert "current" in told(invoke, "stats")["index"]["damage"]
    said = invoke("memory", "stats").stdout
    assert "Index: damaged" in said
    assert "prefect-swarm memory rebuild" in said
    assert "current" in told(invoke, "rebuild")["damage"]
    assert told(invoke, "stats")["index"]["damage"] is None


def test_search_finds_the_most_similar_first(filled: Path, invoke: Invoke) -> None:
    found = told(invoke, "search", "the sound of a xylophone", "--limit", 2)["matches"]
    assert len(found) == 2
    assert (found[0]["run"], found[0]["persona"]) == (OTHER.run, "teacher")
    assert found[0]["similarity"] > found[1]["similarity"]
    assert "teacher" in invoke("memory", "search", "xylophone").stdout


def test_nothing_is_searched_across_namespaces(filled: Path, invoke: Invoke) -> None:
    assert told(invoke, "search", "slug", "--namespace", "ours")["matches"] == []
    assert invoke("memory", "show", RUN, "--namespace", "ours").exit_code == 0
    assert told(invoke, "show", RUN, "--namespace", "ours")["episodes"] == []


def test_search_for_nothing_is_refused(invoke: Invoke) -> None:
    result = invoke("memory", "search", " ")
    assert (result.exit_code, "The text is empty." in result.stderr) == (2, True)


def test_a_name_that_is_no_embedder_is_refused(invoke: Invoke) -> None:
    result = invoke("memory", "search", "x", "--embedder", "nonsense")
    assert (result.exit_code, "names no embedder" in result.stderr) == (2, True)


@pytest.mark.parametrize("run", [RUN, "0192f0c47a41", RUN.replace("-", "")])
def test_a_run_is_shown_by_either_name(run: str, filled: Path, invoke: Invoke) -> None:
    assert len(told(invoke, "show", run)["episodes"]) == 3


@pytest.mark.parametrize(
    ("name", "attempts"), [("S1", 2), ("s1", 2), ("S1.2", 1), ("S2", 1), ("S2.1", 1)]
)
def test_a_step_or_an_attempt_is_shown(
    name: str, attempts: int, filled: Path, invoke: Invoke
) -> None:
    assert len(told(invoke, "show", f"{RUN}/{name}")["episodes"]) == attempts


def test_show_has_every_field_what_was_used_and_what_mended_it(
    filled: Path, invoke: Invoke
) -> None:
    told(invoke, "rebuild")
    found = told(invoke, "show", RUN)
    failed, mended, _ = found["episodes"]
    assert set(Episode.model_fields) <= set(failed)
    assert (failed["mended_by"]["cause"], failed["mended_by"]["outcome"]) == ("RETRY", "succeeded")
    assert failed["known_mitigations"][0]["worked"] == 1
    assert (mended["used"][0]["name"], mended["used"][0]["outcome"]) == (
        "0192f0c47a41/S1.1",
        "LOGIC",
    )
    assert found["derived_from"]["S1"] == []
    assert [source["step"] for source in found["derived_from"]["S2"]] == ["S1"]


def test_show_as_text_tells_the_same(filled: Path, invoke: Invoke) -> None:
    told(invoke, "rebuild")
    lines = invoke("memory", "show", RUN).stdout.splitlines()
    assert "0192f0c47a41/S1.1 python-engineer: LOGIC" in lines
    assert "mended by    RETRY, in 0192f0c47a41/S1.2" in lines
    assert "known        RETRY has mended such a failure 1 of 1 times" in lines
    assert "S2: S1 by python-engineer" in lines


def test_without_a_graph_show_says_how_to_get_one(filled: Path, invoke: Invoke) -> None:
    assert told(invoke, "show", RUN)["derived_from"] is None
    assert "prefect-swarm memory rebuild" in invoke("memory", "show", RUN).stdout


@pytest.mark.parametrize("name", ["nobody", f"{RUN}/S9", f"{RUN}/S1.9", f"{RUN}/S1.x"])
def test_what_is_not_there_is_named(name: str, filled: Path, invoke: Invoke) -> None:
    result = invoke("memory", "show", name)
    assert result.exit_code == 2
    assert "Error:" in result.stderr


def test_what_is_exported_can_be_imported_and_twice_is_once(
    filled: Path, tmp_path: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "memory.jsonl"
    assert invoke("memory", "export", file).exit_code == 0
    lines = file.read_text("utf-8").splitlines()
    assert [Episode.model_validate_json(line) for line in lines] == [*ALL]
    assert told(invoke, "import", file) == {"read": 4, "imported": 0, "there_already": 4}
    monkeypatch.setenv("PREFECT_INTEGRATIONS_SWARM_HOME", str(tmp_path / "another"))
    assert told(invoke, "import", file)["imported"] == 4
    assert told(invoke, "import", file)["imported"] == 0
    assert told(invoke, "stats")["episodes"] == 4


def test_it_goes_through_pipes_and_into_another_namespace(filled: Path, invoke: Invoke) -> None:
    text = invoke("memory", "export", "-").stdout
    done = told(invoke, "import", "-", "--namespace", "ours", stdin=text)
    assert done["imported"] == 4
    assert told(invoke, "stats", "--namespace", "ours")["episodes"] == 4


@pytest.mark.parametrize(
    ("bad", "said"),
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
    bad: str, said: str, swarm_home: Path, tmp_path: Path, invoke: Invoke
) -> None:
    file = tmp_path / "memory.jsonl"
    file.write_text("\n".join([TESTED.model_dump_json(), bad, OTHER.model_dump_json()]), "utf-8")
    result = invoke("memory", "import", file)
    assert result.exit_code == 2
    assert "Nothing was imported" in result.stderr
    assert said in result.stderr
    assert told(invoke, "stats")["episodes"] == 0


def test_files_that_can_not_be_used_are_named(filled: Path, tmp_path: Path, invoke: Invoke) -> None:
    for arguments in (["import", tmp_path / "gone"], ["export", tmp_path / "gone" / "file"]):
        result = invoke("memory", *arguments)
        assert result.exit_code == 2
        assert "gone" in result.stderr


@pytest.mark.parametrize(
    ("conditions", "left"),
    [
        (["--run", "0192f0c47a41"], [OTHER]),
        (["--run", RUN, "--step", "S2"], [FAILED, MENDED, OTHER]),
        (["--persona", "teacher"], [FAILED, MENDED, TESTED]),
        (["--before", "1970-01-02T00:00Z"], []),
        (["--before", "1960-01-02"], [*ALL]),
        (["--containing", WORD.upper()], [FAILED, MENDED, TESTED]),
        (["--everything"], []),
    ],
)
def test_what_is_meant_is_forgotten_and_no_more(
    conditions: list[str], left: list[Episode], filled: Path, invoke: Invoke
) -> None:
    done = told(invoke, "forget", *conditions, "--yes")
    assert done["forgotten"] == len(ALL) - len(left)
    lines = invoke("memory", "export", "-").stdout.splitlines()
    assert [Episode.model_validate_json(line) for line in lines] == left


def test_forgotten_texts_are_in_no_file_and_no_answer(filled: Path, invoke: Invoke) -> None:
    failed = FAILED.model_copy(update={"run": "z", "error": f"there is no {WORD} here"})
    fill(filled, failed)
    told(invoke, "rebuild")
    assert WORD.encode() in bytes_below(filled / "memory")
    done = told(invoke, "forget", "--containing", WORD, "--yes")
    assert (done["forgotten"], done["generation"]) == (2, 2)
    assert WORD.encode() not in bytes_below(filled / "memory")
    index = told(invoke, "stats")["index"]
    assert (index["newer"], index["void"]) == (0, None)
    assert len(told(invoke, "search", WORD)["matches"]) == 3


def test_another_namespace_keeps_what_it_has(filled: Path, invoke: Invoke) -> None:
    fill(filled, FAILED.model_copy(update={"namespace": "ours"}))
    told(invoke, "forget", "--everything", "--yes")
    assert told(invoke, "stats")["by_namespace"] == {"ours": {"episodes": 1, "succeeded": 0}}


def test_nobody_asked_is_nothing_removed(filled: Path, invoke: Invoke) -> None:
    result = invoke("memory", "forget", "--everything")
    assert result.exit_code == 2
    assert "4 episodes would be forgotten" in result.stderr
    assert told(invoke, "stats")["episodes"] == 4


@pytest.mark.parametrize(("answer", "left"), [("n\n", 4), ("", 4), ("y\n", 1)])
def test_on_a_terminal_it_shows_how_many_and_asks(
    answer: str, left: int, filled: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prefect_swarm.cli.memory_forget.asks", lambda: True)
    result = invoke("memory", "forget", "--run", RUN, stdin=answer)
    assert "3 episodes will be forgotten for good." in result.stdout
    assert result.exit_code == (0 if left == 1 else 1)
    assert told(invoke, "stats")["episodes"] == left


@pytest.mark.parametrize(
    ("conditions", "said"),
    [
        ([], "Nothing says what to forget."),
        (["--before", "soon"], "which is no date"),
        (["--run", " "], "--run is empty"),
        (["--everything", "--step", "S1"], "--everything was given with a condition"),
    ],
)
def test_what_is_unclear_is_refused(
    conditions: list[str], said: str, filled: Path, invoke: Invoke
) -> None:
    result = invoke("memory", "forget", *conditions, "--yes")
    assert (result.exit_code, said in result.stderr) == (2, True)
    assert told(invoke, "stats")["episodes"] == 4


def invented(home: Path) -> PersonaStore:
    """A persona that an orchestrator invented, promoted on evidence of two attempts."""
    store = PersonaStore(home / "memory" / "personas.sqlite", home / "personas")
    prompt = f"You play the {WORD} and write about it."
    change = store.decide(
        "default", lambda known: invent(known, "Musician Zed", prompt, "chat/text", at=1.0)
    )
    assert change is not None
    found = Evidence(
        successes=2,
        failures=0,
        rate=1.0,
        low=0.5,
        high=1.0,
        baseline=0.4,
        baseline_samples=9,
        task_types={"chat/text": 2},
        episodes=(MENDED.key, OTHER.key),
    )
    store.decide(
        "default",
        lambda known: promote(known, change.persona, at=2.0).model_copy(
            update={"by": "review", "held": False, "evidence": found, "reason": "did well"}
        ),
    )
    return store


def test_evidence_loses_the_forgotten_keys_and_nothing_else(filled: Path, invoke: Invoke) -> None:
    store = invented(filled)
    before = store.changes("default")
    assert told(invoke, "forget", "--run", RUN, "--yes")["decisions"] == 1
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
    invented(filled).close()
    assert told(invoke, "forget", *conditions, "--yes")["personas"] == ["musician-zed"]
    names = {one["name"] for one in told(invoke, "personas")["personas"]}
    assert "musician-zed" not in names
    assert b"You play the" not in bytes_below(filled / "memory")


def test_vacuum_says_what_is_left(filled: Path, invoke: Invoke) -> None:
    sizes = told(invoke, "vacuum")
    assert 0 < sizes["bytes"] <= sizes["bytes_before"]


def test_personas_are_listed_with_their_record_and_evidence(filled: Path, invoke: Invoke) -> None:
    invented(filled).close()
    found = {one["name"]: one for one in told(invoke, "personas")["personas"]}
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
        told(invoke, "persona", "retire", "Judge", "--reason", "too strict")["after"] == "retired"
    )
    shown = told(invoke, "persona", "show", "judge")
    assert (shown["status"], shown["held"], shown["why"]) == ("retired", True, "too strict")
    assert "judge: retired → active." in invoke("memory", "persona", "restore", "judge").stdout
    assert told(invoke, "persona", "undo", "judge")["after"] == "retired"
    assert told(invoke, "persona", "show", "judge", "--namespace", "ours")["status"] == "active"


def test_a_persona_is_shown_with_its_instructions_and_decisions(
    filled: Path, invoke: Invoke
) -> None:
    invented(filled).close()
    text = invoke("memory", "persona", "show", "Musician Zed").stdout
    assert f"You play the {WORD}" in text
    assert "candidate → promoted. did well (2 of 2 attempts, 100%, surely 50% to 100%" in text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["retire", "nobody"], "There is no persona 'nobody'."),
        (["promote", "judge"], "only an invented one is promoted"),
        (["restore", "judge"], "is not retired"),
        (["undo", "judge"], "Nothing was decided"),
        (["show", "nobody"], "There is no persona 'nobody'."),
    ],
)
def test_what_can_not_be_decided_says_why(arguments: list[str], said: str, invoke: Invoke) -> None:
    result = invoke("memory", "persona", *arguments)
    assert (result.exit_code, said in result.stderr) == (2, True)


def test_a_damaged_log_is_named(swarm_home: Path, invoke: Invoke) -> None:
    (swarm_home / "memory").mkdir(parents=True)
    (swarm_home / "memory" / "episodes.sqlite").write_text("no database\n" * 400)
    result = invoke("memory", "stats")
    assert result.exit_code == 1
    assert "episodes.sqlite is damaged" in result.stderr


def test_logs_longer_than_a_portion_are_counted_whole(swarm_home: Path, invoke: Invoke) -> None:
    fill(swarm_home, *(episode(number) for number in range(2001)))
    assert told(invoke, "stats")["episodes"] == 2001
