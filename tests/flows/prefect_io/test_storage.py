"""Files of storage blocks are fetched within bounds, and are read as local files are."""

from __future__ import annotations

import asyncio
import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prefect.blocks.system import Secret
from prefect.filesystems import LocalFileSystem, ReadableDeploymentStorage, RemoteFileSystem
from prefect_swarm.errors import InputError, StorageError
from prefect_swarm.flows.prefect_io.storage import (
    FetchBounds,
    check_writable,
    read_storage,
    write_storage,
)
from prefect_swarm.flows.prefect_io.storage_process import (
    UnfetchedError,
    Wanted,
    fetch,
    writing_only_below,
)
from prefect_swarm.inputs.reading import FilesRead
from prefect_swarm.inputs.storage_paths import StoragePath
from pydantic import SecretStr

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

REPORTS = "local-file-system/reports"


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    """The folder of the storage `local-file-system/reports`."""
    folder = tmp_path / "storage"
    (folder / "tonight" / "east").mkdir(parents=True)
    (folder / "tonight" / "sales.csv").write_text("region,sum\nnorth,3\n")
    (folder / "tonight" / "east" / "notes.md").write_text("# Rain in May\n")
    (folder / "tonight" / "log.txt").write_text("started\n")
    (folder / "old").mkdir()
    (folder / "old" / "notes.md").write_text("# Snow\n")
    block: Any = LocalFileSystem(basepath=str(folder))
    block.save("reports", overwrite=True)
    return folder


def read(*paths: str, **given: Any) -> FilesRead:
    return asyncio.run(read_storage(paths, **given))


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where temporary folders are made; none is left there."""
    (folder := tmp_path / "scratch").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert [*folder.iterdir()] == []


@pytest.mark.usefixtures("reports", "scratch")
def test_a_file_a_folder_and_a_pattern_are_read_as_local_ones_are() -> None:
    assert read(f"{REPORTS}:tonight/sales.csv").texts == {"sales.csv": "region,sum\nnorth,3\n"}
    assert [*read(f"{REPORTS}:tonight/").texts] == ["east/notes.md", "log.txt", "sales.csv"]
    assert [*read(f"{REPORTS}:tonight/**/*.md").texts] == ["east/notes.md"]
    some = read(f"{REPORTS}:", exclude=["log.txt", "old", "*.xml"])
    assert [*some.texts] == ["tonight/east/notes.md", "tonight/sales.csv"]
    assert some.unused == ("*.xml",)


@pytest.mark.usefixtures("reports")
def test_equal_names_are_told_apart_by_their_folders() -> None:
    both = read(f"{REPORTS}:old/notes.md", f"{REPORTS}:tonight/east/notes.md")
    assert both.texts == {"old/notes.md": "# Snow\n", "east/notes.md": "# Rain in May\n"}


def test_a_remote_file_system_is_read_too(reports: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(reports.parent)
    block: Any = RemoteFileSystem(basepath=f"local://{reports.name}")
    block.save("remote", overwrite=True)
    found = read("remote-file-system/remote:tonight/", "remote-file-system/remote:old/notes.md")
    assert [*found.texts] == ["east/notes.md", "log.txt", "sales.csv", "notes.md"]


def test_what_cannot_be_given_is_left_out_by_its_name_in_the_storage(
    reports: Path, scratch: Path
) -> None:
    (reports / "tonight" / "empty.txt").touch()
    (reports / "tonight" / "passwords").symlink_to("/etc/passwd")
    (reports / "tonight" / "elsewhere").symlink_to(reports / "old")
    found = read(f"{REPORTS}:tonight/")
    assert [*found.texts] == ["east/notes.md", "log.txt", "sales.csv"]
    assert f"{REPORTS}:tonight/empty.txt is empty" in found.left_out
    assert f"{REPORTS}:tonight/passwords is a link that leads out of the folder" in found.left_out
    assert str(scratch) not in found.left_out


@pytest.mark.usefixtures("reports", "scratch")
@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("local-file-system/none:x", r"there is no block local-file-system/none\. Make it in"),
        ("secret/word:x", r"the block secret/word is no storage; it is of the type Secret\. Name"),
        (f"{REPORTS}:tonight", rf"can't be read: .*A folder ends with a slash: {REPORTS}:tonight/"),
        (f"{REPORTS}:empty/", rf"{REPORTS}:empty/ is an empty folder"),
        (f"{REPORTS}:large.txt", rf"{REPORTS}:large\.txt has 33\.0 MiB, and a file may have 32"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(reports: Path, path: str, problem: str) -> None:
    word: Any = Secret(value=SecretStr("x"))
    word.save("word", overwrite=True)
    (reports / "empty").mkdir()
    with (reports / "large.txt").open("wb") as large:
        large.truncate(33 << 20)
    with pytest.raises(InputError, match=problem):
        read(path)


@pytest.mark.parametrize(
    ("path", "is_folder", "problem"),
    [
        ("none.txt", False, "does not exist"),
        ("none", True, "No such file"),
        ("out/hosts", False, "outside of the base path"),
        ("out", True, "outside of the base path"),
    ],
)
def test_a_path_that_is_not_in_the_storage_is_not_fetched(
    reports: Path, tmp_path: Path, path: str, is_folder: bool, problem: str
) -> None:
    (reports / "out").symlink_to("/etc")
    (root := tmp_path / "root").mkdir()
    wanted = Wanted(REPORTS, path, is_folder, str(root / "f"))
    with pytest.raises(UnfetchedError, match=problem) as caught:
        asyncio.run(fetch(LocalFileSystem(basepath=str(reports)), wanted, root))
    assert caught.value.kind == "path"


def test_no_more_is_fetched_than_bounds_say(reports: Path, scratch: Path) -> None:
    with pytest.raises(InputError, match=r"has more than 2 files or 512\.0 MiB"):
        read(f"{REPORTS}:tonight/", bounds=FetchBounds(files=2))
    with (reports / "tonight" / "large.txt").open("wb") as large:
        large.truncate(5 << 20)
    with pytest.raises(InputError, match=r"too large: .*1\.0 MiB are fetched at most"):
        read(f"{REPORTS}:tonight/large.txt", bounds=FetchBounds(bytes=1 << 20))
    with (reports / "huge.txt").open("wb") as huge:
        huge.truncate(64 << 30)
    with pytest.raises(InputError, match=r"huge\.txt is too large"):
        read(f"{REPORTS}:huge.txt")
    assert [*scratch.iterdir()] == []


@pytest.fixture
def silent() -> Iterator[None]:
    """Save the storage `remote-file-system/silent`, which never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        settings = {"host": "127.0.0.1", "port": server.getsockname()[1], "timeout": 3600}
        block: Any = RemoteFileSystem(basepath="ftp://127.0.0.1/", settings=settings)
        block.save("silent", overwrite=True)
        yield


@pytest.mark.usefixtures("scratch", "silent")
def test_a_storage_that_hangs_is_given_up() -> None:
    with pytest.raises(InputError, match=r"silent:a\.txt was not read within 6 s"):
        read("remote-file-system/silent:a.txt", bounds=FetchBounds(seconds=6))


class Leading(ReadableDeploymentStorage):
    """A storage whose files have names that lead elsewhere."""

    name: str

    async def get_directory(
        self, from_path: str | None = None, local_path: str | None = None
    ) -> None:
        await asyncio.to_thread(Path(f"{local_path}/{self.name}").write_text, "x")


def test_no_name_of_a_storage_is_written_outside_of_the_folder(tmp_path: Path) -> None:
    (root := tmp_path / "root").mkdir()
    wanted = Wanted("leading/x", "", True, str(root / "f"))
    asyncio.run(fetch(Leading(name="plain"), wanted, root))
    assert (root / "f" / "plain").read_text() == "x"
    for name in ("../../secret", "link/secret"):
        (root / "f" / "link").unlink(missing_ok=True)
        (root / "f" / "link").symlink_to(tmp_path)
        with pytest.raises(UnfetchedError, match="leads out of the folder") as caught:
            asyncio.run(fetch(Leading(name=name), wanted, root))
        assert caught.value.kind == "outside"
    assert not (tmp_path / "secret").exists()


def test_nothing_else_changes_outside_of_the_folder_either(tmp_path: Path) -> None:
    (root := tmp_path / "root").mkdir()
    (kept := tmp_path / "kept").touch()
    (root / "own").touch()
    with writing_only_below(root):
        for change in (
            lambda: os.mkdir(root / ".." / "new"),
            lambda: os.rename(root / "own", tmp_path / "new"),
            lambda: os.symlink("x", tmp_path / "new"),
            lambda: os.link(root / "own", tmp_path / "new"),
            lambda: os.remove(kept),
            lambda: os.truncate(kept, 0),
        ):
            with pytest.raises(PermissionError):
                change()
        assert kept.read_text() == ""
        (root / "own").write_text("x")
    kept.write_text("free again")


def test_files_are_written_into_a_folder_of_a_storage(reports: Path, scratch: Path) -> None:
    place = StoragePath(REPORTS, "out")
    asyncio.run(check_writable(place))
    assert not (reports / "out").exists()
    asyncio.run(write_storage(place, {"a.md": b"a", "in/b.bin": b"\x00\xff"}))
    assert (reports / "out" / "a.md").read_bytes() == b"a"
    assert (reports / "out" / "in" / "b.bin").read_bytes() == b"\x00\xff"
    asyncio.run(write_storage(StoragePath(REPORTS, ""), {"a.md": b"b"}))
    assert (reports / "a.md").read_bytes() == b"b"


def test_what_is_no_storage_is_not_written_to() -> None:
    word: Any = Secret(value=SecretStr("x"))
    word.save("word", overwrite=True)
    with pytest.raises(InputError, match="the block secret/word is no storage"):
        asyncio.run(check_writable(StoragePath("secret/word", "x")))


@pytest.mark.usefixtures("scratch", "silent")
def test_a_storage_that_hangs_while_it_is_written_to_is_given_up() -> None:
    place = StoragePath("remote-file-system/silent", "x")
    with pytest.raises(StorageError, match="x was not written within 6 s"):
        asyncio.run(write_storage(place, {"a": b"a"}, FetchBounds(seconds=6)))


@pytest.mark.usefixtures("reports", "scratch")
def test_a_process_that_ended_early_is_said_to_have_read_or_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # No Python starts without its library.
    monkeypatch.setenv("PYTHONHOME", str(tmp_path / "none"))
    with pytest.raises(InputError, match="can't be read: the process that reads it ended early"):
        read(f"{REPORTS}:tonight/log.txt")
    written = rf"The output {REPORTS}:out can't be written: the process that writes it ended early"
    with pytest.raises(StorageError, match=written):
        asyncio.run(write_storage(StoragePath(REPORTS, "out"), {"a.md": b"a"}))
