"""Only plain files below the folder are read, whatever lies beside them or in their place."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path

import pytest
from prefect_swarm.errors import InputError
from prefect_swarm.inputs.contents import MAX_FILE_BYTES
from prefect_swarm.toolsets.document_reading import file_bytes, file_state, files_below

SECRET = b"what lies outside"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_bytes(SECRET)
    folder = tmp_path / "docs"
    (folder / "in").mkdir(parents=True)
    (folder / "in" / "b.md").write_text("b")
    (folder / "a.md").write_text("a")
    return folder


def names(root: Path) -> list[str]:
    return ["/".join(state.parts) for state in files_below(root)]


def test_links_pipes_and_sockets_are_no_documents(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "link.txt").symlink_to(root.parent / "outside" / "secret.txt")
    (root / "own.md").symlink_to(root / "a.md")
    (root / "folder").symlink_to(root.parent / "outside")
    (root / "round").symlink_to(root)
    os.mkfifo(root / "pipe.txt")
    monkeypatch.chdir(root)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket.txt")
        assert names(root) == ["a.md", "in/b.md"]
        for name in ("link.txt", "own.md", "folder/secret.txt", "round/a.md", "pipe.txt"):
            with pytest.raises((OSError, InputError)):
                file_bytes(root, name.split("/"))
        with pytest.raises((OSError, InputError)):
            file_bytes(root, ["socket.txt"])


def test_hidden_files_and_what_cannot_be_written_in_a_line_are_left_out(root: Path) -> None:
    (root / ".env").write_text("KEY=1")
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text("x")
    (root / "two\nlines.md").write_text("x")
    Path(os.fsdecode(os.fsencode(root) + b"/\xff.md")).write_text("x")
    assert names(root) == ["a.md", "in/b.md"]


def test_a_device_is_not_opened() -> None:
    with pytest.raises(InputError, match="not a plain file"):
        file_bytes(Path("/dev"), ["null"])


def test_a_folder_is_no_document(root: Path) -> None:
    with pytest.raises(InputError, match="not a plain file"):
        file_bytes(root, ["in"])


def test_a_file_that_is_too_large_is_not_read(root: Path) -> None:
    with (root / "large.txt").open("wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)
    with pytest.raises(InputError, match=r"more than 32\.0 MiB"):
        file_bytes(root, ["large.txt"])


def test_folders_in_folders_end_somewhere(root: Path) -> None:
    deep = root
    for _ in range(40):
        deep /= "d"
    deep.mkdir(parents=True)
    (deep / "x.md").write_text("x")
    assert names(root) == ["a.md", "in/b.md"]


def test_a_file_that_changes_has_another_state(root: Path) -> None:
    before = file_state(root, ["a.md"])
    assert before == next(iter(files_below(root)))
    (root / "new").write_text("c")
    (root / "new").replace(root / "a.md")
    assert file_state(root, ["a.md"]) != before


def test_what_is_swapped_for_a_link_at_any_moment_leads_nowhere(root: Path) -> None:
    """Another thread puts a link in the place of the folder again and again."""
    outside, place, kept = root.parent / "outside", root / "in", root.parent / "kept"
    (place / "secret.txt").write_text("inside")
    ended = threading.Event()

    def swap() -> None:
        while not ended.is_set():
            place.rename(kept)
            place.symlink_to(outside)
            place.unlink()
            kept.rename(place)

    swapping = threading.Thread(target=swap)
    swapping.start()
    read: set[bytes] = set()
    listed: set[str] = set()
    try:
        for _ in range(3000):
            try:
                read.add(file_bytes(root, ["in", "secret.txt"]))
            except OSError:
                read.add(b"")
            listed.update(names(root))
    finally:
        ended.set()
        swapping.join()
    assert SECRET not in read
    assert file_bytes(root, ["in", "secret.txt"]) == b"inside"
    assert listed <= {"a.md", "in/b.md", "in/secret.txt"}
