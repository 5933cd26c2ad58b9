"""A run's folder keeps what it is given, and says what of it can't be read."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
from pathlib import Path

import pytest
from prefect_swarm.errors import RunDamagedError, RunNotFoundError, StorageError
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.protocol import About
from prefect_swarm.untrusted.folder import UntrustedFolder

FLOW_RUN = "0123abcd-4567-89ab-cdef-0123456789ab"
NAME = "0123abcd4567"


@pytest.fixture
def run(swarm_home: Path) -> RunFolder:
    return RunFolder(swarm_home / "runs" / NAME)


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Has no room for files as long as it isn't empty."""
    left = [1]
    write = UntrustedFolder.replace

    def write_if_room(self: UntrustedFolder, name: str, data: bytes) -> None:
        if left:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(self, name, data)

    monkeypatch.setattr(UntrustedFolder, "replace", write_if_room)
    return left


@pytest.mark.parametrize("name", ["run.json", "planned.json", "steps/S1.json", "outputs/S1.txt"])
def test_a_file_is_on_the_disk_before_it_has_its_name(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    happened: list[str] = []
    fsync, replace = os.fsync, os.replace

    def note_fsync(descriptor: int) -> None:
        happened.append("fsync")
        fsync(descriptor)

    def note_replace(source: str, target: str, **folders: int) -> None:
        happened.append("replace")
        replace(source, target, **folders)

    monkeypatch.setattr(os, "fsync", note_fsync)
    monkeypatch.setattr(os, "replace", note_replace)
    run.write(name, "text")
    assert happened == ["fsync", "replace"]


def test_what_threads_store_is_on_the_disk_when_it_returns(run: RunFolder) -> None:
    async def store() -> tuple[list[str], list[str | None]]:
        names = [f"outputs/S{number}.txt" for number in range(20)]
        refs = await asyncio.gather(*(asyncio.to_thread(run.store, name, name) for name in names))
        return refs, [run.read(name) for name in names]

    refs, texts = asyncio.run(store())
    assert refs == [f"{NAME}/{text}" for text in texts]


def test_what_threads_store_on_a_full_disk_is_kept(run: RunFolder, full: list[int]) -> None:
    async def store() -> None:
        await asyncio.gather(
            *(asyncio.to_thread(run.write_output, f"S{n}", f"{n}") for n in range(9))
        )

    asyncio.run(store())
    assert len(run.unstored()) == 9
    full.clear()
    assert run.store_pending() == ()
    assert [run.read(f"outputs/S{n}.txt") for n in range(9)] == [f"{n}" for n in range(9)]


def test_what_there_is_no_room_for_is_written_when_there_is(
    run: RunFolder, full: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert run.store("outputs/S1.txt", "first") == f"{NAME}/outputs/S1.txt"
        run.store("outputs/S2.txt", "second")
        run.store("outputs/S1.txt", "first again")
    assert run.unstored() == ("outputs/S1.txt", "outputs/S2.txt")
    assert len(caplog.records) == 1, "it is said once"
    full.clear()
    run.store("outputs/S3.txt", "third")
    assert run.unstored() == ()
    assert run.read("outputs/S1.txt") == "first again"
    assert run.read("outputs/S2.txt") == "second"


def test_a_file_that_has_to_be_there_is_an_error(run: RunFolder, full: list[int]) -> None:
    with pytest.raises(StorageError, match=r"no room for .*run.json: 0\.1 KiB are needed"):
        run.write("run.json", {"flow_run_id": FLOW_RUN})
    assert full


def test_a_line_that_was_cut_off_costs_no_other(run: RunFolder) -> None:
    run.append("accounts.jsonl", {"n": 1})
    with (run.folder / "accounts.jsonl").open("a") as file:
        file.write('\n{"n": ')
    run.append("accounts.jsonl", {"n": 2})
    assert list(run.lines("accounts.jsonl")) == [{"n": 1}, {"n": 2}]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"objective": "x"}'])
def test_a_run_that_nothing_names_says_how_it_is_found(run: RunFolder, content: str) -> None:
    run.write("run.json", content)
    with pytest.raises(RunDamagedError, match="doesn't say which flow run") as error:
        RunFolder.find(NAME)
    assert "begins with 0123abcd;" in error.value.fix
    assert RunFolder.find(FLOW_RUN) == run


def test_its_accounts_name_a_run_too(run: RunFolder) -> None:
    run.write("run.json", "{")
    run.append("accounts.jsonl", {"flow_run_id": FLOW_RUN, "objective": "x"})
    assert RunFolder.find(NAME).about() == About(FLOW_RUN, "x")


def test_a_name_that_is_another_flow_runs_is_not_found(run: RunFolder) -> None:
    run.write("run.json", {"flow_run_id": FLOW_RUN})
    with pytest.raises(RunNotFoundError, match=f"is flow run {FLOW_RUN}, not"):
        RunFolder.find(FLOW_RUN[:-1] + "c")


def test_a_file_that_is_no_text_is_damaged(run: RunFolder) -> None:
    run.write("outputs/S1.txt", "x")
    (run.folder / "outputs/S1.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(RunDamagedError, match=f"prefect-swarm resume {NAME}"):
        run.read("outputs/S1.txt")


def test_what_a_killed_writer_left_is_removed(run: RunFolder) -> None:
    run.write("steps/S1.json", "{}")
    (run.folder / "steps" / ".S1.json-x1y2").write_text("{")
    run.remove_temporary_files()
    assert [path.name for path in run.folder.rglob("*") if path.is_file()] == ["S1.json"]
