"""An SQLite log with files that are damaged, locked, or something else."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from prefect_swarm.errors import MemoryStoreError
from prefect_swarm.memory.episode import Selection
from prefect_swarm.memory.log.sqlite import SqliteLog
from samples import episode, full_episode

CHECKPOINTED, IN_WAL = 5, 15
PAGE = 8192
FRAME = 24 + PAGE
WAL_LENGTHS: dict[str, Callable[[int], int]] = {
    "nothing": lambda _: 0,
    "half a header": lambda _: 16,
    "a header": lambda _: 32,
    "half a frame's header": lambda _: 32 + 12,
    "half a frame": lambda _: 32 + 2000,
    "a frame": lambda _: 32 + FRAME,
    "a frame and half a header": lambda _: 32 + FRAME + 12,
    "half of all": lambda size: size // 2,
    "all frames but one": lambda size: size - FRAME,
    "all but a byte": lambda size: size - 1,
}


@pytest.fixture
def crashed_log(quick_folder: Path) -> Path:
    """What a machine that lost its power leaves: a file, and a WAL with what came last."""
    folder = quick_folder / "written"
    log = SqliteLog(folder / "log")
    log.append(full_episode(number) for number in range(CHECKPOINTED))
    log.close()
    log = SqliteLog(folder / "log")
    for number in range(CHECKPOINTED, CHECKPOINTED + IN_WAL):
        log.append([full_episode(number)])
    copy = quick_folder / "left"
    copy.mkdir()
    for name in ("log", "log-wal"):
        shutil.copy(folder / name, copy / name)
    log.close()
    return copy / "log"


@pytest.fixture
def path(quick_folder: Path) -> Path:
    """Where a log may be made."""
    return quick_folder / "log"


def truncate(file: Path, length: int) -> None:
    file.write_bytes(file.read_bytes()[:length])


def recover(path: Path) -> int:
    """How many episodes are there, which has to be the first ones; then one more is written."""
    log = SqliteLog(path)
    found = [entry.episode for entry in log.since(0)]
    assert found == [full_episode(number) for number in range(len(found))]
    assert log.append([episode(1000)]) == 1
    assert [entry.episode for entry in log.since(log.last_position() - 1)] == [episode(1000)]
    log.close()
    return len(found)


def test_a_whole_wal_is_read_to_its_end(crashed_log: Path) -> None:
    assert recover(crashed_log) == CHECKPOINTED + IN_WAL


@pytest.mark.parametrize("length", WAL_LENGTHS.values(), ids=WAL_LENGTHS)
def test_a_wal_cut_anywhere_gives_the_first_episodes(
    crashed_log: Path, length: Callable[[int], int]
) -> None:
    wal = crashed_log.with_name("log-wal")
    truncate(wal, length(wal.stat().st_size))
    assert CHECKPOINTED <= recover(crashed_log) < CHECKPOINTED + IN_WAL


@pytest.mark.parametrize("at", [0.0, 0.3, 0.6, 0.99])
def test_a_wal_with_a_wrong_byte_gives_the_episodes_before_it(crashed_log: Path, at: float) -> None:
    wal = crashed_log.with_name("log-wal")
    content = bytearray(wal.read_bytes())
    content[int(at * len(content))] ^= 0xFF
    wal.write_bytes(content)
    assert CHECKPOINTED <= recover(crashed_log) < CHECKPOINTED + IN_WAL


def test_a_lost_wal_loses_what_only_it_had(crashed_log: Path) -> None:
    crashed_log.with_name("log-wal").unlink()
    assert recover(crashed_log) == CHECKPOINTED


@pytest.mark.parametrize("length", [1, 50, 100, PAGE - 1, PAGE, 3 * PAGE, 4 * PAGE + 77, -1])
def test_a_file_that_was_cut_is_named(crashed_log: Path, length: int) -> None:
    crashed_log.with_name("log-wal").unlink()
    truncate(crashed_log, length)
    with pytest.raises(MemoryStoreError, match=f"{crashed_log} is damaged") as caught:
        SqliteLog(crashed_log).since(0)
    assert ".recover" in caught.value.fix


@pytest.mark.parametrize("content", [b"\xff\x00" * 8192, b"not a database\n", b"S" * 100])
def test_a_file_of_something_else_is_named(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(MemoryStoreError, match=f"{path} is damaged"):
        SqliteLog(path)
    assert path.read_bytes() == content


def test_pages_of_garbage_are_found_when_they_are_read(crashed_log: Path) -> None:
    crashed_log.with_name("log-wal").unlink()
    content = crashed_log.read_bytes()
    crashed_log.write_bytes(content[:PAGE] + b"\xa5" * (len(content) - PAGE))
    with pytest.raises(MemoryStoreError, match="is damaged"):
        SqliteLog(crashed_log).since(0)


def test_a_database_of_something_else_is_left_alone(path: Path) -> None:
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE users (name TEXT)")
    other.close()
    content = path.read_bytes()
    with pytest.raises(MemoryStoreError, match="something else"):
        SqliteLog(path)
    assert sqlite3.connect(path).execute("SELECT name FROM sqlite_schema").fetchall() == [
        ("users",)
    ]
    assert len(path.read_bytes()) == len(content)


def test_an_empty_file_is_a_new_log(path: Path) -> None:
    path.touch()
    assert SqliteLog(path).count() == 0


def test_a_folder_is_no_log(path: Path) -> None:
    path.mkdir()
    with pytest.raises(MemoryStoreError, match="can't be opened"):
        SqliteLog(path)


def test_a_folder_that_cannot_be_made_is_named(path: Path) -> None:
    path.touch()
    with pytest.raises(MemoryStoreError, match="can't be made"):
        SqliteLog(path / "memory" / "log")


def test_a_row_that_someone_broke_is_named_and_its_run_can_be_forgotten(path: Path) -> None:
    log = SqliteLog(path)
    log.append([episode(1), episode(2)])
    with sqlite3.connect(path) as db:
        db.execute("UPDATE episodes SET gates = '[' WHERE position = 2")
    with pytest.raises(MemoryStoreError, match=r"Position 2 .* run: run-2"):
        log.since(0)
    log.forget("default", Selection(run="run-2"))
    assert [entry.episode for entry in log.since(0)] == [episode(1)]


@pytest.fixture
def other_program(path: Path) -> Iterator[sqlite3.Connection]:
    """Another program's connection to a log that is there."""
    SqliteLog(path).close()
    connection = sqlite3.connect(path, isolation_level=None)
    yield connection
    connection.close()


def test_a_lock_that_stays_is_an_error(path: Path, other_program: sqlite3.Connection) -> None:
    log = SqliteLog(path, patience_s=0.05)
    other_program.execute("BEGIN IMMEDIATE")
    with pytest.raises(MemoryStoreError, match="locked by another process"):
        log.append([episode()])
    other_program.execute("ROLLBACK")
    assert log.append([episode()]) == 1


def test_a_writer_waits_its_turn(path: Path, other_program: sqlite3.Connection) -> None:
    log = SqliteLog(path)
    other_program.execute("BEGIN IMMEDIATE")
    thread = threading.Thread(target=log.append, args=([episode()],))
    thread.start()
    assert log.count() == 0
    other_program.execute("COMMIT")
    thread.join()
    assert log.count() == 1


def test_an_append_waits_for_the_disk_in_every_thread(path: Path) -> None:
    log = SqliteLog(path)
    levels: list[int] = []

    def ask() -> None:
        levels.append(log._file.read(lambda db: db.execute("PRAGMA synchronous").fetchone()[0]))

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    ask()
    full = 2
    assert levels == [full, full]


def test_a_closed_log_says_so(path: Path) -> None:
    log = SqliteLog(path)
    log.close()
    with pytest.raises(MemoryStoreError, match="has been closed"):
        log.count()
