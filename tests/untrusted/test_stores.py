"""Stores that others wrote: names lead nowhere else, links aren't followed, nothing waits."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from prefect_swarm.errors import (
    InputError,
    MemoryStoreError,
    RunDamagedError,
    RunNotFoundError,
    StorageError,
)
from prefect_swarm.evals.report import last_report
from prefect_swarm.flows.batch_files import batch_output
from prefect_swarm.flows.prefect_io.task_runs import ResultFolder
from prefect_swarm.flows.stored_plan import finished_step
from prefect_swarm.gates.base import Subject
from prefect_swarm.gates.pipeline import GateCache
from prefect_swarm.memory.erasure import Traces, remove_traces
from prefect_swarm.memory.forgetting import read_mark
from prefect_swarm.memory.index.generation import Damage, read_pointer
from prefect_swarm.memory.learning.beliefs import read_beliefs
from prefect_swarm.memory.personas.model import load_personas
from prefect_swarm.store.accounts import Accounts
from prefect_swarm.store.approvals import Approvals
from prefect_swarm.store.event_log import opened_log
from prefect_swarm.store.events import ReadyEvent
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.question import Answer, Question
from prefect_swarm.toolsets.mcp.configuration import HttpServer
from prefect_swarm.toolsets.mcp.oauth import LoginFile
from prefect_swarm.untrusted import opening
from prefect_swarm.untrusted.folder import UntrustedFolder
from samples import episode
from stored_runs import not_hanging, stored_run
from typer.testing import CliRunner

BAD, GOOD = "00000002-0000-4000-8000-000000000002", "00000001-0000-4000-8000-000000000001"
KEPT = "This is not the run's."
pytestmark = [pytest.mark.usefixtures("quick"), pytest.mark.attack("folders")]


@pytest.fixture
def quick() -> Iterator[None]:
    with not_hanging():
        yield


@pytest.fixture
def victim(tmp_path: Path) -> Iterator[Path]:
    """A folder with a file, which is as it was at the end."""
    (folder := tmp_path / "victim").mkdir()
    (folder / "file.txt").write_text(KEPT)
    yield folder
    assert [path.name for path in folder.iterdir()] == ["file.txt"]
    assert (folder / "file.txt").read_text() == KEPT


LEADING_OUT = [
    *("../victim/x", "../../victim/file.txt", "a/../../victim/x", "/etc/passwd", "a//b", "", "."),
    *("..", "a/", "a\0b", "x" * 300, "/".join("a" * 100), "\ud800", "./x"),
]


@pytest.mark.parametrize("name", LEADING_OUT, ids=ascii)
def test_no_name_leads_out_of_a_run(name: str, tmp_path: Path, victim: Path) -> None:
    run = RunFolder(tmp_path / "run")
    run.write("there", "x")
    writes: list[Callable[[], object]] = [
        lambda: run.write(name, "x"),
        lambda: run.create(name, "x"),
        lambda: run.append(name, {"x": 1}),
        lambda: run.remove(name),
    ]
    for write in writes:
        with pytest.raises(StorageError):
            write()
    with pytest.raises(RunDamagedError):
        run.read(name)
    assert [path.name for path in run.folder.iterdir()] == ["there"]


@pytest.mark.parametrize("name", ["../../../victim/x", "../x", "a/../../../../victim/file.txt"])
def test_an_artifact_of_a_name_that_leads_out_is_not_written(
    name: str, tmp_path: Path, victim: Path
) -> None:
    with pytest.raises(StorageError, match="not a path of a file"):
        RunFolder(tmp_path / "run").write_artifacts("S1", "S1.1", {name: b"x"})


@pytest.mark.parametrize(
    "name", ["artifacts", "artifacts/S1", "artifacts/S1/1", "artifacts/S1/1/d"]
)
def test_what_a_linked_folder_of_artifacts_leads_to_is_not_removed(
    name: str, tmp_path: Path, victim: Path
) -> None:
    run = RunFolder(tmp_path / "run")
    (run.folder / name).parent.mkdir(parents=True)
    (run.folder / name).symlink_to(victim)
    with pytest.raises((RunDamagedError, StorageError), match="is a link"):
        run.write_artifacts("S1", "S1.1", {"x": b"x"})


@pytest.mark.parametrize("use", ["lock", "events.jsonl", "accounts.jsonl"])
def test_what_is_added_to_a_file_goes_through_no_link(
    use: str, swarm_home: Path, victim: Path
) -> None:

    run = stored_run(BAD)
    (run.folder / use).unlink(missing_ok=True)
    (run.folder / use).symlink_to(victim / "file.txt")
    with opened_log(run.folder / "events.jsonl") as log:
        log.add(ReadyEvent(), BAD)
    with pytest.raises(RunDamagedError, match="is a link"), run.exclusive():
        pass
    if use == "accounts.jsonl":
        with pytest.raises(StorageError):
            run.append(use, {"x": 1})


@pytest.mark.parametrize("origin", ["..", "../victim", "/etc", "a/b", "", "x\0"], ids=ascii)
def test_a_step_that_is_taken_from_no_run_is_damaged(origin: str, swarm_home: Path) -> None:
    run = stored_run(BAD, ended=False)
    step: dict[str, Any] = json.loads((run.folder / "steps/S1.json").read_text())
    step["taken_from"] = {"run": origin, "output_ref": "x"}
    (run.folder / "steps/S1.json").write_text(json.dumps(step))
    (run.folder / "outputs/S1.txt").unlink()
    with pytest.raises(RunDamagedError, match="taken_from"):
        finished_step(run, "S1")


@pytest.mark.parametrize("step", ["..", "../../x", "a/b", "", "S1/../../x"])
def test_a_step_whose_id_is_a_path_is_damaged(step: str, swarm_home: Path) -> None:
    run = stored_run(BAD)
    result: dict[str, Any] = json.loads((run.folder / "result.json").read_text())
    result["steps"][0]["id"] = step
    (run.folder / "result.json").write_text(json.dumps(result))
    with pytest.raises(RunDamagedError, match=r"steps\.0\.id"):
        run.result()


@pytest.mark.parametrize("name", ["../../../../../victim", "..", "/", "a/b/c/d/e/f"])
def test_a_flow_run_whose_name_is_a_path_has_no_folder(name: str, swarm_home: Path) -> None:
    with pytest.raises(RunNotFoundError):
        RunFolder.of(name)
    with pytest.raises(RunNotFoundError):
        RunFolder.find(name)


def test_a_fork_doesnt_take_over_what_an_output_is_linked_to(
    swarm_home: Path, victim: Path
) -> None:
    source, fork = stored_run(BAD), RunFolder(swarm_home / "runs" / "fork")
    (source.folder / "outputs/S1.txt").unlink()
    (source.folder / "outputs/S1.txt").symlink_to(victim / "file.txt")
    with pytest.raises(RunDamagedError, match="is a link"):
        fork.take_output("S1", source)
    assert not fork.has("outputs/S1.txt")


@pytest.mark.parametrize("put", ["link", "pipe"])
def test_what_is_put_in_a_files_place_after_it_was_looked_at_is_not_opened(
    put: str, tmp_path: Path, victim: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (path := tmp_path / "run" / "file").parent.mkdir()
    path.write_text("of the run")
    look = opening.require_plain

    def look_and_replace(found: os.stat_result, name: str) -> None:
        look(found, name)
        path.unlink(missing_ok=True)
        if put == "link":
            path.symlink_to(victim / "file.txt")
        else:
            os.mkfifo(path)

    monkeypatch.setattr(opening, "require_plain", look_and_replace)
    with pytest.raises(OSError, match=r"symbolic links|is a pipe"):
        UntrustedFolder(path.parent).read("file")


@pytest.mark.parametrize("level", ["a", "a/b"])
def test_a_folder_that_is_renamed_while_it_is_walked_leads_nowhere_else(
    level: str, tmp_path: Path, victim: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (path := tmp_path / "run" / "a" / "b" / "file.txt").parent.mkdir(parents=True)
    path.write_text("of the run")
    swapped, enter = tmp_path / "run" / level, opening.open_folder

    def enter_and_swap(folder: int, name: str, *, make: bool = False) -> int:
        found = enter(folder, name, make=make)
        if name == swapped.name:
            swapped.rename(tmp_path / "moved")
            swapped.symlink_to(victim)
        return found

    monkeypatch.setattr(opening, "open_folder", enter_and_swap)
    assert UntrustedFolder(tmp_path / "run").read("a/b/file.txt") == b"of the run"


@pytest.mark.parametrize(
    "text",
    [
        '{"question": "S1", "verdict": "approved", "at": NaN}',
        '{"question": "S1", "verdict": "approved", "at": 1e308}',
        '{"question": "S1", "verdict": "rejected", "verdict": "approved"}',
        '{"question": "S1", "verdict": "approved", "why": "\\ud800"}',
        '{"question": "S2", "verdict": "approved"}',
        "[" * 100_000,
        "",
    ],
)
def test_an_answer_that_readers_may_read_otherwise_approves_nothing(
    text: str, tmp_path: Path
) -> None:
    run = RunFolder(tmp_path / "run")
    approvals = Approvals(run)
    approvals.ask(Question(id="S1", asked="step", title="May it?"))
    approvals.answer(Answer(question="S1", verdict="approved"))
    (run.folder / "answers/S1.json").write_text(text)
    assert approvals.decision("S1", "") is None
    with pytest.raises(RunDamagedError):
        approvals.answer_to("S1")


def test_a_question_in_anothers_file_is_not_shown_in_its_place(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    approvals = Approvals(run)
    asked = approvals.ask(Question(id="S1", asked="step", title="Remove all files?"))
    run.write("questions/0.json", asked.model_copy(update={"title": "Read a file?"}))
    assert [question.title for question in approvals.questions()] == ["Remove all files?"]


@pytest.mark.parametrize("put", ["link", "pipe", "folder", "huge"])
@pytest.mark.parametrize("name", ["out.jsonl.runs", "out.jsonl"])
def test_a_batchs_files_are_files(name: str, put: str, tmp_path: Path, victim: Path) -> None:
    path = tmp_path / name
    if put == "link":
        path.symlink_to(victim / ("file.txt" if name.endswith(".runs") else "none"))
    elif put == "pipe":
        os.mkfifo(path)
    elif put == "huge":
        path.touch()
        os.truncate(path, 1 << 40)
    else:
        path.mkdir()
    final = tmp_path / "out.jsonl"
    if put == "link" and name == "out.jsonl":
        with batch_output(final, final, {"a": 1}):
            pass
        return
    with pytest.raises(InputError, match="can't be written"), batch_output(final, final, {"a": 1}):
        pass


@pytest.mark.parametrize(
    "line",
    [
        '{"key": [], "result": 1}',
        '{"key": {"a": 1}}',
        '{"key": "a", "number": NaN}',
        "[" * 100_000,
        '{"line": "a", "run": "../../victim"}',
        '{"line": "a", "run": {"b": 1}}',
        '{"key": "\\ud800"}',
        "\0" * 100,
    ],
)
def test_a_line_of_a_batchs_files_that_says_nothing_is_passed_over(
    line: str, tmp_path: Path
) -> None:
    final = tmp_path / "out.jsonl"
    for name in ("out.jsonl", "out.jsonl.runs"):
        (tmp_path / name).write_text(f"{line}\n")
    with batch_output(final, final, {"a": 1}) as output:
        assert output.completed("a") is None
        assert output.run_of("a") == ""


READERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "the index's pointer": ("current", lambda home: isinstance(read_pointer(home), Damage)),
    "beliefs": (
        "beliefs/37a8eec1ce19687d.json",
        lambda home: read_beliefs(home, "default", 0).position == 0,
    ),
    "a forgetting": ("forgetting.json", lambda home: read_mark(home) is not None),
    "an evaluation": ("evals/cases/1.json", lambda home: refused(lambda: last_report("cases"))),
    "a persona": (
        "personas/a.yaml",
        lambda home: refused(lambda: load_personas(home / "personas")),
    ),
    "a login": ("mcp-logins", lambda home: LoginFile(SERVER).read() is None),
    "a gate's result": (
        "gates",
        lambda home: GateCache(home / "gates").get("lint", "1", Subject(artifact="x")) is None,
    ),
}
SERVER = HttpServer(url="https://example.org/mcp")


def refused(use: Callable[[], object]) -> bool:
    with pytest.raises(InputError):
        use()
    return True


@pytest.mark.parametrize("what", READERS)
def test_a_pipe_in_a_stores_place_is_not_waited_for(what: str, swarm_home: Path) -> None:
    name, read = READERS[what]
    path = swarm_home / name
    if what == "a login":
        path = LoginFile(SERVER).path
    elif what == "a gate's result":
        path = GateCache(swarm_home / "gates")._file("lint", "1", Subject(artifact="x"))  # pyright: ignore[reportPrivateUsage]
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)
    assert read(swarm_home)


@pytest.mark.parametrize("put", ["link", "pipe"])
def test_a_result_of_prefects_is_read_and_written_through_no_link(
    put: str, tmp_path: Path, victim: Path
) -> None:
    (tmp_path / "results").mkdir()
    path, storage = tmp_path / "results" / "key", ResultFolder(basepath=str(tmp_path / "results"))
    if put == "link":
        path.symlink_to(victim / "file.txt")
    else:
        os.mkfifo(path)
    with pytest.raises(ValueError, match="is a"):
        asyncio.run(storage.aread_path("key"))
    asyncio.run(storage.awrite_path("key", b"own"))
    assert asyncio.run(storage.aread_path("key")) == b"own"


@pytest.mark.parametrize("put", ["a link to a run", "a link in a run", "a pipe for a lock"])
def test_forgetting_removes_nothing_elsewhere_and_waits_for_nothing(
    put: str, swarm_home: Path, victim: Path
) -> None:
    run = stored_run(BAD)
    folder = run.folder
    if put == "a link to a run":
        (folder := swarm_home / "runs" / "linked").symlink_to(victim)
        with pytest.raises(MemoryStoreError, match="is a link"):
            remove_traces(Traces(runs=(RunFolder(folder),)))
        return
    if put == "a link in a run":
        (folder / "outputs" / "linked").symlink_to(victim)
    else:
        (folder / "lock").unlink(missing_ok=True)
        os.mkfifo(folder / "lock")
    assert remove_traces(Traces(runs=(RunFolder(folder),))).runs == 1
    assert not folder.exists()


def test_a_run_goes_with_its_copy_of_a_workspace(swarm_home: Path) -> None:
    run = stored_run("completed")
    (copy := swarm_home / "workspaces" / run.run_id).mkdir(parents=True)
    (other := swarm_home / "workspaces" / "other").mkdir()
    (copy / "file").write_text("the user's")
    remove_traces(Traces(runs=(run,)))
    assert (copy.exists(), other.exists()) == (False, True)


LINES: dict[str, dict[str, str]] = {
    "a time without end": {"ended_at": "Infinity"},
    "a time that is none": {"started_at": "NaN"},
    "a time beyond the calendar": {"ended_at": "1e308"},
    "a reward that outweighs all": {"reward": "1e300"},
    "a term that outweighs all": {"terms": '{"success": 1e300}'},
    "a duration of ages": {"duration_s": "1e300"},
    "more tokens than there are": {"input_tokens": "1" + "0" * 400},
    "5,000 digits": {"output_tokens": "1" + "0" * 5000},
    "half of a character": {"prompt": '"\\ud800"'},
    "a field twice": {"prompt": '"a", "prompt": "b"'},
    "deep": {"terms": "[" * 100_000},
}


@pytest.mark.parametrize("changes", LINES.values(), ids=LINES.keys())
def test_an_episode_that_would_spoil_the_memory_is_not_imported(
    changes: dict[str, str], swarm_home: Path, tmp_path: Path
) -> None:
    from prefect_swarm.cli.app import app

    data = json.loads(episode().model_dump_json())
    text = json.dumps({**data, **dict.fromkeys(changes, "HERE")})
    for value in changes.values():
        text = text.replace('"HERE"', value)
    (file := tmp_path / "export.jsonl").write_text(f"{episode().model_dump_json()}\n{text}\n")
    read = CliRunner().invoke(app, ["memory", "import", str(file)])
    assert read.exit_code == 2
    assert "line 2: " in read.stderr
    assert "Internal error" not in read.output
    assert CliRunner().invoke(app, ["memory", "stats"]).exit_code == 0


def test_a_line_without_an_end_is_not_read_whole(swarm_home: Path, tmp_path: Path) -> None:
    from prefect_swarm.cli.app import app

    (file := tmp_path / "export.jsonl").touch()
    os.truncate(file, 1 << 40)
    read = CliRunner().invoke(app, ["memory", "import", str(file)])
    assert read.exit_code == 2
    assert "Line 1" in read.stderr


def test_a_booking_below_nothing_gives_no_more_budget(swarm_home: Path) -> None:
    lines = [{"key": "a", "is_settled": True, "tokens": -1000, "usd": -5.0}]
    assert Accounts.of(lines).spent.tokens == 0
