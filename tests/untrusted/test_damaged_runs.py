"""A run's folder that others wrote: it is a row with a reason, and the other runs are shown."""

from __future__ import annotations

import json
import os
import shutil
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from prefect_swarm.errors import SwarmError
from prefect_swarm.flows.fork import compared_run, finished_work
from prefect_swarm.report.run_html import folder_html
from prefect_swarm.report.stored_view import view_of
from prefect_swarm.store.folder import RunFolder
from stored_runs import not_hanging, stored_run
from typer.testing import CliRunner, Result

Damage = Callable[[Path], None]
GOOD, BAD = "00000001-0000-4000-8000-000000000001", "00000002-0000-4000-8000-000000000002"
KEPT = "This is not the run's."
pytestmark = pytest.mark.usefixtures("quick")


@pytest.fixture
def quick() -> Iterator[None]:
    with not_hanging():
        yield


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    (folder := tmp_path / "victim").mkdir()
    (folder / "file.txt").write_text(KEPT)
    return folder


def call(*arguments: str) -> Result:
    from prefect_swarm.cli.app import app

    result = CliRunner().invoke(app, arguments)
    assert result.exception is None or isinstance(result.exception, SystemExit), arguments
    assert "Internal error" not in result.output, (arguments, result.output)
    assert KEPT not in result.output
    return result


def look_at_all(run: RunFolder, other: RunFolder) -> None:
    """Do all that is done with stored runs; what is wrong with one is a typed error of its own."""
    listed = call("runs").stdout
    assert run.run_id in listed
    assert other.run_id in listed
    call("waiting", "--json")
    call("inspect", run.run_id)
    call("inspect", run.run_id, "--step", "S1", "--json")
    call("inspect", run.run_id, "--events")
    uses: tuple[Callable[[], object], ...] = (
        lambda: folder_html(run),
        lambda: compared_run(run.run_id),
        lambda: finished_work(run.run_id),
        lambda: lock(run),
    )
    for use in uses:
        with suppress(SwarmError):
            use()
    assert view_of(other).answer == "So it is."


def lock(run: RunFolder) -> None:
    with run.exclusive():
        run.remove_temporary_files()
        run.append("accounts.jsonl", {"a": 1})


def put(path: Path, data: bytes) -> None:
    remove(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def pipe(path: Path) -> None:
    remove(path)
    os.mkfifo(path)


def socket_file(path: Path) -> None:
    remove(path)
    before = Path.cwd()
    os.chdir(path.parent)  # Its name may be too long else.
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(before)


def folder(path: Path) -> None:
    remove(path)
    (path / "inner").mkdir(parents=True)


def huge(path: Path) -> None:
    put(path, b"")
    os.truncate(path, 1 << 40)


FILES = (
    *("run.json", "plan.json", "planned.json", "result.json", "events.jsonl", "accounts.jsonl"),
    *("steps/S1.json", "outputs/S1.txt", "questions/plan.json", "lock", "transcripts/S1.1.json"),
)


@pytest.mark.attack("folders")
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *((name, pipe) for name in FILES),
        *((name, folder) for name in FILES[::2]),
        *((name, huge) for name in FILES[1::2]),
        *((name, socket_file) for name in FILES[::4]),
    ],
)
def test_what_is_no_plain_file_of_a_run_neither_hangs_nor_ends_anything(
    name: str, kind: Damage, swarm_home: Path
) -> None:
    other, run = stored_run(GOOD), stored_run(BAD, ended=name == "result.json")
    kind(run.folder / name)
    look_at_all(run, other)


@pytest.mark.attack("folders")
@pytest.mark.parametrize(
    "name",
    [*FILES, "artifacts/S1/1/plot.txt", "calls/S1.1-abcdef01.jsonl", ".tmp-x", "new/inner/file"],
)
def test_a_link_in_a_run_is_refused_and_what_it_leads_to_is_not_read(
    name: str, swarm_home: Path, victim: Path
) -> None:
    other, run = stored_run(GOOD), stored_run(BAD, ended=name == "result.json")
    put(run.folder / name, b"")
    (run.folder / name).unlink()
    (run.folder / name).symlink_to(victim / "file.txt")
    look_at_all(run, other)
    refused = call("inspect", run.run_id)
    assert refused.exit_code != 0
    assert "is a link" in refused.stderr
    assert [path.name for path in victim.iterdir()] == ["file.txt"]
    assert (victim / "file.txt").read_text() == KEPT


@pytest.mark.attack("folders")
@pytest.mark.parametrize(
    "name", ["steps", "outputs", "questions", "transcripts", "artifacts", "artifacts/S1/1", "calls"]
)
def test_a_linked_folder_in_a_run_is_refused_and_nothing_in_it_is_changed(
    name: str, swarm_home: Path, victim: Path
) -> None:
    other, run = stored_run(GOOD), stored_run(BAD, ended=False)
    remove(run.folder / name)
    (run.folder / name).symlink_to(victim, target_is_directory=True)
    look_at_all(run, other)
    assert "is a link" in call("inspect", run.run_id).stderr
    assert [path.name for path in victim.iterdir()] == ["file.txt"]


ABSURD: dict[str, str] = {
    "not a number": "NaN",
    "without end": "Infinity",
    "too large for a float": "1e999",
    "beyond the calendar": "1e308",
    "before the calendar": "-1e17",
    "a whole number of 400 digits": "1" + "0" * 400,
    "of 5,000 digits": "1" + "0" * 5000,
    "a text": '"soon"',
    "a list": "[]",
    "nothing": "null",
    "a truth": "true",
}
TIMES = {
    "run.json": ("started_at",),
    "accounts.jsonl": ("started_at",),
    "steps/S1.json": ("attempts", 0, "started_at"),
    "result.json": ("metrics", "makespan_s"),
    "questions/plan.json": ("at",),
    "plan.json": ("edits",),
}


def changed(path: Path, way: tuple[Any, ...], value: str) -> None:
    """Put some JSON in a value's place."""
    data: Any = json.loads(path.read_text())
    inner = data
    for part in way[:-1]:
        inner = inner[part]
    inner[way[-1]] = "HERE"
    path.write_text(json.dumps(data).replace('"HERE"', value))


@pytest.mark.attack("folders")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        (name, value)
        for number, name in enumerate(TIMES)
        for value in (ABSURD if number == 0 else [*ABSURD][number % 3 :: 3])
    ],
)
def test_an_absurd_number_costs_that_run_alone(name: str, value: str, swarm_home: Path) -> None:
    other, run = stored_run(GOOD), stored_run(BAD, ended=name == "result.json")
    changed(run.folder / name, TIMES[name], ABSURD[value])
    look_at_all(run, other)


TEXTS: dict[str, bytes] = {
    "empty": b"",
    "cut": b'{"objective": "Com',
    "no object": b"[]",
    "null": b"null",
    "deep lists": b"[" * 200_000,
    "deep objects": b'{"a":' * 200_000,
    "deep and whole": b'{"steps": ' + b"[" * 5000 + b"]" * 5000 + b"}",
    "not UTF-8": b'{"objective": "\xff"}',
    "UTF-16": '{"objective": "x"}'.encode("utf-16"),
    "half of a character": b'{"objective": "\\ud800", "flow_run_id": "\\udfff", "started_at": 1}',
    "a key twice": b'{"objective": "a", "objective": "b", "started_at": 1, "flow_run_id": "x"}',
    "NUL": b'{"objective": "\\u0000", "flow_run_id": "\\u0000", "started_at": 1}',
    "zeros": bytes(1000),
    "wrong types": b'{"steps": 1, "started_at": {}, "objective": [], "id": 5, "options": 3}',
    "steps of nothing": b'{"steps": [null, 1, {}, {"id": {}}, {"id": "../../x"}], "inputs": [1]}',
    "its name leads out": b'{"id": "../../../x", "agent": "a", "status": "succeeded"}',
}


@pytest.mark.attack("folders")
@pytest.mark.parametrize(
    ("name", "text"),
    [
        (name, text)
        for number, name in enumerate(("run.json", "plan.json", "result.json", "steps/S1.json"))
        for text in [*TEXTS][number % 2 :: 2]
    ],
)
def test_a_text_that_is_no_such_document_costs_that_run_alone(
    name: str, text: str, swarm_home: Path
) -> None:
    other, run = stored_run(GOOD), stored_run(BAD, ended=name == "result.json")
    put(run.folder / name, TEXTS[text])
    look_at_all(run, other)


NAMES = [
    *("steps/S².json", "steps/S٣.json", "steps/S.json", "steps/S-1.json", "outputs/S².txt"),
    *(f"steps/S{'9' * 200}.json", "steps/S1²³.json", "outputs/Sx.txt", "steps/S1.5.json"),
    *("steps/S1\n2.json", "questions/\x1b[2J.json", "questions/Å.json", "questions/A\u030a.json"),
    *("artifacts/S1/1.²/x", "artifacts/S1/1.x/y", "transcripts/S1.1.².json", ".hidden/.inner"),
]


@pytest.mark.attack("folders")
@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_a_strange_name_among_a_runs_files_costs_nothing(name: str, swarm_home: Path) -> None:
    other, run = stored_run(GOOD), stored_run(BAD, ended=False)
    put(run.folder / name, b"{}")
    look_at_all(run, other)
    assert call("inspect", run.run_id).exit_code == 0
    lock(run)


@pytest.mark.attack("folders")
@pytest.mark.parametrize("name", [b"\xff\xfe", "²".encode(), b"a\nb", b"\xed\xa0\x80"], ids=ascii)
def test_a_folder_of_a_strange_name_is_a_row_too(name: bytes, swarm_home: Path) -> None:
    other = stored_run(GOOD)
    strange = Path(os.fsdecode(os.fsencode(other.folder.parent) + b"/" + name))
    shutil.copytree(other.folder, strange)
    assert other.run_id in call("runs").stdout
    assert len(json.loads(call("runs", "--json").stdout)["runs"]) == 2
    call("waiting")


@pytest.mark.attack("folders")
@pytest.mark.parametrize("name", ["..", ".", "../runs", "a/b", "\0", "x" * 300, "/etc"], ids=ascii)
def test_a_name_that_leads_out_is_no_runs(name: str, swarm_home: Path) -> None:
    stored_run(GOOD)
    (swarm_home / "run.json").write_text('{"flow_run_id": "..", "objective": "x"}')
    assert call("inspect", name).exit_code != 0


def test_a_run_and_the_home_that_are_links_work_as_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "home").symlink_to(tmp_path / "real", target_is_directory=True)
    monkeypatch.setenv("PREFECT_INTEGRATIONS_SWARM_HOME", str(tmp_path / "home"))
    run, other = stored_run(BAD), stored_run(GOOD)
    shutil.move(run.folder, tmp_path / "elsewhere")
    run.folder.symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    look_at_all(run, other)
    assert call("inspect", run.run_id).exit_code == 0
    lock(run)


def test_a_run_with_the_rights_of_older_versions_is_read(swarm_home: Path) -> None:
    run = stored_run(BAD)
    for path in run.folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    assert call("inspect", run.run_id).exit_code == 0


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


ODD: dict[str, tuple[str, tuple[Any, ...], str]] = {
    "a circle": ("plan.json", ("steps", 0, "upstream"), '["S1"]'),
    "a step that isn't there": ("plan.json", ("steps", 0, "upstream"), '["S2"]'),
    "a step that leads out": ("plan.json", ("steps", 0, "id"), '"../../../../etc/passwd"'),
    "no list of steps": ("plan.json", ("steps",), '{"a": 1}'),
    "inputs of nothing": ("plan.json", ("inputs",), "[[1], 2]"),
    "nested 300 times": ("plan.json", ("objective",), nested(300)),
    "nested 900 times": ("run.json", ("objective",), nested(900)),
    "no options": ("run.json", ("options",), "3"),
    "wrong options": ("run.json", ("options",), '{"max_tokens": "many", "key_env": [1]}'),
    "an objective of nothing": ("run.json", ("objective",), "{}"),
    "another run's id": ("run.json", ("flow_run_id",), '"../../.."'),
    "ages apart": ("steps/S1.json", ("attempts", 0, "started_at"), "-60000000000"),
    "no task run": ("steps/S1.json", ("task_runs",), '["../x"]'),
    "an attempt of its own kind": ("steps/S1.json", ("attempts",), "[1]"),
    "no attempts at all": ("result.json", ("steps", 0, "attempts"), "[]"),
    "steps that no plan has": ("result.json", ("steps", 0, "id"), '"S7"'),
    "tokens of 300 digits": ("result.json", ("cost", "tokens"), "1" + "0" * 300),
    "a status of no kind": ("result.json", ("status",), '"\\u001b[2J"'),
    "a circle in the plan": ("result.json", ("plan", "steps", 0, "depends_on"), '["S1"]'),
    "a planned circle": ("planned.json", ("planned", "plan", "steps", 0, "depends_on"), '["S1"]'),
}


@pytest.mark.attack("folders")
@pytest.mark.parametrize("what", ODD)
def test_an_odd_value_costs_that_run_alone(what: str, swarm_home: Path) -> None:
    name, way, value = ODD[what]
    other, run = stored_run(GOOD), stored_run(BAD, ended=name == "result.json")
    changed(run.folder / name, way, value)
    look_at_all(run, other)
    call("inspect", run.run_id, "--json")
