"""`memory forget --everywhere` reaches run folders, gate results and Prefect's local results."""

from __future__ import annotations

import fcntl
import json
from pathlib import Path
from typing import Any

import pytest
from memory_commands import RUN, WORD, memory_json
from prefect_swarm import forget
from prefect_swarm.memory.erasure import result_storage

from ..conftest import Invoke

OTHER_RUN = "11111111-2222-4333-8444-555555555555"
SHORT, OTHER_SHORT = "0192f0c47a41", "111111112222"
NAMES = [f"{RUN}.hash.S1.1.aa", f"{OTHER_RUN}.hash.S1.1.bb", "0" * 32, "1" * 32, "2" * 32]


def run_folder(home: Path, flow_run_id: str, text: str, namespace: str = "default") -> Path:
    folder = home / "runs" / flow_run_id.replace("-", "")[:12]
    for below in ("transcripts", "outputs"):
        (folder / below).mkdir(parents=True)
    about: dict[str, Any] = {"flow_run_id": flow_run_id, "objective": "x", "started_at": 5.0}
    about["options"] = {"namespace": namespace}
    (folder / "run.json").write_text(json.dumps(about))
    (folder / "lock").touch()
    (folder / "transcripts" / "S1.1.json").write_text(json.dumps({"prompt": text}))
    return folder


@pytest.fixture
def home(filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two runs, of which one has the word, with what Prefect stored of them and of others."""
    run_folder(filled, RUN, "Write a slug")
    run_folder(filled, OTHER_RUN, f"Play the \u00e9tude on a {WORD.upper()}")
    (filled / "gates" / "lint").mkdir(parents=True)
    (filled / "gates" / "lint" / "aa.json").write_text("{}")
    (filled / "prefixes" / "model").mkdir(parents=True)
    (filled / "prefixes" / "model" / "aa.prefix").write_bytes(b"tokens")
    (storage := tmp_path / "storage").mkdir()
    monkeypatch.setattr("prefect_swarm.memory.erasure.result_storage", lambda: storage)
    nested = json.dumps({"__class__": "prefect_swarm.store.result.SwarmResult", "run_id": SHORT})
    texts = [
        json.dumps({"result": json.dumps({"text": "a slug"})}),
        json.dumps({"result": json.dumps({"text": f"\u00e9tude on a {WORD}"})}),
        json.dumps({"result": nested}),
        json.dumps({"result": json.dumps({"__exc_type__": "prefect_swarm.x", "message": WORD})}),
        json.dumps({"result": f"another flow's {WORD}"}),
    ]
    for name, text in zip(NAMES, texts, strict=True):
        (storage / name).write_text(text)
    return filled


def left(home: Path) -> tuple[set[str], set[str]]:
    storage = home.parent / "storage"
    runs = {path.name for path in (home / "runs").iterdir()}
    return runs, {path.name for path in storage.iterdir()}


def test_a_text_goes_from_all_that_has_it_and_is_ours(home: Path, invoke: Invoke) -> None:
    done = memory_json(invoke, "forget", "--containing", WORD, "--everywhere", "--yes")
    assert done["elsewhere"] == {"runs": 1, "results": 2, "gates": 1, "prefixes": 1, "executed": []}
    assert left(home) == ({SHORT}, {NAMES[0], NAMES[2], NAMES[4]})
    assert not [*(home / "gates").rglob("*.json"), *(home / "prefixes").rglob("*.prefix")]
    again = memory_json(invoke, "forget", "--containing", WORD, "--everywhere", "--yes")
    assert (again["forgotten"], again["elsewhere"]["runs"]) == (0, 0)


@pytest.mark.parametrize("name", [RUN, SHORT])
def test_a_run_goes_with_its_results(name: str, home: Path, invoke: Invoke) -> None:
    done = memory_json(invoke, "forget", "--run", name, "--everywhere", "--yes")
    assert (done["forgotten"], done["elsewhere"]["runs"], done["elsewhere"]["results"]) == (3, 1, 2)
    assert left(home) == ({OTHER_SHORT}, {NAMES[1], NAMES[3], NAMES[4]})


def test_a_text_that_is_escaped_is_found_too(home: Path, invoke: Invoke) -> None:
    done = memory_json(invoke, "forget", "--containing", "\u00e9tude", "--everywhere", "--yes")
    assert (done["forgotten"], done["elsewhere"]["runs"], done["elsewhere"]["results"]) == (0, 1, 1)


def test_everything_is_that_of_the_namespace(home: Path, invoke: Invoke) -> None:
    theirs = run_folder(home, "99999999-2222-4333-8444-555555555555", "theirs", "theirs")
    memory_json(invoke, "forget", "--everything", "--everywhere", "--yes")
    assert left(home) == ({theirs.name}, {NAMES[3], NAMES[4]})


def test_before_means_when_a_run_was_started(home: Path, invoke: Invoke) -> None:
    asked = ("forget", "--before", "1970-01-01T00:00:05Z", "--everywhere", "--yes")
    assert memory_json(invoke, *asked)["elsewhere"]["runs"] == 0
    later = ("forget", "--before", "1970-01-01T00:00:06Z", "--everywhere", "--yes")
    assert memory_json(invoke, *later)["elsewhere"]["runs"] == 2


def test_a_run_that_is_executed_stays_and_is_named(home: Path, invoke: Invoke) -> None:
    with (home / "runs" / OTHER_SHORT / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        result = invoke("memory", "forget", "--containing", WORD, "--everywhere", "--yes")
    assert result.exit_code == 0
    assert f"Run {OTHER_SHORT} is being executed and stays." in result.stdout
    runs, results = left(home)
    assert OTHER_SHORT in runs
    assert NAMES[1] in results


def test_it_is_shown_and_confirmed_before_anything_goes(
    home: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = left(home)
    refused = invoke("memory", "forget", "--containing", WORD, "--everywhere")
    assert refused.exit_code == 2
    monkeypatch.setattr("prefect_swarm.cli.memory.transfer.asks", lambda: True)
    result = invoke("memory", "forget", "--containing", WORD, "--everywhere", stdin="n\n")
    for shown in (refused.stderr, result.stdout):
        assert "2 stored results; 1 cached gate result; 1 stored prompt w" in shown
    assert left(home) == before


def test_without_it_nothing_outside_the_memory_goes(home: Path, invoke: Invoke) -> None:
    before = left(home)
    result = invoke("memory", "forget", "--containing", WORD, "--yes")
    assert "unless --everywhere is given" in result.stdout
    assert left(home) == before


def test_parts_of_runs_are_not_chosen(home: Path, invoke: Invoke) -> None:
    result = invoke("memory", "forget", "--persona", "teacher", "--everywhere", "--yes")
    assert result.exit_code == 2
    assert "--everywhere was given with --persona" in result.stderr
    assert memory_json(invoke, "stats")["episodes"] == 4


def test_from_python_it_says_how_much_went(home: Path) -> None:
    done = forget(containing=WORD, everywhere=True)
    assert done.elsewhere is not None
    assert (done.episodes, done.elsewhere.runs, done.elsewhere.results) == (1, 1, 2)


def test_the_storage_is_prefects_own(tmp_path: Path) -> None:
    from prefect.settings import PREFECT_LOCAL_STORAGE_PATH, temporary_settings

    with temporary_settings({PREFECT_LOCAL_STORAGE_PATH: tmp_path / "results"}):
        assert result_storage() == tmp_path / "results"
